// The parts of the import view.

import type { IntakeReport } from '../../../../src/client/import-types.js'
import { el, setText } from '../base/dom.js'
import { wordsOfRule } from '../base/failure-words.js'
import { shownBytes, shownCount, shownSeconds } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { shortText, shownType } from '../grid/cells.js'
import type { Sample } from './import-file.js'
import { RateClock } from './import-rate.js'
import type { Check, Imported, StageProgress } from './import-run.js'
import { countMisfits, groupProblems } from './problem-groups.js'

const PREVIEW_ROWS = 8

type Cells = readonly (string | HTMLElement)[]

function renderTable(caption: string, head: Cells, rows: readonly Cells[]): HTMLElement {
  const isCell = (cell: string | HTMLElement) => cell instanceof HTMLTableCellElement
  const heads = head.map((name) => el('th', { scope: 'col' }, name))
  const lines = rows.map((cells) => {
    return el('tr', {}, ...cells.map((cell) => (isCell(cell) ? cell : el('td', {}, cell))))
  })
  const table = el(
    'table',
    {},
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, ...heads)),
    el('tbody', {}, ...lines),
  )
  return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption }, table)
}

/** The omitted columns of an import, and how a person changes them. */
export type ColumnChoice = Readonly<{
  omitted: readonly string[]
  choose: (column: string, isTaken: boolean) => void
}>

function columnBox(id: string, checked: boolean, { choose }: ColumnChoice): HTMLElement {
  const label = TEXT.takeColumn(id)
  const onchange = (): void => choose(id, box.checked)
  const named = { 'aria-label': label, title: label, id: `take-${id}` }
  const box = el('input', { type: 'checkbox', checked, onchange, ...named })
  return box
}

/** The first rows of a file, the types that its columns would get, and the values that do not fit. */
export function previewView(
  sample: Sample,
  check: Check | undefined,
  choice: ColumnChoice,
): readonly HTMLElement[] {
  const types = new Map(check?.schema.columns.map(({ id, type }) => [id, shownType(type)]))
  const head = sample.columns.map((id) => {
    const type = types.get(id)
    const isLacking = type === undefined && check !== undefined
    const kind = type === undefined ? null : el('span', { class: 'kind' }, ` (${type})`)
    const name = el('span', { class: isLacking ? 'problem' : '' }, id, kind)
    const box = sample.columns.length > 1 ? columnBox(id, true, choice) : null
    return el('span', { class: 'check' }, box, name)
  })
  const out = choice.omitted.map((id) =>
    el('span', { class: 'check' }, columnBox(id, false, choice), id),
  )
  const omitted =
    out.length === 0 ? [] : [el('div', { class: 'actions' }, TEXT.omittedColumns, ...out)]
  const rules = new Map(
    check?.problems.map((found) => [`${found.row} ${found.column}`, wordsOfRule(found.rule)]),
  )
  const rows = sample.rows.slice(0, PREVIEW_ROWS).map((row, index) => {
    return sample.columns.map((id) => {
      const [text, rule] = [shortText(row[id]), rules.get(`${index} ${id}`)]
      return rule === undefined
        ? text
        : el('td', { class: 'misfit', title: TEXT.mustBe(rule) }, text)
    })
  })
  if (rows.length === 0) rows.push([TEXT.noRows])
  const found = check === undefined ? [] : checkView(check, TEXT.problemsOfSample)
  return [...found, ...readingView(sample.report), ...omitted, renderTable(TEXT.sample, head, rows)]
}

/** How a file was read, and the advice on it. */
function readingView({
  format,
  encoding,
  delimiter,
  headerLine,
  advice,
}: IntakeReport): readonly HTMLElement[] {
  const ofLines =
    delimiter === undefined
      ? []
      : [TEXT.delimitedBy(nameOfDelimiter(delimiter)), TEXT.headerLine(headerLine)]
  const found = advice.map(TEXT.advice).filter((text) => text !== '')
  return [
    el('p', {}, TEXT.readAs([format.toUpperCase(), encoding, ...ofLines])),
    ...(found.length === 0 ? [] : [el('ul', {}, ...found.map((text) => el('li', {}, text)))]),
  ]
}

function nameOfDelimiter(delimiter: string): string {
  return new Map(Object.entries(TEXT.delimiters)).get(delimiter) ?? delimiter
}

/** What a merge would do, and the values that do not fit, by column and rule. */
export function checkView(check: Check, about: string = TEXT.problemList): readonly HTMLElement[] {
  const { problems, problemCount, merge } = check
  const would = merge === undefined ? [] : [el('p', {}, TEXT.wouldMerge(TEXT.mergeCounts(merge)))]
  const count = countMisfits(check)
  if (count === 0) return would
  const title = el('h3', { class: 'problem' }, TEXT.problems(shownCount(count)))
  const rows = groupProblems(problems).map((group) => [
    group.column,
    group.rule,
    shownCount(group.count),
    el('td', {}, ...group.places.map((place) => el('span', { class: 'spot' }, place))),
  ])
  const isCut = problemCount > problems.length
  const caption = isCut ? TEXT.problemsOfFirst(shownCount(problems.length)) : about
  return [...would, title, renderTable(caption, TEXT.problemColumns, rows)]
}

export function doneView({ tableId, version, receipt, read }: Imported): readonly HTMLElement[] {
  const facts: [string, string][] = [[TEXT.versionName, shownCount(Number(version))]]
  if (receipt !== undefined) {
    const { rows, columns, dropped, merge } = receipt
    facts.unshift([TEXT.rowsImported, shownCount(rows)])
    if (merge !== undefined) {
      facts.push([TEXT.merge, TEXT.mergeCounts(merge)])
    }
    if (columns.added.length > 0) facts.push([TEXT.columnsAdded, columns.added.join(', ')])
    if (columns.changed.length > 0)
      facts.push([TEXT.columnsChanged, shownCount(columns.changed.length)])
    if (dropped.count > 0) facts.push([TEXT.cellsDropped, shownCount(dropped.count)])
  }
  const list = facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])
  const href = `#/table/${encodeURIComponent(tableId)}`
  const link = el('a', { href, class: 'button primary' }, TEXT.showTable)
  return [
    el('h2', {}, TEXT.imported),
    el('div', { class: 'actions' }, link),
    el('dl', { class: 'receipt' }, ...list),
    ...(read === undefined ? [] : readingView(read)),
  ]
}

/** The progress of an import, its rate, and the remaining time. */
export class ProgressView {
  readonly element: HTMLElement
  readonly #file: File
  readonly #bar = el('progress', { max: 1, value: 0, 'aria-label': TEXT.progress })
  readonly #text = el('p', { role: 'status' })
  readonly #clock: RateClock

  constructor(file: File, now: () => number) {
    this.#file = file
    this.#clock = new RateClock(now)
    this.element = el('div', { class: 'progress' }, this.#bar, this.#text)
  }

  show(progress: StageProgress): void {
    const { rows, bytes } = progress
    const { size } = this.#file
    const done = Math.min(bytes, size)
    const share = size === 0 ? 1 : done / size
    const rate = this.#clock.rateOf(progress, share)
    this.#bar.value = share
    const underWay = TEXT.underWay({
      rows: shownCount(rows),
      bytes: shownBytes(done),
      all: shownBytes(size),
      rate: shownCount(Math.round(rate.rows)),
      speed: shownBytes(rate.bytes),
      left: shownSeconds(rate.secondsLeft),
    })
    setText(this.#text, underWay)
  }

  say(message: string): void {
    this.#bar.removeAttribute('value')
    setText(this.#text, message)
  }
}
