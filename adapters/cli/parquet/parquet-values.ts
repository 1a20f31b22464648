// The values of a Parquet column as JSON, with all digits. hyparquet returns them raw, because its own converters turn
// decimals into doubles, and replace bytes that are not UTF-8.
import type { SchemaElement, SchemaTree } from 'hyparquet'
import type { ColumnKind, ColumnType } from '../../../src/index.js'
import {
  dayText,
  decimalText,
  decodeCellText,
  floatText,
  integerOf,
  momentText,
  type Render,
  renderPlainValue,
  textOfJsonBytes,
  uuidText,
} from './parquet-texts.js'
import { variantRender } from './parquet-variant.js'

/** Types that hyparquet rejects, or converts itself. */
const NOT_RAW: ReadonlySet<string> = new Set([
  'BSON',
  'FLOAT16',
  'GEOGRAPHY',
  'GEOMETRY',
  'INTERVAL',
])

/**
 * Removes the annotations of a column, so that its values stay raw.
 * @param binary - `text`: fixed-length bytes are text too.
 * @returns the conversion of the values to JSON
 */
export function takeRawValues(column: SchemaTree, binary?: 'text'): Render {
  const { element, children } = column
  if (NOT_RAW.has(annotationOf(element))) {
    return (value) => {
      if (!(value instanceof Uint8Array)) return renderPlainValue(value)
      throw new Error(`bytes of type ${annotationOf(element)}, which no column can hold`)
    }
  }
  if (annotationOf(element) === 'VARIANT') {
    delete element.logical_type // hyparquet would turn its decimals and nanoseconds into doubles.
    return variantRender(column, (part) => takeRawValues(part, binary))
  }
  const render = children.length > 0 ? groupRender(column, binary) : renderOf(element, binary)
  if (children.length === 0) {
    delete element.converted_type
    delete element.logical_type
  }
  return function all(value): string {
    if (!Array.isArray(value)) return render(value)
    return `[${value.map((item) => (item == null ? 'null' : all(item))).join(',')}]`
  }
}

function annotationOf({ converted_type, logical_type }: SchemaElement): string {
  return logical_type?.type ?? converted_type ?? ''
}

/** Renders groups as hyparquet assembles them: items of a list, values of a map by key, members of a struct. */
function groupRender({ element, children }: SchemaTree, binary: 'text' | undefined): Render {
  const [inner, other] = children
  if (inner === undefined) return renderPlainValue
  const isOne = other === undefined && inner.element.repetition_type === 'REPEATED'
  if (isOne && element.converted_type === 'LIST' && inner.children.length < 2) {
    return takeRawValues(inner.children[0] ?? inner, binary)
  }
  const [key, value] = inner.children
  const isMap = isOne && element.converted_type === 'MAP' && inner.children.length === 2
  if (isMap && key?.element.name === 'key' && value !== undefined) {
    const isPlain =
      annotationOf(key.element) === '' && /^(?:BOOLEAN|INT32|INT64)$/.test(key.element.type ?? '')
    const isKept = isPlain || KEYS_AS_TEXT.test(annotationOf(key.element))
    const ofValue = takeRawValues(value, binary)
    return (map) => {
      if (!isKept) throw new Error('a map whose keys are neither text nor integers')
      return renderMembers(Object.entries(map as object).map(([name, one]) => [name, one, ofValue]))
    }
  }
  const renders = children.map(
    (child) => [child.element.name, takeRawValues(child, binary)] as const,
  )
  return (struct) =>
    renderMembers(
      renders.map(([name, render]) => [name, (struct as Record<string, unknown>)[name], render]),
    )
}

/** Map keys that hyparquet converts to names without loss. */
const KEYS_AS_TEXT = /^(?:UTF8|STRING|INTEGER|U?INT_\d+)$/

function renderMembers(members: readonly (readonly [string, unknown, Render])[]): string {
  const texts = members.map(([name, value, render]) => {
    return `${JSON.stringify(name)}:${value == null ? 'null' : render(value)}`
  })
  return `{${texts.join(',')}}`
}

/** The type of a column, as the file states it; undefined: values may have several types. */
export function typeOfColumn(column: SchemaTree): ColumnType | undefined {
  const leaf = leafOf(column)
  const kind = leaf.children.length > 0 ? undefined : kindOf(leaf.element)
  if (kind === undefined || column.children.length === 0) return kind && { kind }
  const isListOfLists = column.children[0]?.children.some(({ children }) => children.length > 0)
  return isListOfLists === true ? undefined : { kind: 'array', items: { kind } }
}

function kindOf(element: SchemaElement): ColumnKind | undefined {
  const { type } = element
  const annotation = annotationOf(element)
  if (NOT_RAW.has(annotation) || /^(?:JSON|VARIANT)$/.test(annotation)) return undefined
  if (annotation === 'DATE') return 'date'
  if (annotation.startsWith('TIMESTAMP') || type === 'INT96') return 'dateTime'
  if (annotation === 'DECIMAL') return 'number'
  if (annotation.startsWith('TIME') || type === 'BYTE_ARRAY') return 'string'
  if (type === 'FIXED_LEN_BYTE_ARRAY') return annotation === 'UUID' ? 'string' : undefined
  return type === 'BOOLEAN' ? 'boolean' : 'number'
}

/** The column of the innermost items of lists. */
function leafOf(column: SchemaTree): SchemaTree {
  const [child, other] = column.children
  const { converted_type, repetition_type } = column.element
  const isOfList = converted_type === 'LIST' || repetition_type === 'REPEATED'
  return child === undefined || other !== undefined || !isOfList ? column : leafOf(child)
}

/** Whether a column of bytes is not marked as text, as by programs without another byte type. */
export function isUnannotated(column: SchemaTree): boolean {
  const { element } = leafOf(column)
  return element.type === 'BYTE_ARRAY' && annotationOf(element) === ''
}

/** Whether a column has unsigned 32-bit numbers. */
export function isUnsigned32({ type, converted_type, logical_type }: SchemaElement): boolean {
  const isLogical = logical_type?.type === 'INTEGER' && !logical_type.isSigned
  return type === 'INT32' && (isLogical || /^UINT_/.test(converted_type ?? ''))
}

function renderOf(
  { type, converted_type, logical_type, scale = 0 }: SchemaElement,
  binary: 'text' | undefined,
): Render {
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
  const isText = type === 'BYTE_ARRAY' || (type === 'FIXED_LEN_BYTE_ARRAY' && binary === 'text')
  if (isText) return (value) => JSON.stringify(decodeCellText(value as Uint8Array))
  if (type === 'INT96') return makeMomentRender(9, '')
  return type === 'FLOAT' ? floatText : renderPlainValue
}

type Logical = SchemaElement['logical_type']

/** The number of fractional digits of a second. */
function fractionDigits(converted: string | undefined, logical: Logical): number {
  const unit = logical !== undefined && 'unit' in logical ? logical.unit : converted?.slice(-6)
  return unit === 'NANOS' ? 9 : unit === 'MICROS' ? 6 : 3
}

/** The zone to show with a time: UTC, unless its logical type says that it is local. */
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
