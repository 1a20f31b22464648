import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import emojiRegex from 'emoji-regex'
import fc from 'fast-check'
// Not the runtime's Temporal: that of Node 26.10 accepts a unit twice, as in P1D1D.
import { Temporal } from 'temporal-polyfill/implementation'
import { describe, expect, it, test } from 'vitest'
import { ALL_KINDS, COLUMN_KINDS, KIND_BIT } from '../../../src/schema/column-kind.js'
import {
  isBooleanText,
  isFiniteToken,
  isLongInteger,
  isNumberToken,
  numberTokenOf,
  textKindMask,
} from '../../../src/schema/value-rules.js'
import { runOptions } from '../../support/fast-check-options.js'
import { nearText } from '../../support/near-text.js'
import { NUMBERS, type RuledKind, SAMPLES } from '../../support/value-samples.js'
import { textFits } from './text-fits.js'

const load = createRequire(import.meta.url)
const validator = load('validator') as {
  isEmail(text: string, options?: Readonly<Record<string, boolean>>): boolean
}
const isemail = load('isemail') as { validate(text: string): boolean }

const RULED_KINDS = Object.keys(SAMPLES) as RuledKind[]
const RANDOM_RUNS = 20_000

describe.each(RULED_KINDS)('a text of kind %s', (kind) => {
  it.each(SAMPLES[kind].fits)('may be %j', (text) => {
    expect(textFits(kind, text)).toBe(true)
  })
  it.each(SAMPLES[kind].misfits)('may not be %j', (text) => {
    expect(textFits(kind, text)).toBe(false)
  })
})

test('imageURI and audioURI take what uri takes', () => {
  for (const text of [...SAMPLES.uri.fits, ...SAMPLES.uri.misfits]) {
    expect(textFits('imageURI', text)).toBe(textFits('uri', text))
    expect(textFits('audioURI', text)).toBe(textFits('uri', text))
  }
})

test('string and markdown take any well-formed text and no other', () => {
  for (const text of ['', 'a', '\u0000', '😀', '12', '# title']) {
    expect(textFits('string', text)).toBe(true)
    expect(textFits('markdown', text)).toBe(true)
  }
  for (const kind of COLUMN_KINDS) expect(textFits(kind, 'a\ud800b')).toBe(false)
})

test('no text fits number or boolean as a JSON string', () => {
  for (const text of ['12', 'true', ' 1 ', 'false']) {
    expect(textFits('number', text)).toBe(false)
    expect(textFits('boolean', text)).toBe(false)
  }
})

test('a kind mask holds exactly the candidate kinds that the text fits', () => {
  const texts = RULED_KINDS.flatMap((kind) => [...SAMPLES[kind].fits, ...SAMPLES[kind].misfits])
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.nat(ALL_KINDS), (text, candidates) => {
      fc.pre(!/\p{Surrogate}/u.test(text))
      let expected = 0
      for (const kind of COLUMN_KINDS) if (textFits(kind, text)) expected |= KIND_BIT[kind]
      expect(textKindMask(text, candidates)).toBe(expected & candidates)
    }),
    runOptions(RANDOM_RUNS),
  )
})

describe('a number token', () => {
  it.each(NUMBERS.fits)('may be %j', (text) => {
    expect(numberTokenOf(text)).toBe(text)
  })
  it.each(NUMBERS.misfits)('may not be %j', (text) => {
    expect(numberTokenOf(text)).toBeUndefined()
  })

  it('may have spaces around it in CSV, and nothing else', () => {
    expect(numberTokenOf('  12 ')).toBe('12')
    for (const text of ['\t12', '12\n', '\u00a012', ' ', '1 2']) {
      expect(numberTokenOf(text)).toBeUndefined()
    }
    expect(isNumberToken(' 12')).toBe(false)
  })

  it('is what JSON.parse takes as a number', () => {
    const text = nearText([...NUMBERS.fits, ...NUMBERS.misfits], '0123456789+-.eE x')
    fc.assert(
      fc.property(text, (candidate) => {
        const parsed = parsedNumber(candidate)
        expect(isNumberToken(candidate)).toBe(parsed !== undefined)
        if (parsed !== undefined) expect(isFiniteToken(candidate)).toBe(Number.isFinite(parsed))
      }),
      runOptions(RANDOM_RUNS),
    )
  })

  it('is finite or not whatever its length', () => {
    expect(isFiniteToken('9'.repeat(308))).toBe(true)
    expect(isFiniteToken('9'.repeat(310))).toBe(false)
    expect(isFiniteToken(`0.${'0'.repeat(1_000)}1`)).toBe(true)
  })

  it('is a long integer from 16 digits on, without a point or an exponent', () => {
    for (const token of [
      '123456789012345',
      '-123456789012345',
      '0.30000000000000004',
      '-1.234567890123456e1',
      '1234567890123456.0',
      '1234567890123456E0',
    ]) {
      expect(isLongInteger(token)).toBe(false)
    }
    for (const token of ['1234567890123456', '1000000000000000', '-1000000000000000']) {
      expect(isLongInteger(token)).toBe(true)
    }
  })
})

