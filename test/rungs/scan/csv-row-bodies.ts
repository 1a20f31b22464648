// CSV and TSV bodies for the byte scanner: from a grammar that is mostly well-formed, and from real files that are cut
// and changed at random.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../support/project.js'
import { mutate, type Seeded, seeded } from '../../support/seeded.js'
import { FAMILIES } from './json-row-bodies.js'

export type Delimiter = ',' | '\t'
export type CsvBody = Readonly<{ bytes: Uint8Array; delimiter: Delimiter }>

const IDS = [
  'a',
  'b',
  'name',
  'größe',
  '東京',
  '$rowID',
  '0',
  '__proto__',
  ' a ',
  'a"b',
  'a,b',
  '🚀',
  'cr\r\nlf',
]
const ODD_IDS = ['', '$stashID', 'a', 'x'.repeat(257), 'line\nbreak', 'cr\r', '\u0000', '\\']

/** Fields that mostly stand in one column, so that columns of numbers, days and so on occur. */
const FIELDS: readonly (readonly string[])[] = [
  ...FAMILIES,
  ['0', '1', '-1', '12.50', '1.0', '100', '007', '12345', '-0.5', '99999', '1234567890123456'],
  ['123', '45678', '0.000', '-0', '-0.0', '0.1234567890123456', '00', '123456789012345.0', '1e5'],
  ['0.30000000000000004', '1234567890123456.0', '-1234567890123456', '123456789012345', '0.5'],
  ['1e-05', '-2.5E+3', '1e400', '-0e1', '+1', '.5', '1.', '-', '1_0', '0x1', '1'.repeat(320)],
  ['true', 'false', 'true', 'false', 'true', 'TRUE', 'False', 'truE', 'tru', 'falsee', 'trüe'],
  ['ann@example.com', 'bob.x@a-b.example', 'a..b@example.com', '.a@b.c', 'x@-a.b', 'a@münchen.de'],
  ['https://www.example.org/a?b=c#d', 'http://a--b.example/', 'http://a.1/', 'mailto:x', 'http:'],
  ['https://ex ample.org', 'https://Example.org', 'http://xn--a.b/', 'https://münchen.example'],
  [
    '2024-02-15',
    '2024-02-28',
    '2024-02-30',
    '2024-04-30',
    '2024-04-31',
    '2024-12-31',
    '0000-01-01',
  ],
  ['2024-02-15T12:30:00Z', '2024-02-15 12:30:00.5', '2024-02-15T24:30:00Z', '2024-02-15T12:30'],
  ['12:30', '1:02:03', 'PT1H', '12:30:59.5+01:00', 'P1D', '-1:00:00', '7', '1.5'],
  [
    '+1 555 0100',
    '555-0100',
    '(555) 01.00',
    '12',
    '1'.repeat(21),
    '555 x12',
    '2012/01/01',
    '1-2-3',
  ],
  ['["a","b"]', '[]', '[1,2]', '[ "x" ]', ' ["a"]', '["a"', '[null]', '["\\u0041"]', '[true]'],
  [
    '["a@b.c"]',
    '["2024-02-15"]',
    '[-0]',
    '[1e5]',
    '["\\ud800"]',
    '[[1]]',
    '["x"] ',
    '\n["a"]',
    '["a",1]',
    '[',
  ],
  ['🚀', '日本', 'żółw', 'plain', 'two words', ' 12', '12 ', '  ', '\u00a012', '\ufeff', '\u2028'],
  [
    'a\\b',
    'say "hi"',
    'a\nb',
    'a\r\nb',
    'a\rb',
    'x,y',
    'x\ty',
    '\u0000',
    '\u0001\u001f',
    '"',
    '\u007f',
  ],
  ['AAAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAAAQ', 'AAAAAAAAAAAAAAAAAAAABA', 'AAAA'],
]

const LINE_BREAKS = ['\n', '\r\n', '\r'] as const
const ODD_FIELDS = ['"x"y', 'x"y', ' "x"', '"x" ', '"x', '"', '"""', '"x"\u0000', 'x""y', '""x""']

/** One field or record in this number breaks the rules of CSV. */
const ODD = 60

