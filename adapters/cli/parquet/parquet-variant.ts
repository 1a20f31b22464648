// Values of a VARIANT column as JSON, with all digits. A value is self-describing bytes. In a shredded column, values
// of one type are typed values, and values of other types are bytes.
//
// Invariant: the bytes of a value bound the work, whatever its offsets are.
import type { SchemaTree } from 'hyparquet'
import {
  dayText,
  decimalText,
  decodeCellText,
  floatText,
  momentText,
  type Render,
  renderPlainValue,
  uuidText,
} from './parquet-texts.js'

/** The maximum nesting depth of a value. */
const DEPTH_MAX = 64

/** The two parts of a value. A missing member has neither. */
type Part = Readonly<{ value?: Uint8Array | null; typed_value?: unknown }>

/** The JSON of a value; undefined: it has neither part. */
type RenderPart = (part: Part, names: readonly string[]) => string | undefined

type Members = readonly (readonly [name: string, json: string])[]

/** @param renderOf - Makes the conversion for a column of typed values, as `takeRawValues` does. */
export function variantRender(
  column: SchemaTree,
  renderOf: (column: SchemaTree) => Render,
): Render {
  const render = partRender(column, renderOf)
  return (cell) => {
    const { metadata, ...part } = cell as Part & { metadata: Uint8Array }
    return render(part, readNames(metadata)) ?? 'null'
  }
}

function partRender(column: SchemaTree, renderOf: (column: SchemaTree) => Render): RenderPart {
  const typed = column.children.find(({ element }) => element.name === 'typed_value')
  const renderTyped = typed && typedRender(typed, renderOf)
  return ({ value, typed_value: shredded }, names) => {
    if (shredded != null && renderTyped !== undefined) return renderTyped(shredded, value, names)
    return value == null ? undefined : new ValueReader(value, names).read()
  }
}

type RenderTyped = (typed: unknown, rest: Part['value'], names: readonly string[]) => string

function typedRender(typed: SchemaTree, renderOf: (column: SchemaTree) => Render): RenderTyped {
  const { element, children } = typed
  if (children.length === 0) {
    const { type, converted_type, logical_type } = element
    const isBytes =
      type === 'BYTE_ARRAY' && converted_type === undefined && logical_type === undefined
    return isBytes ? refuseBytes : renderOf(typed)
  }
  if (element.converted_type === 'LIST') {
    const item = partRender(children[0]?.children[0] ?? typed, renderOf)
    return (items, _, names) =>
      jsonArray((items as readonly Part[]).map((part) => item(part, names) ?? 'null'))
  }
  const fields = children.map((child) => [child.element.name, partRender(child, renderOf)] as const)
  return (object, rest, names) => {
    const others = rest == null ? [] : new ValueReader(rest, names).members()
    const parts = object as Readonly<Record<string, Part>>
    const shredded = fields.flatMap(([name, render]) => {
      const json = render(parts[name] ?? {}, names)
      return json === undefined ? [] : [[name, json] as const]
    })
    return jsonObject([...shredded, ...others])
  }
}

function refuseBytes(): never {
  throw new Error('bytes in a VARIANT, which no column can hold')
}

function jsonArray(items: readonly string[]): string {
  return `[${items.join(',')}]`
}

function jsonObject(members: Members): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

/** The member names that the values of a cell refer to by index. */
function readNames(metadata: Uint8Array): readonly string[] {
  const bytes = new ByteSource(metadata)
  const header = bytes.unsigned(1)
  if ((header & 0x0f) !== 1) throw new Error(`a VARIANT of version ${header & 0x0f}`)
  const width = (header >> 6) + 1
  const ends = bytes.unsigneds(bytes.unsigned(width) + 1, width)
  const texts = bytes.rest()
  return ends.slice(1).map((end, i) => decodeCellText(texts.take(ends[i] ?? 0, end)))
}