test('true and false are booleans of CSV in any letter case, without spaces', () => {
  for (const text of ['true', 'TRUE', 'False', 'fAlSe']) expect(isBooleanText(text)).toBe(true)
  for (const text of ['', 't', 'yes', '1', ' true', 'true ', 'truee', 'ＴＲＵＥ']) {
    expect(isBooleanText(text)).toBe(false)
  }
})

/** A second implementation of each rule, as short as possible, at any cost. */
const NAIVE: Readonly<Record<RuledKind, (text: string) => boolean>> = {
  uri: (text) => {
    if ([...text].some((char) => /[\s<>"\\^`{|}]/.test(char) || isControl(char))) return false
    try {
      return new URL(text).href !== ''
    } catch {
      return false
    }
  },
  emailAddress: naiveEmail,
  phoneNumber: (text) => {
    const digits = text.replace(/[^0-9]/g, '').length
    const shape = /^[-0-9+.()/ ]*[0-9][-0-9+.()/ ]*((x|ext|#)[-0-9+.()/ ]*[0-9][-0-9+.()/ ]*)?$/i
    return digits >= 3 && digits <= 20 && shape.test(text)
  },
  emoji: (text) => text !== '' && text.replace(emojiRegex(), '') === '',
  date: naiveDate,
  time: (text) => NAIVE_TIME.test(text),
  dateTime: (text) => {
    const rest = text.slice(11)
    if (!naiveDate(text.slice(0, 10))) return false
    return text.length === 10 || (/[T ]/.test(text.charAt(10)) && NAIVE_TIME.test(rest))
  },
  duration: (text) => {
    if (/^-?[0-9]+:[0-5][0-9]:[0-5][0-9](\.[0-9]+)?$/.test(text)) return true
    const part = (unit: string) => `([0-9]+([.,][0-9]+)?${unit})?`
    const units = (names: string) => [...names].map(part).join('')
    const shape = new RegExp(`^[+-]?P(?=.)${units('YMWD')}(T(?=.)${units('HMS')})?$`)
    return shape.test(text) && !/[.,][0-9]+[A-Z]./.test(text)
  },
}

const NAIVE_TIME =
  /^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?$/

function naiveDate(text: string): boolean {
  const parts = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)
  if (parts === null) return false
  const day = new Date(0)
  day.setUTCFullYear(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]))
  return day.toISOString().startsWith(text)
}

function naiveEmail(text: string): boolean {
  const [local = '', domain = '', ...more] = text.split('@')
  if (more.length > 0 || text.length > 254 || local.length > 64) return false
  if (!local.split('.').every((atom) => /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$/i.test(atom))) return false
  const ascii = [...domain].filter((char) => char <= '\x7f').join('')
  const isWide = ascii.length < domain.length
  if (isWide && !/^[a-z0-9.-]*$/i.test(ascii)) return false
  const labels = (isWide ? domainToASCII(domain) : domain).split('.')
  return labels.every(
    (label) => label.length < 64 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(label),
  )
}

function isControl(char: string): boolean {
  const code = char.charCodeAt(0)
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}

function parsedNumber(text: string): number | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'number' && text === text.trim() ? value : undefined
  } catch {
    return undefined
  }
}

const ALPHABETS: Readonly<Record<RuledKind, string>> = {
  uri: 'abhtps:/?#@.%[]1é\u00ad例 \n\t<>"\\^`{|}\u0085\u2028',
  emailAddress: "abz019.-_+@'é例．。\u200d ßA/:?#[]%",
  phoneNumber: '0123456789+-.()/ xXeEtT#a',
  emoji: '😀❤👍🏽👩🚀🇩🇪🏴1#*a \u200d\ufe0f\u20e3\u{e0067}\u{e007f}©',
  date: '0123456789-/T ',
  time: '0123456789:.Z+- ',
  dateTime: '0123456789-:.TZ+ ',
  duration: 'PTYMWDHS0123456789.,:+-',
}

