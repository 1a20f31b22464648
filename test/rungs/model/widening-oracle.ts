// The oracle of `onSchemaError`: one table as plain lists, and the result of rows that do not fit, by CONTRACT.md,
// section 3. It uses the value rules of cell-rules.ts, and adds `duration`, whose values are numbers as well as text.
import {
  type Cell,
  fitsInferred,
  inferType,
  isEmpty,
  type Kind,
  cellFits as plainFits,
  storedToken as plainToken,
  type Type,
} from './cell-rules.js'

type WideKind = Kind | 'duration'
export type WideType =
  | Readonly<{ kind: WideKind }>
  | Readonly<{ kind: 'array'; items: Readonly<{ kind: WideKind }> }>
export type WideColumn = Readonly<{ id: string; displayName?: string; type: WideType }>

export type Form = 'abort' | 'dropColumns' | 'updateSchema'

export type BatchRow = readonly (readonly [column: string, cell: Cell])[]
export type Batch = Readonly<{
  /** All columns in order of first appearance, including those of a header. */
  columns: readonly string[]
  rows: readonly BatchRow[]
}>

/**
 * Tokens that a cell may have: the one that was written, and, if the row was updated since, the one that was returned
 * then. They differ only when an array of numbers or booleans became an array of strings, the row was updated, and then
 * the column became `string`: `"[1]"` or `"[\"1\"]"`.
 */
type Tokens = readonly string[]

type OracleRow = { version: number; readonly cells: Map<string, Tokens> }

const DURATION = /^(?:PT\d+[HMS]|\d+:\d\d:\d\d)$/
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function isDurationValue(value: unknown): boolean {
  return typeof value === 'string' ? DURATION.test(value) : Number.isFinite(value)
}

function isDurationField(field: string): boolean {
  return DURATION.test(field) || (NUMBER.test(field) && Number.isFinite(Number(field)))
}

