// Rows that name files in every possible way: as a cell, inside a cell, in an array, with escapes; in objects, JSON and
// CSV.
import fc from 'fast-check'
import type { RowsInput } from '../../../src/index.js'
import type { ModelRow, Oracle } from './oracle.js'

/** The schema of every table. */
export const SCHEMA = {
  columns: [
    { id: 'n', type: 'number' },
    { id: 'f', type: 'string' },
    { id: 'a', type: { kind: 'array', items: { kind: 'string' } } },
  ],
} as const

/** `free`: a file that no row names now, if there is one. */
type FileChoice = Readonly<{ of: 'free' | 'any' | 'gone' | 'strange'; at: number }>

export type CellSpec = Readonly<{
  cell: 'text' | 'middle' | 'array' | 'both' | 'none'
  files: readonly FileChoice[]
  isEscaped: boolean
}>

export type RowsSpec = Readonly<{
  form: 'objects' | 'json' | 'csv'
  rows: readonly CellSpec[]
}>

const anyChoice: fc.Arbitrary<FileChoice> = fc.record({
  of: fc.constantFrom('free', 'free', 'free', 'any', 'any', 'gone', 'strange'),
  at: fc.nat({ max: 7 }),
})

export const anyCells: fc.Arbitrary<CellSpec> = fc.record({
  cell: fc.constantFrom('text', 'text', 'middle', 'array', 'array', 'both', 'none'),
  files: fc.array(anyChoice, { minLength: 1, maxLength: 3 }),
  isEscaped: fc.boolean(),
})

export const anyRows: fc.Arbitrary<RowsSpec> = fc.record({
  form: fc.constantFrom('objects', 'json', 'csv'),
  rows: fc.array(anyCells, { minLength: 1, maxLength: 5 }),
})

/** A file ID of a team that does not exist. */
const STRANGE_ID = `rsf-${'A'.repeat(31)}B`

const URL_BASE = 'https://api.example/v2/'

/** IDs to choose from. */
export class FileChoices {
  readonly #free: readonly string[]
  readonly #any: readonly string[]
  readonly #gone: readonly string[]

  constructor(oracle: Oracle, now: number) {
    const held = oracle.held(now)
    this.#any = [...oracle.files.keys()]
    this.#free = this.#any.filter((id) => !held.has(id))
    this.#gone = oracle.gone
  }

  pick({ of, at }: FileChoice): string {
    const lists = { free: this.#free, any: this.#any, gone: this.#gone, strange: [] }
    const list = lists[of].length > 0 || of === 'strange' ? lists[of] : this.#any
    return list[at % Math.max(1, list.length)] ?? STRANGE_ID
  }
}

export type Cells = Readonly<{ n: number; f: string | null; a: readonly string[] | null }>

export function bindCells({ cell, files }: CellSpec, n: number, choices: FileChoices): Cells {
  const urls = files.map((choice) => `${URL_BASE}files/${choices.pick(choice)}/x.txt`)
  const [first = ''] = urls
  const texts = { text: first, both: first, middle: `see (${urls.join(', ')}), rsf- "more"` }
  return {
    n,
    f: cell === 'array' || cell === 'none' ? null : texts[cell],
    a: cell === 'array' || cell === 'both' ? urls : null,
  }
}

const FILE_ID = /rsf-[A-Za-z0-9_-]{32}/g

export function idsIn(text: string): string[] {
  return text.match(FILE_ID) ?? []
}

export function rowOf({ n, f, a }: Cells): ModelRow {
  return { n, f: idsIn(f ?? ''), a: idsIn((a ?? []).join(' ')) }
}

export type BoundRows = Readonly<{
  input: RowsInput
  rows: readonly ModelRow[]
  /** The files that the text names before a table has parsed it into cells. */
  named: readonly string[]
}>

export function bindRows({ form, rows }: RowsSpec, oracle: Oracle, now: number): BoundRows {
  const choices = new FileChoices(oracle, now)
  const bound = rows.map((spec) => {
    return { cells: bindCells(spec, oracle.nextNumber(), choices), isEscaped: spec.isEscaped }
  })
  const model = bound.map(({ cells }) => rowOf(cells))
  // In CSV, an escape in a cell's text is not an escape yet, but plain characters.
  const named = model.flatMap(({ f, a }, i) => {
    return form === 'csv' && bound[i]?.isEscaped ? [...f] : [...f, ...a]
  })
  return { input: inputOf(form, bound), rows: model, named }
}

type Bound = Readonly<{ cells: Cells; isEscaped: boolean }>

function inputOf(form: RowsSpec['form'], bound: readonly Bound[]): RowsInput {
  if (form === 'objects') return bound.map(({ cells }) => withoutEmpty(cells))
  if (form === 'json') return { json: `[${bound.map(jsonOf).join(',')}]` }
  return { csv: `n,f,a\n${bound.map(csvOf).join('')}` }
}

export function withoutEmpty(cells: Cells): Record<string, unknown> {
  return Object.fromEntries(Object.entries(cells).filter(([, value]) => value !== null))
}

function jsonOf({ cells, isEscaped }: Bound): string {
  const json = JSON.stringify(withoutEmpty(cells))
  return isEscaped ? escapeIds(json) : json
}

/** Escapes some or all characters of the IDs in a JSON text. */
export function escapeIds(json: string): string {
  return json.replace(FILE_ID, (id) => {
    const every = (id.charCodeAt(20) % 3) + 1
    return [...id].map((char, i) => (i % every === 0 ? escapeOf(char) : char)).join('')
  })
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function csvOf({ cells: { n, f, a }, isEscaped }: Bound): string {
  const json = a === null ? null : JSON.stringify(a)
  const array = json !== null && isEscaped ? escapeIds(json) : json
  return `${n},${quoted(f)},${quoted(array)}\n`
}

function quoted(text: string | null): string {
  return text === null ? '' : `"${text.replaceAll('"', '""')}"`
}
