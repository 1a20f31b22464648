// The oracle of values: what fits a column, what is inferred and what is returned, by CONTRACT.md, section 3. It was
// written from the contract, not from the engine, only for the kinds below, and judges one value at a time where the
// engine judges whole chunks.

export type Kind = 'string' | 'number' | 'boolean' | 'date' | 'dateTime'
export type Type = Readonly<{ kind: Kind }> | Readonly<{ kind: 'array'; items: { kind: Kind } }>
export type ModelColumn = Readonly<{ id: string; displayName?: string; type: Type }>
export type ModelSchema = Readonly<{ columns: readonly ModelColumn[] }>

/** A value as sent: a JSON token, or a field of CSV or TSV. */
export type Cell = Readonly<{ token: string }> | Readonly<{ field: string }>

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?Z?$/

/** Whether a cell is empty in every kind of column. JSON `""` is not: plain text keeps it. */
export function isEmpty(cell: Cell): boolean {
  return 'field' in cell ? cell.field === '' : cell.token === 'null'
}

export function cellFits(type: Type, cell: Cell): boolean {
  if (isEmpty(cell)) return true
  if ('field' in cell) return fieldFits(type, cell.field)
  if (cell.token === '""') return true
  return valueFits(type, JSON.parse(cell.token))
}

function valueFits(type: Type, value: unknown): boolean {
  if (type.kind === 'array') {
    if (!Array.isArray(value)) return false
    const { items } = type
    return value.every((element) => !Array.isArray(element) && valueFits(items, element))
  }
  switch (typeof value) {
    case 'string':
      return textFits(type.kind, value)
    case 'number':
      return type.kind === 'number' && Number.isFinite(value)
    case 'boolean':
      return type.kind === 'boolean'
  }
  return false
}

function textFits(kind: Kind, text: string): boolean {
  if (kind === 'string') return true
  if (kind === 'date') return isDay(text)
  if (kind === 'dateTime') return isDay(text) || isDay(DATE_TIME.exec(text)?.[1] ?? '')
  return false
}

function isDay(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? []
  if (year === undefined) return false
  const utc = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return utc.getUTCMonth() === Number(month) - 1 && utc.getUTCDate() === Number(day)
}

function fieldFits(type: Type, field: string): boolean {
  switch (type.kind) {
    case 'array':
      return isArrayText(field) && valueFits(type, JSON.parse(field))
    case 'number':
      return isFiniteNumber(field.replace(/^ +| +$/g, ''))
    case 'boolean':
      return /^(true|false)$/i.test(field)
    default:
      return textFits(type.kind, field)
  }
}

function isArrayText(field: string): boolean {
  try {
    return Array.isArray(JSON.parse(field))
  } catch {
    return false
  }
}

function isFiniteNumber(text: string): boolean {
  return NUMBER.test(text) && Number.isFinite(Number(text))
}

/** The token that a column of the type returns for a cell that fits; null: the cell is empty. */
export function storedToken(type: Type, cell: Cell): string | null {
  if (isEmpty(cell)) return null
  if ('field' in cell) return fieldToken(type, cell.field)
  const token = compact(cell.token)
  if (token === '""') return type.kind === 'string' ? token : null
  if (type.kind === 'array') {
    return token.startsWith('[')
      ? `[${elementsOf(token).map(shownIn(type.items)).join(',')}]`
      : token
  }
  return shownIn(type)(token)
}

function fieldToken(type: Type, field: string): string {
  switch (type.kind) {
    case 'array':
      return compact(field)
    case 'number':
      return compact(field.trim())
    case 'boolean':
      return field.toLowerCase()
    default:
      return JSON.stringify(field)
  }
}

/** Where strings are wanted, a value that is not a string becomes its JSON text. */
function shownIn({ kind }: { kind: string }): (token: string) => string {
  if (kind === 'number' || kind === 'boolean') return (token) => token
  return (token) => (token.startsWith('"') ? token : JSON.stringify(token))
}

