// The changes of a table, the latest first, and its first rows after one of them.
import { messageOf } from '../../../../src/base/shown-text.js'
import { answerPieces } from '../../../../src/client/answers.js'
import { ClientError } from '../../../../src/client/client-error.js'
import { tablePath } from '../../../../src/client/table-operation.js'
import type { Api, Row, TableChange, TableInfo } from '../base/api.js'
import { button, el, start } from '../base/dom.js'
import { PAST } from '../base/edit-texts.js'
import { parseJson } from '../base/json-text.js'
import { shownCount, shownTime } from '../base/show.js'
import { shortText } from './cells.js'
import { nameOf } from './row-history.js'

/** How many changes are requested: the first number, or a later one if the older changes are no longer kept. */
const STEPS = [200, 20, 5, 1]
/** The maximum number of past rows that are shown. */
const ROWS_SHOWN = 100

export function tableTimeline(api: Api, info: TableInfo): HTMLElement {
  const list = el('ol', { class: 'timeline' })
  const element = el('div', {}, list)
  const asked = readChanges(api, info).then((changes) => {
    list.append(...changes.toReversed().map((change) => renderChange(api, info, change)))
    if (changes.length === 0) element.append(el('p', { class: 'muted' }, PAST.none))
  })
  start(asked, (failure) => element.append(el('p', { class: 'problem' }, messageOf(failure))))
  return element
}

async function readChanges(api: Api, { id, version }: TableInfo): Promise<readonly TableChange[]> {
  for (const step of STEPS) {
    try {
      return await api.pastChanges(id, Math.max(0, version - step))
    } catch (failure) {
      if (!(failure instanceof ClientError) || failure.type !== 'history_gone') throw failure
    }
  }
  return []
}

function renderChange(api: Api, info: TableInfo, change: TableChange): HTMLElement {
  const { version, operation, at, author, note, counts } = change
  const { added, changed, removed } = counts
  const by = [shownTime(at), nameOf(author), note].filter(Boolean).join(' · ')
  const show = button(PAST.asOf, () => showPast(api, info, change), { class: 'plain' })
  return el(
    'li',
    {},
    el('strong', {}, PAST.operation(operation, shownCount(version))),
    el('p', { class: 'muted' }, by),
    el('p', {}, PAST.counts(added, changed, removed)),
    show,
  )
}

function showPast(api: Api, { id, schema }: TableInfo, { version, at }: TableChange): void {
  const place = el('div', { class: 'filePreview' })
  const title = PAST.rowsAt(shownCount(version), shownTime(at))
  const dialog = el('dialog', { 'aria-label': title, class: 'wideDialog' })
  dialog.addEventListener('close', () => dialog.remove())
  const close = button(PAST.close, () => dialog.close())
  dialog.append(el('h2', {}, title), place, el('div', { class: 'actions' }, close))
  document.body.append(dialog)
  dialog.showModal()
  const shown = readPast(api, id, version).then((rows) => {
    const head = schema.columns.map((column) => el('th', {}, column.displayName ?? column.id))
    const lines = rows.map((row) =>
      el('tr', {}, ...schema.columns.map((column) => el('td', {}, shortText(row[column.id])))),
    )
    const table = el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...lines))
    place.append(
      el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': title }, table),
    )
    if (rows.length === ROWS_SHOWN)
      place.append(el('p', { class: 'muted' }, PAST.first(ROWS_SHOWN)))
  })
  start(shown, (failure) => place.append(el('p', { class: 'problem' }, messageOf(failure))))
}

/** The first rows of a version. Reads its export only as far as needed. */
async function readPast(api: Api, tableId: string, version: number): Promise<readonly Row[]> {
  const path = `${tablePath(tableId)}/export?format=ndjson&at=${version}`
  return api.requests.send({ method: 'GET', path, isRepeatable: true }, async (answer) => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const piece of answerPieces(answer)) {
      text += decoder.decode(piece, { stream: true })
      if (text.split('\n').length > ROWS_SHOWN) break
    }
    const lines = text.split('\n').filter((line) => line.endsWith('}'))
    return lines.slice(0, ROWS_SHOWN).map((line) => parseJson(line) as Row)
  })
}