test.each(RULED_KINDS)('a second implementation agrees on random texts about %s', (kind) => {
  const { fits, misfits } = SAMPLES[kind]
  fc.assert(
    fc.property(nearText([...fits, ...misfits], ALPHABETS[kind]), (text) => {
      fc.pre(!/\p{Surrogate}/u.test(text))
      expect(textFits(kind, text)).toBe(NAIVE[kind](text))
    }),
    runOptions(RANDOM_RUNS),
  )
})

test('every sequence that Unicode recommends is an emoji', () => {
  const flags = 'v' // not a literal, because our compile target does not have the flag yet
  const recommended = new RegExp('^\\p{RGI_Emoji}+$', flags)
  fc.assert(
    fc.property(nearText(SAMPLES.emoji.fits, ALPHABETS.emoji), (text) => {
      if (recommended.test(text)) expect(textFits('emoji', text)).toBe(true)
    }),
    runOptions(RANDOM_RUNS),
  )
})

function temporalTakes(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}

test('Temporal agrees about every text that has the shape of a date', () => {
  const digits = (count: number) =>
    fc.nat(10 ** count - 1).map((value) => String(value).padStart(count, '0'))
  const shaped = fc.tuple(digits(4), fc.nat(14), fc.nat(33)).map(([year, month, day]) => {
    return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
  })
  fc.assert(
    fc.property(shaped, (text) => {
      expect(textFits('date', text)).toBe(temporalTakes(() => Temporal.PlainDate.from(text)))
    }),
    runOptions(RANDOM_RUNS),
  )
})

test('Temporal agrees about ISO durations, apart from what it leaves out', () => {
  const { fits, misfits } = SAMPLES.duration
  // Temporal accepts lower case, and fractions only of time units, with up to 9 digits. Its years, months and weeks end
  // at 2^32.
  const isLeftOut = (text: string) => /[a-z]|^[^T]*[.,]|[0-9]{8}/.test(text)
  fc.assert(
    fc.property(nearText([...fits, ...misfits], ALPHABETS.duration), (text) => {
      fc.pre(text.includes('P') && !isLeftOut(text))
      expect(textFits('duration', text)).toBe(temporalTakes(() => Temporal.Duration.from(text)))
    }),
    runOptions(RANDOM_RUNS),
  )
})

test('validator and isemail take every e-mail address we take, apart from the known differences', () => {
  // validator refuses domains that end in a label of digits. Both accept other letters in a domain than IDNA does, so
  // wide domains are only tested in the table above.
  const isWide = (text: string) => /[^\0-\x7f]/.test(text)
  const { fits, misfits } = SAMPLES.emailAddress
  const options = { require_tld: false, allow_underscores: false }
  fc.assert(
    fc.property(nearText([...fits, ...misfits], ALPHABETS.emailAddress), (text) => {
      fc.pre(!isWide(text) && textFits('emailAddress', text))
      expect(isemail.validate(text)).toBe(true)
      if (!/(^|[@.])[0-9]+$/.test(text)) expect(validator.isEmail(text, options)).toBe(true)
    }),
    runOptions(RANDOM_RUNS / 4),
  )
})

test.each([
  ['"a b"@example.com', 'a quoted local part'],
  ['a@[127.0.0.1]', 'an address literal'],
  ['é@example.com', 'a local part beyond ASCII'],
])('%s (%s) is taken by an oracle but is no e-mail address of the HTML standard', (text) => {
  expect(validator.isEmail(text) || isemail.validate(text)).toBe(true)
  expect(textFits('emailAddress', text)).toBe(false)
})

test('a URI beyond ASCII fits however often it was checked before', () => {
  // In Node 20 and 22, `URL.canParse` wrongly returns false for it after some 5,000 calls.
  for (let call = 0; call < 20_000; call++) {
    if (!textFits('uri', 'https://münchen.example/')) expect.fail(`refused at call ${call}`)
  }
})

test('a host of more than 512 characters does not fit, a long path or user does', () => {
  const long = 'a.'.repeat(300)
  expect(textFits('uri', `https://${long}de/`)).toBe(false)
  expect(textFits('uri', `https:${long}de/`)).toBe(false)
  expect(textFits('uri', `file://${long}de/`)).toBe(false)
  expect(textFits('uri', `https://example.com/${long}`)).toBe(true)
  expect(textFits('uri', `https://${long}@example.com`)).toBe(true)
  expect(textFits('uri', `file:///${long}`)).toBe(true)
  expect(textFits('uri', `data:,${long}`)).toBe(true)
})

