// JSON whose numbers keep their digits: 34.50 stays 34.50, and integers beyond 2^53 stay exact.

/** A number that JavaScript cannot represent as written. */
export class Digits {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

type WithSource = Readonly<{ source?: string }>

/** JSON.parse, with `Digits` for numbers that JavaScript would write differently. Old browsers round these instead. */
export function parseJson(text: string): unknown {
  return JSON.parse(text, reviveNumber)
}

function reviveNumber(this: unknown, _key: string, value: unknown, context?: WithSource): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return new Digits(source)
}

/** JSON.stringify, for results of `parseJson`. @param indent - Spaces per level; 0: all on one line. */
export function jsonText(value: unknown, indent = 0, level = 0): string {
  if (value instanceof Digits) return value.text
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const parts = Array.isArray(value)
    ? value.map((item) => jsonText(item, indent, level + 1))
    : Object.entries(value).map(([name, item]) => {
        return `${JSON.stringify(name)}:${indent > 0 ? ' ' : ''}${jsonText(item, indent, level + 1)}`
      })
  if (parts.length === 0) return `${open}${close}`
  const gap = indent > 0 ? `\n${' '.repeat(indent * (level + 1))}` : ''
  const end = indent > 0 ? `\n${' '.repeat(indent * level)}` : ''
  return `${open}${gap}${parts.join(`,${gap}`)}${end}${close}`
}

/** Characters for which a CSV field is quoted, as in the store: some readers would strip spaces at its ends. */
const NEEDS_QUOTES = /[",\r\n]|^[\s\ufeff]|\s$/

/** One field of CSV. */
export function csvField(value: unknown): string {
  const text = plainText(value)
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A cell as text, in the form of an export. */
export function plainText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : jsonText(value)
}
