// The meaning of a caller's JavaScript value, in a cell and in a condition. The table in EMBEDDING.md, "JavaScript
// values", has the same rules.
import { JSON_DEPTH_MAX } from './limits.js'
import { isPlain, isRecord, tagOf, typeName } from './options.js'

/** The rule that a value without a meaning breaks. */
const OF_JSON = 'a value that JSON can represent'

/** The fault of a value that has no meaning as a cell: the value, as messages show it, and the rule that it breaks. */
export class ValueFault extends Error {
  readonly value: string
  readonly rule: string
  /** Names and indexes on the path to the value. */
  readonly path: (string | number)[] = []

  constructor(value: string, rule = OF_JSON, cause?: unknown) {
    super(`must be ${rule}, not ${value}`, { cause })
    this.value = value
    this.rule = rule
  }
}

type Plain = string | number | bigint | boolean | null | undefined | object

/**
 * What a value means in JSON: a primitive, an array, or an object of members. undefined: the value is absent.
 * @throws {ValueFault}
 */
export function plainValue(given: unknown): Plain {
  switch (typeof given) {
    case 'number':
      if (Number.isFinite(given)) return given
      throw new ValueFault(String(given), 'a finite number')
    case 'function':
    case 'symbol':
      throw new ValueFault(typeof given)
    case 'object':
      return given === null ? null : plainObject(given)
    default:
      return given as string | bigint | boolean | undefined
  }
}

function plainObject(given: object): Plain {
  try {
    const { toJSON } = given as { toJSON?: unknown }
    if (ArrayBuffer.isView(given)) throw new ValueFault(typeName(given))
    if (typeof toJSON === 'function') return checkJsonResult(given, toJSON.call(given, ''))
    if (Array.isArray(given) || isPlain(given)) return given
    const unwrap = WRAPPERS.get(tagOf(given))
    if (unwrap !== undefined) return plainValue(unwrap.call(given as never))
    if (isRecord(given)) return given
  } catch (cause) {
    throw cause instanceof ValueFault
      ? cause
      : new ValueFault('a value that cannot be read', OF_JSON, cause)
  }
  throw new ValueFault(typeName(given))
}

/**
 * Rejects a `toJSON` result of null or undefined, such as that of an invalid date, which must not become an empty
 * cell.
 */
function checkJsonResult(given: object, result: unknown): Plain {
  if (result === null || result === undefined) {
    const isDate = tagOf(given) === 'Date'
    throw new ValueFault(
      isDate ? 'an invalid Date' : `${typeName(given)} whose toJSON returns ${result}`,
    )
  }
  return typeof result === 'object' ? result : plainValue(result)
}

const WRAPPERS: ReadonlyMap<string, (this: never) => unknown> = new Map<string, () => unknown>([
  ['Number', Number.prototype.valueOf],
  ['String', String.prototype.valueOf],
  ['Boolean', Boolean.prototype.valueOf],
  ['BigInt', BigInt.prototype.valueOf],
])

/**
 * The JSON of a value, with all digits of a BigInt; undefined: absent.
 * @throws {ValueFault}
 */
export function plainJson(given: unknown, above: readonly object[] = []): string | undefined {
  const plain = plainValue(given)
  if (typeof plain === 'string') return JSON.stringify(plain)
  if (typeof plain !== 'object' || plain === null)
    return plain === undefined ? plain : String(plain)
  if (above.includes(plain)) throw new ValueFault('a value that contains itself')
  if (above.length === JSON_DEPTH_MAX)
    throw new ValueFault(`a value of more than ${JSON_DEPTH_MAX} levels`)
  return jsonOfMembers(plain, [...above, plain])
}

function jsonOfMembers(plain: object, above: readonly object[]): string {
  let at: string | number = 0
  const texts: string[] = []
  const add = (name: string, value: unknown): void => {
    const text = plainJson(value, above)
    if (text === undefined) throw new ValueFault('undefined')
    texts.push(name + text)
  }
  try {
    if (Array.isArray(plain)) {
      for (; at < plain.length; at++) add('', plain[at])
      return `[${texts.join()}]`
    }
    for (at of Object.keys(plain)) add(`${JSON.stringify(at)}:`, Reflect.get(plain, at))
    return `{${texts.join()}}`
  } catch (failure) {
    throw faultAt(at, failure)
  }
}

function faultAt(at: string | number, failure: unknown): ValueFault {
  const isFault = failure instanceof ValueFault
  const fault = isFault ? failure : new ValueFault('a value that cannot be read', OF_JSON, failure)
  fault.path.unshift(at)
  return fault
}

/** The token for a value to drop: an object, which no column accepts. */
function misfitOf(failure: unknown): string {
  return JSON.stringify({ 'no JSON': faultAt(0, failure).value })
}

/**
 * The JSON of a cell; null: empty; undefined: absent.
 * @param drops - Whether a value without a meaning becomes an object, which fits no column and is dropped.
 * @throws {ValueFault} unless `drops`
 */
export function cellToken(
  members: Readonly<Record<string, unknown>>,
  id: string,
  drops: boolean,
): string | null | undefined {
  try {
    const given = members[id]
    const token = typeof given === 'string' ? JSON.stringify(given) : plainJson(given)
    return token === 'null' ? null : token
  } catch (failure) {
    if (drops) return misfitOf(failure)
    throw faultAt(id, failure)
  }
}

/**
 * The members of a row, or of an update's cells; undefined: the value has no members, such as bytes, a Map or a Date.
 */
export function membersOf(row: unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const plain = plainValue(row)
    return isRecord(plain) ? plain : undefined
  } catch {
    return undefined
  }
}