function isOfDurations(type: WideType): boolean {
  return (type.kind === 'array' ? type.items.kind : type.kind) === 'duration'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether some type accepts the value: objects and broken values fit none. */
function fitsSomeType(cell: Cell): boolean {
  if ('field' in cell) return true
  return fitsInferred(cell) && !/\p{Surrogate}/u.test(String(parsed(cell.token)))
}

function fits(type: WideType, cell: Cell): boolean {
  if (!fitsSomeType(cell)) return false
  if (!isOfDurations(type) || isEmpty(cell)) return plainFits(type as Type, cell)
  if (type.kind === 'duration' && 'field' in cell) return isDurationField(cell.field)
  if ('token' in cell && cell.token === '""') return true
  const value = parsed('field' in cell ? cell.field : cell.token)
  if (type.kind === 'array') return Array.isArray(value) && value.every(isDurationValue)
  return isDurationValue(value)
}

/** The token that a column stores for a cell, in the form of its type; null: the cell is empty. */
function tokenFor(type: WideType, cell: Cell): string | null {
  if (!isOfDurations(type)) return plainToken(type as Type, cell)
  if (isEmpty(cell) || ('token' in cell && cell.token === '""')) return null
  const text = 'field' in cell ? cell.field : cell.token
  // Numbers stay numbers here, as in a number column: durations need no quotes.
  if (type.kind === 'array') return plainToken({ kind: 'array', items: { kind: 'number' } }, cell)
  return NUMBER.test(text) || 'token' in cell
    ? plainToken({ kind: 'number' }, cell)
    : JSON.stringify(text)
}

const TEXT_KINDS: ReadonlySet<WideKind> = new Set(['string', 'date', 'dateTime'])

/** The value that an existing token shows when its column has this type. */
function shown(type: WideType, token: string): string {
  if (type.kind !== 'array') {
    return TEXT_KINDS.has(type.kind) && !token.startsWith('"') ? JSON.stringify(token) : token
  }
  if (!TEXT_KINDS.has(type.items.kind)) return token
  return plainToken({ kind: 'array', items: { kind: 'string' } }, { token }) ?? token
}

const STRINGS: WideType = { kind: 'array', items: { kind: 'string' } }

/** The smallest type that accepts the column's values and these. */
function widen(type: WideType, cells: readonly Cell[]): WideType {
  const values = cells.filter(fitsSomeType)
  const holdsAll = (wider: WideType): boolean => values.every((cell) => fits(wider, cell))
  const kind = type.kind === 'array' ? type.items.kind : type.kind
  const kinds: WideKind[] = kind === 'date' ? ['date', 'dateTime'] : [kind]
  const wider = kinds.map((one): WideType => {
    return type.kind === 'array' ? { kind: 'array', items: { kind: one } } : { kind: one }
  })
  const found = [...wider, ...(type.kind === 'array' ? [STRINGS] : [])].find(holdsAll)
  if (found !== undefined) return found
  const isArray = (cell: Cell): boolean => {
    return isEmpty(cell) || ('token' in cell && (cell.token === '""' || cell.token[0] === '['))
  }
  return type.kind === 'array' && values.every(isArray) ? STRINGS : { kind: 'string' }
}

export class TableOracle {
  columns: readonly WideColumn[]
  version = 1
  rows: OracleRow[] = []
  /** The version of the last change of a type, in which every row changed. */
  #widenedAt = 0

  constructor(columns: readonly WideColumn[]) {
    this.columns = columns
  }

  /** Adds rows. @returns false: it must fail without an effect */
  add(batches: readonly Batch[], form: Form): boolean {
    const columns = this.#columnsFor(batches, form)
    if (columns === null) return false
    const rows = batches.flatMap((batch) => batch.rows)
    if (rows.length === 0) return true
    this.version++
    this.#retype(columns)
    this.#append(rows, form)
    return true
  }

  /** Replaces all rows. @returns false: it must fail without an effect */
  overwrite(batches: readonly Batch[], form: Form): boolean {
    const columns = this.#columnsFor(batches, form)
    if (columns === null) return false
    this.version++
    this.rows = []
    this.#widenedAt = 0
    this.columns = columns
    this.#append(
      batches.flatMap((batch) => batch.rows),
      form,
    )
    return true
  }

  /** @returns false: it must fail without an effect */
  update(index: number, changes: BatchRow, form: Form): boolean {
    const columns = this.#columnsFor(
      [{ columns: changes.map(([id]) => id), rows: [changes] }],
      form,
    )
    const row = this.rows[index]
    if (columns === null || row === undefined) return false
    const taken = changes.flatMap(([id, cell]) => {
      const type = typeOf(columns, id)
      return type === undefined || !isTaken(type, cell, form) ? [] : [{ id, type, cell }]
    })
    if (taken.length === 0) return true
    this.version++
    this.#storeAnew(row)
    this.#retype(columns)
    this.#storeAnew(row)
    row.version = this.version
    for (const { id, type, cell } of taken) {
      const token = tokenFor(type, cell)
      if (token === null) row.cells.delete(id)
      else row.cells.set(id, [token])
    }
    return true
  }

  remove(index: number): void {
    this.version++
    this.rows.splice(index, 1)
  }

  /** The texts that a row may return, without its ID and braces: see `Tokens`. */
  textsOf({ cells }: OracleRow): string[] {
    let texts = ['']
    for (const [id, tokens] of cells) {
      const read = new Set(tokens.map((token) => this.#shown(id, token)))
      texts = texts.flatMap((text) =>
        [...read].map((token) => `${text}${text && ','}${JSON.stringify(id)}:${token}`),
      )
    }
    return texts
  }

  versionOf({ version }: OracleRow): number {
    return Math.max(version, this.#widenedAt)
  }

  /** The columns of the table with these rows; null: they are refused. */
  #columnsFor(batches: readonly Batch[], form: Form): readonly WideColumn[] | null {
    const cells = batches.flatMap(({ rows }) => rows.flat())
    if (form === 'dropColumns') return this.columns
    const named = batches.flatMap(({ columns, rows }) => (rows.length === 0 ? [] : columns))
    const unknown = [...new Set(named)].filter((id) => typeOf(this.columns, id) === undefined)
    if (form === 'abort') {
      const holds = cells.every(([id, cell]) => {
        const type = typeOf(this.columns, id)
        return type !== undefined && fits(type, cell)
      })
      return holds && unknown.length === 0 ? this.columns : null
    }
    if (!cells.every(([, cell]) => fitsSomeType(cell))) return null
    const cellsOf = (id: string): Cell[] => {
      return cells.filter(([one]) => one === id).map(([, cell]) => cell)
    }
    return [
      ...this.columns.map((column) => ({
        ...column,
        type: widen(column.type, cellsOf(column.id)),
      })),
      ...unknown.map((id) => ({ id, displayName: id, type: inferType(cellsOf(id)) })),
    ]
  }

  #append(rows: readonly BatchRow[], form: Form): void {
    for (const row of rows) {
      const cells = new Map<string, Tokens>()
      for (const [id, cell] of row) {
        const type = typeOf(this.columns, id)
        if (type === undefined || !isTaken(type, cell, form)) continue
        const token = tokenFor(type, cell)
        if (token !== null) cells.set(id, [token])
      }
      this.rows.push({ version: this.version, cells })
    }
  }

  #retype(columns: readonly WideColumn[]): void {
    const isRetyped = this.columns.some(({ id, type }) => {
      return JSON.stringify(typeOf(columns, id)) !== JSON.stringify(type)
    })
    if (isRetyped) this.#widenedAt = this.version
    this.columns = columns
  }

  #storeAnew({ cells }: OracleRow): void {
    for (const [id, tokens] of cells) {
      const read = tokens.map((token) => this.#shown(id, token))
      cells.set(id, [...new Set([...tokens, ...read])])
    }
  }

  #shown(id: string, token: string): string {
    const type = typeOf(this.columns, id)
    return type === undefined ? token : shown(type, token)
  }
}

function typeOf(columns: readonly WideColumn[], id: string): WideType | undefined {
  return columns.find((column) => column.id === id)?.type
}

/** With `updateSchema` the columns were made to fit the cells. */
function isTaken(type: WideType, cell: Cell, form: Form): boolean {
  return form === 'updateSchema' || fits(type, cell)
}