/** Reads bytes with little-endian integers. */
class ByteSource {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The bytes between two offsets from the beginning. */
  take(from: number, to: number): Uint8Array {
    if (from > to || to > this.#bytes.length) throw new Error('a VARIANT that is damaged')
    return this.#bytes.subarray(from, to)
  }

  next(length: number): Uint8Array {
    this.#at += length
    return this.take(this.#at - length, this.#at)
  }

  rest(): ByteSource {
    return new ByteSource(this.#bytes.subarray(this.#at))
  }

  unsigned(width: number): number {
    return Number(this.integer(width, false))
  }

  unsigneds(count: number, width: number): readonly number[] {
    const source = new ByteSource(this.next(count * width))
    return Array.from({ length: count }, () => source.unsigned(width))
  }

  integer(width: number, isSigned = true): bigint {
    const hex = Buffer.from(this.next(width)).reverse().toString('hex')
    return isSigned ? BigInt.asIntN(8 * width, BigInt(`0x${hex}`)) : BigInt(`0x${hex}`)
  }

  float(width: 4 | 8): number {
    const bytes = Buffer.from(this.next(width))
    return width === 4 ? bytes.readFloatLE() : bytes.readDoubleLE()
  }
}

/** Reads one value with its members. */
class ValueReader {
  readonly #bytes: Uint8Array
  readonly #names: readonly string[]
  /** The number of values that may still be read: each value takes at least one byte. */
  #left: number

  constructor(bytes: Uint8Array, names: readonly string[]) {
    this.#bytes = bytes
    this.#names = names
    this.#left = bytes.length
  }

  read(): string {
    return this.#value(new ByteSource(this.#bytes), 0)
  }

  /** The members of an object. */
  members(): Members {
    const source = new ByteSource(this.#bytes)
    const header = source.unsigned(1)
    if ((header & 3) !== 2) throw new Error('a VARIANT whose shredded object has an invalid rest')
    return this.#members(source, header >> 2, 0)
  }

  #value(source: ByteSource, depth: number): string {
    if (this.#left-- <= 0 || depth > DEPTH_MAX) throw new Error('a VARIANT that is damaged')
    const header = source.unsigned(1)
    const low = header >> 2
    switch (header & 3) {
      case 0:
        return primitive(low, source)
      case 1:
        return JSON.stringify(decodeCellText(source.next(low)))
      case 2:
        return jsonObject(this.#members(source, low, depth))
      default: {
        const count = source.unsigned(low & 4 ? 4 : 1)
        return jsonArray(this.#values(source, count, (low & 3) + 1, depth))
      }
    }
  }

  #members(source: ByteSource, header: number, depth: number): Members {
    const count = source.unsigned(header & 16 ? 4 : 1)
    const ids = source.unsigneds(count, ((header >> 2) & 3) + 1)
    const values = this.#values(source, count, (header & 3) + 1, depth)
    return ids.map((id, i) => {
      const name = this.#names[id]
      if (name === undefined) throw new Error('a VARIANT that is damaged')
      return [name, values[i] ?? 'null']
    })
  }

  /** @param width - Bytes per offset. */
  #values(source: ByteSource, count: number, width: number, depth: number): readonly string[] {
    const offsets = source.unsigneds(count + 1, width)
    const values = source.rest()
    const end = offsets[count] ?? 0
    return offsets.slice(0, count).map((offset) => {
      return this.#value(new ByteSource(values.take(offset, end)), depth + 1)
    })
  }
}

/** @param type - The type number in the format. */
function primitive(type: number, source: ByteSource): string {
  switch (type) {
    case 0:
      return 'null'
    case 1:
    case 2:
      return String(type === 1)
    case 3:
    case 4:
    case 5:
    case 6:
      return String(source.integer(1 << (type - 3)))
    case 7:
      return renderPlainValue(source.float(8))
    case 8:
    case 9:
    case 10: {
      const scale = source.unsigned(1)
      return decimalText(source.integer(4 << (type - 8)), scale)
    }
    case 11:
      return JSON.stringify(dayText(Number(source.integer(4))))
    case 12:
    case 13:
      return JSON.stringify(momentText(source.integer(8), 6, type === 12 ? 'Z' : ''))
    case 14:
      return floatText(source.float(4))
    case 15:
      return refuseBytes()
    case 16:
      return JSON.stringify(decodeCellText(source.next(source.unsigned(4))))
    case 17:
      return JSON.stringify(momentText(source.integer(8), 6, '').replace(/^.*T/, ''))
    case 18:
    case 19:
      return JSON.stringify(momentText(source.integer(8), 9, type === 18 ? 'Z' : ''))
    case 20:
      return JSON.stringify(uuidText(source.next(16)))
    default:
      throw new Error(`a VARIANT with a value of type ${type}, which is not known`)
  }
}
