// The values that changes of a row replaced, the latest first, as far back as the table keeps its history.
import { messageOf } from '../../../../src/base/shown-text.js'
import { ClientError } from '../../../../src/client/client-error.js'
import type { Api, Row, TableInfo, VersionedRow } from '../base/api.js'
import { button, el, setDisabled, setText, start } from '../base/dom.js'
import { shownCount, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { shortText } from './cells.js'

/** @param now - The shown row, with its version. */
export function rowHistory(api: Api, info: TableInfo, now: VersionedRow): HTMLElement {
  const list = el('ol', { class: 'history' })
  const more = button(TEXT.showHistory, () => ask(), { class: 'plain' })
  const say = (text: string): void => {
    const last = el('li', { class: 'muted', tabindex: -1 }, text)
    list.append(last)
    if (document.activeElement === more) last.focus() // Otherwise the focus would leave the pane.
    more.remove()
  }
  let newer = now
  const ask = (): void => {
    setDisabled(true, more)
    const { version } = newer
    const about = readChange(api, info.id, version)
    const before = readBefore(api, info, newer).then(async (older) => {
      const made = await about
      if (typeof older === 'string') return say(made === '' ? older : `${older} ${made}`)
      list.append(renderHistoryStep(info, older.row, newer, made))
      newer = older
      setText(more, TEXT.earlier)
      setDisabled(false, more)
    })
    start(before, (failure) => say(messageOf(failure)))
  }
  return el('div', { class: 'rowHistory' }, list, more)
}

/** The row before its last change; a text: why it cannot be shown. */
async function readBefore(
  api: Api,
  { id }: TableInfo,
  { row, version }: VersionedRow,
): Promise<VersionedRow | string> {
  if (version <= 1) return TEXT.added(shownCount(version))
  try {
    return await api.row(id, row.$rowID, version - 1)
  } catch (failure) {
    const type = failure instanceof ClientError ? failure.type : ''
    if (type === 'row_not_found') return TEXT.added(shownCount(version))
    if (type === 'history_gone') return TEXT.noHistory(shownCount(version))
    throw failure
  }
}

/** The author to show. Empty: unknown, or the digest of a key, which tells a person nothing. */
export function nameOf(author: string | undefined): string {
  return author === undefined || /^[0-9a-f]{32}$/.test(author) ? '' : author
}

/** Who made a version, and when; empty: not kept. */
async function readChange(api: Api, tableId: string, version: number): Promise<string> {
  try {
    const { at, author } = await api.change(tableId, version)
    return [shownTime(at), nameOf(author)].filter(Boolean).join(' · ')
  } catch {
    return ''
  }
}

function renderHistoryStep(
  { schema }: TableInfo,
  before: Row,
  { row, version }: VersionedRow,
  made: string,
): HTMLElement {
  const changed = schema.columns.flatMap(({ id, displayName = id }) => {
    const [old, now] = [shortText(before[id]), shortText(row[id])]
    if (old === now) return []
    const value = (text: string) => (text === '' ? TEXT.emptyCell : text)
    return [el('dt', {}, displayName), el('dd', {}, el('del', {}, value(old)), ' → ', value(now))]
  })
  const title = el('strong', {}, TEXT.changedIn(shownCount(version)))
  const about = el('p', { class: 'muted' }, made)
  return el('li', {}, title, about, el('dl', {}, ...changed))
}