/** A body from the grammar. */
export function grammarBody(seed: number): CsvBody {
  const random = seeded(seed)
  const delimiter = random.once(3) ? '\t' : ','
  const usual = random.pick(LINE_BREAKS)
  const mixed = random.once(6)
  const lineBreak = (): string => (mixed ? random.pick(LINE_BREAKS) : usual)
  const quoteAll = random.once(8)
  const spell = (text: string): string => {
    if (random.once(ODD)) return random.pick(ODD_FIELDS)
    return spellField(text, delimiter, quoteAll || random.once(12))
  }
  const ids = anyHeader(random)
  const kinds = ids.map((id) => (id === '$rowID' ? FIELDS.length - 1 : random.below(FIELDS.length)))
  let text = (random.once(12) ? '\ufeff' : '') + ids.map(spell).join(delimiter)
  for (let rows = random.below(6); rows > 0; rows--) {
    text += lineBreak() + anyRecord(random, kinds).map(spell).join(delimiter)
  }
  for (let breaks = random.below(3); breaks > 0; breaks--) text += lineBreak()
  return { bytes: new TextEncoder().encode(text), delimiter }
}

function anyHeader(random: Seeded): string[] {
  const ids = Array.from({ length: 1 + random.below(5) }, () => random.pick(IDS))
  const unique = ids.filter((id, at) => ids.indexOf(id) === at)
  if (random.once(30)) unique.push(random.pick(ODD_IDS))
  return unique
}

/** A record: mostly as long as the header, with empty fields; sometimes an empty line. */
function anyRecord(random: Seeded, kinds: readonly number[]): string[] {
  if (random.once(20)) return ['']
  const fields = kinds.map((kind) => {
    if (random.once(6)) return ''
    return random.pick(FIELDS[random.once(15) ? random.below(FIELDS.length) : kind] ?? [])
  })
  if (random.once(10)) return fields.slice(0, 1 + random.below(fields.length))
  return random.once(ODD) ? [...fields, ''] : fields
}

function spellField(text: string, delimiter: Delimiter, isQuoted: boolean): string {
  const mustQuote = text.includes(delimiter) || /["\r\n]/.test(text)
  return isQuoted || mustQuote ? `"${text.replaceAll('"', '""')}"` : text
}

const DATA = join(ROOT, 'node_modules/vega-datasets/data')
const FILES = [
  'airports.csv',
  'co2-concentration.csv',
  'disasters.csv',
  'gapminder-health-income.csv',
  'github.csv',
  'global-temp.csv',
  'la-riots.csv',
  'population_engineers_hurricanes.csv',
  'seattle-weather.csv',
  'sp500.csv',
  'stocks.csv',
  'unemployment.tsv',
  'us-employment.csv',
  'weather.csv',
  'windvectors.csv',
]

export type RealFile = Readonly<{ name: string; bytes: Uint8Array; delimiter: Delimiter }>

export function realFiles(): readonly RealFile[] {
  return FILES.map((name) => {
    const delimiter = name.endsWith('.tsv') ? '\t' : ','
    return { name, bytes: new Uint8Array(readFileSync(join(DATA, name))), delimiter }
  })
}

export type RealLines = Readonly<{ lines: readonly string[]; delimiter: Delimiter }>

export function realLines(): readonly RealLines[] {
  return realFiles().map(({ bytes, delimiter }) => {
    return { lines: new TextDecoder().decode(bytes).split(/(?<=\n)/), delimiter }
  })
}

/** The header and some lines of a real file, with up to three bytes changed, removed or inserted. */
export function mutatedBody(seed: number, files: readonly RealLines[]): CsvBody {
  const random = seeded(seed)
  const { lines, delimiter } = random.pick(files)
  const first = 1 + random.below(lines.length - 1)
  const some = lines.slice(first, first + 1 + random.below(3))
  let bytes = new TextEncoder().encode(`${lines[0]}${some.join('')}`)
  for (let changes = random.below(4); changes > 0; changes--)
    bytes = mutate(random, bytes, NEAR_BYTES)
  return { bytes, delimiter }
}

const NEAR_BYTES = [...'""\n\r,,\t \\-0159.eE+Ttf['].map((char) => char.charCodeAt(0))
