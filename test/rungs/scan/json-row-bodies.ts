// Bodies of rows for the byte scanner: from a grammar that is mostly JSON, from real files that are cut and changed at
// random, and in the style of common libraries.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../support/project.js'
import { mutate, type Seeded, seeded } from '../../support/seeded.js'

const KEYS = ['a', 'b', 'name', 'price', 'e-mail', 'größe', '東京', '', '$rowID', '0', '__proto__']
const ODD_KEYS = ['"\\u0061"', '"$stashID"', '"a\\n"', '"\\u0024rowID"', 'a', '"\n"', '"x']
const TEXTS = [
  'plain',
  'two words',
  '',
  'ann@example.com',
  'a..b@example.com',
  '.a@b.c',
  'ann@münchen.example',
  'x@-a.b',
  'https://www.example.org/a/b?c=d#e',
  'http://a--b.example/',
  'http://1.2.3.4/',
  'http://a.1/',
  'https://ex ample.org',
  'https://Example.org',
  'http://xn--a.b/',
  'http://a..b/c',
  'https:///x',
  'http://a.b:80/',
  'http://user@a.b/',
  'mailto:x',
  '2024-02-15',
  '2024-02-30',
  '2024-12-31',
  '2024-02-15T12:30:00Z',
  '2024-02-15T12:30:00.123Z',
  '2024-02-15T24:30:00Z',
  '2024-02-15 12:30',
  '12:30',
  'PT1H',
  '1:02:03',
  '+1 555 0100',
  '🚀',
  'żółw',
  '日本',
  'AAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAQ',
]
const ESCAPES = ['\\"', '\\\\', '\\n', '\\u00e9', '\\ud83d\\ude00', '\\ud800', '\\u0041', '\\/']
const NUMBERS = ['0', '1', '-1', '12.50', '1.0', '1e-05', '-2.5E+3', '1e400', '-0', '-0.0', '-0.5']
const ODD_NUMBERS = ['01', '1.', '.5', '-', '+1', '1e', '0x1', '1_0', 'NaN', '1'.repeat(320)]
const WORDS = ['true', 'false', 'null', 'null', 'true']
const ODD_WORDS = ['tru', 'True', 'nul', 'undefined', '']
const SPACES = ['', '', '', '', ' ', '  ', '\n', '\t', '\r\n', '\u00a0'] as const

/**
 * Texts of a column with one kind: most fit its rule, and the others break it in one place. Hosts and domains repeat,
 * also as the beginning of longer ones.
 */
export const FAMILIES: readonly (readonly string[])[] = [
  [
    'ann@example.com',
    'bob.b@example.com',
    'eve+x@example.com',
    'a@example.community',
    'a@example.com-',
    'a@example.com.',
    'a@example.com.au',
    'a@b',
    'z.@example.com',
    `${'l'.repeat(64)}@example.com`,
    `${'l'.repeat(65)}@example.com`,
    `a@${'d'.repeat(63)}.example.com`,
    `a@${'d'.repeat(64)}.example.com`,
    'a@example.com b',
    'a@example.com\u00e9',
  ],
  [
    'https://www.example.org/a',
    'https://www.example.org/',
    'https://www.example.org/a/b?c=d#e',
    'https://www.example.org',
    'https://www.example.organic/a',
    'https://www.example.org/a b',
    'https://www.example.org/<a>',
    'https://www.example.org/żółw',
    'http://a.b/c',
    'http://a.b',
    'http://a.b?c',
    'http://a.b:8/c',
    'http://1.2.3.4/c',
    'ftp://a.b/c',
    `https://${'h'.repeat(63)}.org/p`,
    `https://${'h'.repeat(64)}.org/p`,
  ],
  [
    '2024-01-31',
    '2024-04-31',
    '2023-02-28',
    '2024-02-29',
    '2023-02-29',
    '1999-12-31',
    '2024-13-01',
    '2024-00-10',
    '2024-10-00',
    '2024-10-1',
    '2024-10-011',
    '2024/10/01',
  ],
  [
    '2024-01-31T12:30:00Z',
    '2024-04-31T12:30:00Z',
    '2024-04-30 23:59:59',
    '2024-04-30T23:59:59.123Z',
    '2024-04-30T23:59:59.',
    '2024-04-30T23:59:60Z',
    '2024-04-30T24:59:59Z',
    '2024-04-30T23:59:59Zx',
    '2024-04-30T23:59:59+01:00',
    '2024-04-30',
  ],
  [
    '+1 555 0100',
    '555-0100',
    '(089) 1',
    '12',
    '1 2 3',
    '555 0100 x',
    '123456789012345678901',
    '2024-01-31',
  ],
]

type Style = Readonly<{
  space: () => string
  odd: number
  /** The sources of the columns' texts, by key. */
  textsOf: ReadonlyMap<string, readonly string[]>
}>

