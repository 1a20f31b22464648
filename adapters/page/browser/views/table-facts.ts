// Parts of the head of a table: what it is, in one line, and the box that finds rows by a text.
import type { TableInfo } from '../base/api.js'
import { type Child, el, setAttributes } from '../base/dom.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import { TEXT } from '../base/texts.js'

/** As the contract says. */
const SEARCH_CHARACTERS_MAX = 256

export function factsOf(
  { rowCount, schema, bytes, version, updatedAt }: TableInfo,
  now: number,
): readonly Child[] {
  const facts = [
    TEXT.rows(rowCount, shownCount(rowCount)),
    TEXT.columns(schema.columns.length),
    shownBytes(bytes),
    TEXT.version(shownCount(version)),
  ].join(' · ')
  const changed = ` · ${TEXT.changed} ${shownAge(updatedAt, now)}`
  return [facts, el('span', { title: shownTime(updatedAt) }, changed)]
}

export function asSearchBox(
  box: HTMLInputElement,
  value: string,
  oninput: () => void,
): HTMLInputElement {
  setAttributes(box, {
    type: 'search',
    class: 'search',
    maxlength: SEARCH_CHARACTERS_MAX,
    value,
    placeholder: TEXT.search,
    'aria-label': TEXT.searchHelp,
    title: TEXT.searchHelp,
    oninput,
  })
  return box
}
