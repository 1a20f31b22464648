// Parquet values as text, with all digits.
import { DAY_MS } from '../command/command.js'

/** The JSON of a non-null value. @throws {Error} with a description of a value that no cell can hold */
export type Render = (value: unknown) => string

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The day that is a number of days since 1970. */
export function dayText(days: number): string {
  return isoText(days * DAY_MS).replace(/T.*$/, '')
}

/** A time since 1970 as text. @param digits - Number of fractional digits of a second. */
export function momentText(ticks: bigint, digits: number, zone: '' | 'Z'): string {
  const perSecond = 10n ** BigInt(digits)
  const fraction = ((ticks % perSecond) + perSecond) % perSecond
  const seconds = (ticks - fraction) / perSecond
  const text = isoText(Number(seconds) * 1_000).replace(/\.000Z$/, '')
  return `${text}${fraction === 0n ? '' : `.${String(fraction).padStart(digits, '0')}`}${zone}`
}

function isoText(ms: number): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) throw new Error('a time that is too far from 1970')
  return date.toISOString()
}

/** An integer stored as a number, or as bytes in big-endian two's complement. */
export function integerOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  const bits = BigInt(`0x0${Buffer.from(value).toString('hex')}`)
  return BigInt.asIntN(8 * value.length, bits)
}

export function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled)
    .replace('-', '')
    .padStart(scale + 1, '0')
  const point = digits.length - scale
  const fraction = scale > 0 ? `.${digits.slice(point)}` : ''
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`
}

/** The shortest decimal with the same 32-bit float. */
export function floatText(value: unknown): string {
  const float = Number(value)
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(float.toPrecision(digits))
    if (Math.fround(short) === float) return renderPlainValue(short)
  }
  return renderPlainValue(float)
}

export function decodeCellText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw new Error('bytes that are not UTF-8, which no column can hold')
  }
}

/** The key of a map, which becomes a member of an object. */
export function mapKeyOf(bytes: Uint8Array): string {
  const key = decodeCellText(bytes)
  if (key === '__proto__') throw new Error('a map has the key __proto__, which is not supported')
  return key
}

export function textOfJsonBytes(bytes: unknown): string {
  const text = decodeCellText(bytes as Uint8Array)
  try {
    JSON.parse(text)
  } catch {
    throw new Error('text that is not JSON')
  }
  return text
}

export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The JSON of a plain JavaScript value. */
export function renderPlainValue(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) {
    throw new Error('bytes, which no column can hold; to read them as UTF-8, use --binary text')
  }
  if (typeof value !== 'number') {
    return JSON.stringify(value, (_, cell) => (typeof cell === 'bigint' ? Number(cell) : cell))
  }
  if (Number.isFinite(value)) return String(Object.is(value, -0) ? 0 : value)
  return JSON.stringify(String(value)) // A table rejects it like any value that does not fit.
}