/** A body from the grammar. The larger `odd`, the rarer are deviations from JSON. */
export function grammarBody(seed: number): string {
  const random = seeded(seed)
  const spaced = random.once(3)
  const keys = Array.from({ length: 1 + random.below(5) }, () => random.pick(KEYS))
  const ruled = keys.filter(() => random.once(4))
  const textsOf = new Map(ruled.map((key) => [key, fewOf(random, random.pick(FAMILIES))]))
  const style: Style = { space: () => (spaced ? random.pick(SPACES) : ''), odd: 400, textsOf }
  const count = random.below(ruled.length > 0 ? 12 : 6)
  const rows = Array.from({ length: count }, () => anyRow(random, keys, style))
  return `${style.space()}[${style.space()}${rows.join(`${style.space()},${style.space()}`)}]`
}

/** Seldom without the closing quote, or with something else instead. */
function inQuotes(random: Seeded, text: string): string {
  const token = JSON.stringify(text)
  return random.once(100) ? token.slice(0, -1) + random.pick(['', ' ', 'x', '\n', ',"']) : token
}

/** A few of the texts, so that not every body spoils a column. */
function fewOf(random: Seeded, texts: readonly string[]): readonly string[] {
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(texts))
}

function anyRow(random: Seeded, keys: readonly string[], style: Style): string {
  if (random.once(style.odd)) return random.pick(['null', '[]', '1', '{', '{}}', ''])
  const { space } = style
  const used = keys.filter((key, at) => !random.once(4) && keys.indexOf(key) === at)
  if (random.once(60)) used.push(random.pick(keys)) // perhaps a duplicate key
  const members = used.map((key) => {
    const spelled = random.once(style.odd) ? random.pick(ODD_KEYS) : JSON.stringify(key)
    const texts = style.textsOf.get(key)
    const value =
      texts === undefined || random.once(30)
        ? anyValue(random, style, 0)
        : inQuotes(random, random.pick(texts))
    return `${spelled}${space()}:${space()}${value}`
  })
  return `{${space()}${members.join(`${space()},${space()}`)}${space()}}`
}

function anyValue(random: Seeded, style: Style, depth: number): string {
  switch (random.below(depth < 2 ? 12 : 10)) {
    case 0:
    case 1:
      return random.once(style.odd / 10) ? random.pick(ODD_NUMBERS) : random.pick(NUMBERS)
    case 2:
      return String(random.below(100_000) / random.pick([1, 10, 1000]))
    case 3:
      return random.once(style.odd / 10) ? random.pick(ODD_WORDS) : random.pick(WORDS)
    case 4:
      return `"${random.pick(TEXTS)}${random.pick(ESCAPES)}"`
    case 10:
    case 11:
      return random.once(12) ? anyRow(random, ['x', 'y'], style) : anyArray(random, style, depth)
    default:
      return JSON.stringify(random.pick(TEXTS))
  }
}

function anyArray(random: Seeded, style: Style, depth: number): string {
  const { space } = style
  const values = Array.from({ length: random.below(4) }, () => anyValue(random, style, depth + 1))
  return `[${space()}${values.join(`${space()},${space()}`)}${space()}]`
}

const DATA = join(ROOT, 'node_modules/vega-datasets/data')
const FILES = ['cars.json', 'movies.json', 'penguins.json', 'countries.json', 'monarchs.json']

/** Rows of real files. */
export function realRows(): readonly object[][] {
  return FILES.map((name) => JSON.parse(readFileSync(join(DATA, name), 'utf8')) as object[])
}

/** Some rows of a real file as bytes, with up to three bytes changed, removed or inserted. */
export function mutatedBody(seed: number, files: readonly object[][]): Uint8Array {
  const random = seeded(seed)
  const rows = random.pick(files)
  const first = random.below(rows.length)
  const some = rows.slice(first, first + 1 + random.below(4))
  const text = random.once(2) ? JSON.stringify(some) : asPython(some)
  let bytes = new TextEncoder().encode(text)
  for (let changes = random.below(4); changes > 0; changes--)
    bytes = mutate(random, bytes, NEAR_BYTES)
  return bytes
}

const NEAR_BYTES = [...'"\\{}[],: \n0159.eE+-tfnuax'].map((char) => char.charCodeAt(0))

/** In the style of Python's `json.dumps`: blanks, escapes for everything that is not ASCII, floats with a point. */
export function asPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asPython).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, cell]) => `${asPython(key)}: ${asPython(cell)}`,
    )
    return `{${members.join(', ')}}`
  }
  if (typeof value === 'number') return pythonNumber(value)
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped)
}

function pythonNumber(value: number): string {
  if (Number.isInteger(value)) return value % 3 === 0 ? `${value}.0` : String(value)
  if (Math.abs(value) >= 1e-4) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}