test('a host beyond ASCII of more than 253 characters does not fit, without its user and port', () => {
  const [long, longer] = ['ü'.repeat(253), 'ü'.repeat(254)]
  for (const scheme of ['https://', 'ws:', 'file://']) {
    expect(textFits('uri', `${scheme}${long}/`)).toBe(true)
    expect(textFits('uri', `${scheme}${longer}/`)).toBe(false)
    expect(textFits('uri', `${scheme}${'\u{1d482}'.repeat(127)}/`)).toBe(false) // 254 UTF-16 units.
  }
  expect(textFits('uri', `https://${longer}@${long}:65535/${longer}?${longer}#${longer}`)).toBe(
    true,
  )
  expect(textFits('uri', `https://${'a'.repeat(400)}/${longer}`)).toBe(true)
  expect(textFits('uri', `urn:${longer}`)).toBe(true)
})

/** Texts that make a careless rule backtrack: a start, a repeated part, an end. */
const ADVERSARIAL: Readonly<Record<RuledKind, readonly (readonly [string, string, string])[]>> = {
  uri: [
    ['http://', 'é', ''],
    ['http://', '\u4e00\u4e01\u4e8c', '/'],
    ['http://a', '\u0301\u0323', ''],
    ['http:', '/', ''],
    ['a', 'a', ''],
    ['http://', '%C3%A9', ''],
    ['http://', 'a@', 'é'],
    ['http://a/', '../', ' '],
    ['http://', 'xn--', ''],
    ['http://x@', '\u4e00\u4e01', '?'],
    ['data:,', 'é', '<'],
    ['file://', 'é', ''],
    ['http://', '\ufdfa', ''],
  ],
  emailAddress: [
    ['', 'a', '@'],
    ['a@', 'a', '!'],
    ['a@', 'a.', ''],
    ['a@', 'a-', ''],
    ['', 'a.', '@b'],
    ['a@', 'é', ''],
    ['a@', '\ufdfa', ''],
  ],
  phoneNumber: [
    ['', '1', ''],
    ['', '-', ''],
    ['1', 'x', ''],
    ['123', ' ', 'x'],
    ['1', '(', '1'],
  ],
  emoji: [
    ['', '😀', ' '],
    ['', '👩\u200d', ''],
    ['', '👩🏽\u200d🚀', 'x'],
    ['', '🇩', ''],
    ['🏴', '\u{e0067}', ''],
    ['', '1\ufe0f\u20e3', '1'],
    ['❤', '\ufe0f', ''],
  ],
  date: [
    ['', '2', ''],
    ['2024-01-', '0', '1'],
    ['', '2024-01-01', ''],
  ],
  time: [
    ['12:30:15.', '0', '!'],
    ['12:30:15.', '9', 'Z'],
    ['', '12:', ''],
  ],
  dateTime: [
    ['2024-01-01T12:30:15.', '0', '!'],
    ['2024-01-01', ' ', '12:30'],
    ['2024-01-01T', '12:', ''],
  ],
  duration: [
    ['P', '1', ''],
    ['P1', '0', 'D'],
    ['PT0.', '0', 'X'],
    ['P', '1Y', ''],
    ['', '1', ':00:00'],
    ['', '0:', ''],
    ['0:00:00.', '0', 'x'],
    ['P', 'T', ''],
  ],
}

/** CPU time, which a busy machine does not increase; the least of three runs. */
function shortestMs(run: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const before = process.cpuUsage()
    run()
    return process.cpuUsage(before).user / 1_000
  })
  return Math.min(...times)
}

describe('a check takes time linear in the text', () => {
  const LENGTHS = [100, 1_000, 10_000, 100_000]
  const TIME_MS_MAX = 200 // A quadratic rule takes seconds for the longest of them.

  it.each(RULED_KINDS)('of kind %s', (kind) => {
    for (const [start, part, end] of ADVERSARIAL[kind]) {
      for (const length of LENGTHS) {
        const text = start + part.repeat(Math.ceil(length / part.length)) + end
        expect(shortestMs(() => textFits(kind, text))).toBeLessThan(TIME_MS_MAX)
      }
    }
  })

  it('of a number', () => {
    for (const text of [
      '1'.repeat(100_000),
      `1e${'0'.repeat(100_000)}x`,
      `${' '.repeat(100_000)}x`,
    ]) {
      expect(shortestMs(() => numberTokenOf(text))).toBeLessThan(TIME_MS_MAX)
    }
  })
})