/** Parts of a JSON text: strings, numbers, words, and single characters. */
const PARTS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[a-z]+|[^\s]/g

/** Removes white space outside strings, and the sign of zeros. */
function compact(token: string): string {
  const parts = token.match(PARTS) ?? []
  return parts.map((part) => (/^-[0.]+([eE].*)?$/.test(part) ? part.slice(1) : part)).join('')
}

/** The tokens of an array that contains neither arrays nor objects. */
function elementsOf(token: string): string[] {
  return (token.slice(1, -1).match(PARTS) ?? []).filter((part) => part !== ',')
}

type Class = 'boolean' | 'number' | 'long' | 'text' | 'array' | 'unfit'

function classOf(cell: Cell): Class {
  if ('field' in cell) {
    const { field } = cell
    if (isFiniteNumber(field)) return /^-?\d{16,}$/.test(field) ? 'long' : 'number'
    return /^(true|false)$/i.test(field) ? 'boolean' : 'text'
  }
  const value: unknown = JSON.parse(cell.token)
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : 'unfit'
  if (!Array.isArray(value)) return 'unfit'
  const isFlat = value.every(
    (element) => ['string', 'boolean'].includes(typeof element) || Number.isFinite(element),
  )
  return isFlat ? 'array' : 'unfit'
}

/** Whether a table with an inferred schema can store the cell at all. */
export function fitsInferred(cell: Cell): boolean {
  return isEmpty(cell) || classOf(cell) !== 'unfit'
}

/** Whether the cell affects the type of its column: it is not empty, and some type accepts it. */
function tellsOfType(cell: Cell): boolean {
  if (isEmpty(cell) || ('token' in cell && cell.token === '""')) return false
  return classOf(cell) !== 'unfit'
}

/** The smallest type that accepts the values of a column with this type and the new cells. */
export function widenType(type: Type, cells: readonly Cell[]): Type {
  const seen = cells.filter(tellsOfType)
  const fits = (wider: Type): boolean => seen.every((cell) => cellFits(wider, cell))
  if (type.kind !== 'array') {
    const wider: Type[] = type.kind === 'date' ? [type, { kind: 'dateTime' }] : [type]
    return wider.find(fits) ?? { kind: 'string' }
  }
  const kinds: Kind[] = type.items.kind === 'date' ? ['date', 'dateTime'] : [type.items.kind]
  const fitting = [...kinds, 'string' as const].find((kind) => {
    return fits({ kind: 'array', items: { kind } })
  })
  if (fitting !== undefined) return { kind: 'array', items: { kind: fitting } }
  const onlyArrays = seen.every((cell) => 'token' in cell && classOf(cell) === 'array')
  return onlyArrays ? { kind: 'array', items: { kind: 'string' } } : { kind: 'string' }
}

/** The type of a column with these cells. */
export function inferType(cells: readonly Cell[]): Type {
  const seen = cells.filter(tellsOfType)
  const classes = new Set(seen.map(classOf))
  if (classes.size !== 1) {
    return { kind: 'string' } // no type, or a mix; a long CSV integer may be an identifier
  }
  if (classes.has('boolean')) return { kind: 'boolean' }
  if (classes.has('number')) return { kind: 'number' }
  const texts = seen.map((cell) => ('field' in cell ? cell.field : JSON.parse(cell.token)))
  if (classes.has('text')) return { kind: inferTextKind(texts) }
  if (classes.has('array')) return { kind: 'array', items: { kind: inferItems(texts.flat()) } }
  return { kind: 'string' }
}

function inferItems(elements: readonly unknown[]): Kind {
  const classes = new Set(elements.map((element) => typeof element))
  if (classes.size !== 1) return 'string'
  if (classes.has('number')) return 'number'
  if (classes.has('boolean')) return 'boolean'
  return inferTextKind(elements.map(String))
}

function inferTextKind(texts: readonly string[]): Kind {
  const kinds = ['date', 'dateTime'] as const
  return kinds.find((kind) => texts.every((text) => textFits(kind, text))) ?? 'string'
}
