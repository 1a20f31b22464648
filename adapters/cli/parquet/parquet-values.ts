// The values of a column of a Parquet file as JSON, with all their digits. hyparquet gives them as they are stored,
// because its own converters make doubles of decimals, and replace bytes that are not UTF-8.
import type { SchemaElement, SchemaTree } from 'hyparquet'
import type { ColumnKind, ColumnType } from '../../../src/index.js'
import { dayText, momentText } from './parquet-columns.js'

/** The JSON of a value that is there. @throws {Error} for a value that no cell can hold: what it is */
export type Render = (value: unknown) => string

/** What hyparquet refuses, or converts itself. */
const NOT_RAW: ReadonlySet<string> = new Set([
  'BSON',
  'FLOAT16',
  'GEOGRAPHY',
  'GEOMETRY',
  'INTERVAL',
  'VARIANT',
])

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Takes the annotations from a column, so that its values stay as they are stored. @returns how they become JSON */
export function takeRawValues(column: SchemaTree): Render {
  const leaf = leafOf(column)
  const { converted_type, logical_type } = leaf.element
  if (leaf.children.length > 0 || NOT_RAW.has(logical_type?.type ?? converted_type ?? ''))
    return renderPlainValue
  const render = renderOf(leaf.element)
  delete leaf.element.converted_type
  delete leaf.element.logical_type
  return function all(value): string {
    if (!Array.isArray(value)) return isStruct(value) ? renderPlainValue(value) : render(value)
    return `[${value.map((item) => (item == null ? 'null' : all(item))).join(',')}]`
  }
}

/** The type of a column by what the file says of it; undefined: its values may be of several. */
export function typeOfColumn(column: SchemaTree): ColumnType | undefined {
  const leaf = leafOf(column)
  const kind = leaf.children.length > 0 ? undefined : kindOf(leaf.element)
  if (kind === undefined || column.children.length === 0) return kind && { kind }
  const isListOfLists = column.children[0]?.children.some(({ children }) => children.length > 0)
  return isListOfLists === true ? undefined : { kind: 'array', items: { kind } }
}

function kindOf({ type, converted_type, logical_type }: SchemaElement): ColumnKind | undefined {
  const annotation = logical_type?.type ?? converted_type ?? ''
  if (NOT_RAW.has(annotation) || annotation === 'JSON') return undefined
  if (annotation === 'DATE') return 'date'
  if (annotation.startsWith('TIMESTAMP') || type === 'INT96') return 'dateTime'
  if (annotation === 'DECIMAL') return 'number'
  if (annotation.startsWith('TIME') || type === 'BYTE_ARRAY') return 'string'
  if (type === 'FIXED_LEN_BYTE_ARRAY') return annotation === 'UUID' ? 'string' : undefined
  return type === 'BOOLEAN' ? 'boolean' : 'number'
}

/** Of lists the column of their items. */
function leafOf(column: SchemaTree): SchemaTree {
  const [child, other] = column.children
  return child === undefined || other !== undefined ? column : leafOf(child)
}

function isStruct(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof Uint8Array)
}

function renderOf({ type, converted_type, logical_type, scale = 0 }: SchemaElement): Render {
  switch (logical_type?.type ?? converted_type) {
    case 'DECIMAL': {
      const digits = logical_type?.type === 'DECIMAL' ? logical_type.scale : scale
      return (value) => decimalText(integerOf(value), digits)
    }
    case 'DATE':
      return (value) => JSON.stringify(dayText(Number(value)))
    case 'TIME':
    case 'TIME_MILLIS':
    case 'TIME_MICROS':
      return timeOf(fractionDigits(converted_type, logical_type))
    case 'TIMESTAMP':
    case 'TIMESTAMP_MILLIS':
    case 'TIMESTAMP_MICROS':
      return makeMomentRender(fractionDigits(converted_type, logical_type), zoneOf(logical_type))
    case 'UINT_32':
      return unsignedOf(32)
    case 'UINT_64':
      return unsignedOf(64)
    case 'INTEGER': {
      const isUnsigned = logical_type?.type === 'INTEGER' && !logical_type.isSigned
      return isUnsigned ? unsignedOf(type === 'INT64' ? 64 : 32) : renderPlainValue
    }
    case 'UUID':
      return (value) => JSON.stringify(uuidText(value as Uint8Array))
    case 'JSON':
      return textOfJsonBytes
  }
  if (type === 'BYTE_ARRAY') return (value) => JSON.stringify(decodeCellText(value as Uint8Array))
  if (type === 'INT96') return makeMomentRender(9, '')
  return type === 'FLOAT' ? floatText : renderPlainValue
}

type Logical = SchemaElement['logical_type']

/** Digits of a second's fraction. */
function fractionDigits(converted: string | undefined, logical: Logical): number {
  const unit = logical !== undefined && 'unit' in logical ? logical.unit : converted?.slice(-6)
  return unit === 'NANOS' ? 9 : unit === 'MICROS' ? 6 : 3
}

/** Without the logical type a time is one of UTC. */
function zoneOf(logical: Logical): '' | 'Z' {
  return logical?.type === 'TIMESTAMP' && !logical.isAdjustedToUTC ? '' : 'Z'
}

function makeMomentRender(digits: number, zone: '' | 'Z'): Render {
  return (value) => JSON.stringify(momentText(integerOf(value), digits, zone))
}

function timeOf(digits: number): Render {
  return (value) => JSON.stringify(momentText(integerOf(value), digits, '').replace(/^.*T/, ''))
}

function unsignedOf(bits: number): Render {
  return (value) => String(BigInt.asUintN(bits, integerOf(value)))
}

/** An integer that is stored as a number, or as bytes in two's complement, the highest first. */
function integerOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  const bits = BigInt(`0x0${Buffer.from(value).toString('hex')}`)
  return BigInt.asIntN(8 * value.length, bits)
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled)
    .replace('-', '')
    .padStart(scale + 1, '0')
  const point = digits.length - scale
  const fraction = scale > 0 ? `.${digits.slice(point)}` : ''
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`
}

/** The shortest number that is the same float of 32 bits. */
function floatText(value: unknown): string {
  const float = Number(value)
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(float.toPrecision(digits))
    if (Math.fround(short) === float) return renderPlainValue(short)
  }
  return renderPlainValue(float)
}

function decodeCellText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw new Error('bytes that are not UTF-8, which no column can hold')
  }
}

function textOfJsonBytes(bytes: unknown): string {
  const text = decodeCellText(bytes as Uint8Array)
  try {
    JSON.parse(text)
  } catch {
    throw new Error('text that is not JSON')
  }
  return text
}

function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Of a value that is one of JavaScript. */
function renderPlainValue(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) throw new Error('bytes, which no column can hold')
  if (typeof value !== 'number') {
    return JSON.stringify(value, (_, cell) => (typeof cell === 'bigint' ? Number(cell) : cell))
  }
  if (Number.isFinite(value)) return String(Object.is(value, -0) ? 0 : value)
  return JSON.stringify(String(value)) // A table refuses it, as any value that does not fit.
}
