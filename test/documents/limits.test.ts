// Goal: LIMITS.md lists every numeric option once, with the default and range of the code.
import { expect, test } from 'vitest'
import { CONNECTION_LIMITS } from '../../adapters/http/connections.js'
import type { IntegerRange } from '../../src/base/options.js'
import { CONTRACT_LIMITS } from '../../src/contract/memory/contract-limits.js'
import { MAINTENANCE_LIMITS, STORE_LIMITS } from '../../src/engine/arguments/resolve-options.js'
import { readText } from '../support/project.js'

const KIB = 1024
const BYTES = { TiB: KIB ** 4, GiB: KIB ** 3, MiB: KIB ** 2, KiB: KIB, bytes: 1 }
const SECOND = 1_000
const TIMES = {
  days: 86_400 * SECOND,
  hours: 3_600 * SECOND,
  minutes: 60 * SECOND,
  seconds: SECOND,
  ms: 1,
}

/** A value as the page writes it, in the largest unit that makes it an integer. */
function rendered(name: string, value: number): string {
  if (value === Number.MAX_SAFE_INTEGER) return '2^53 - 1'
  const units = /Bytes/.test(name) ? BYTES : /Ms(?:Max)?$/.test(name) ? TIMES : { '': 1 }
  if (value === 0) return '0'
  const [unit = '', size = 1] = Object.entries(units).find(([, of]) => value % of === 0) ?? []
  const count = value / size
  const word = count === 1 ? unit.replace(/(?<=\w{3})s$/, '') : unit
  return `${count.toLocaleString('en-US')} ${word}`.trim()
}

test('LIMITS.md has every limit with its default and its range', () => {
  const ranges: Readonly<Record<string, IntegerRange>> = {
    ...CONTRACT_LIMITS,
    ...CONNECTION_LIMITS,
    ...STORE_LIMITS,
    ...MAINTENANCE_LIMITS,
  }
  const expected = Object.entries(ranges).map(([name, { default: usual, min, max }]) => [
    name,
    rendered(name, usual),
    `${rendered(name, min)} to ${rendered(name, max)}`,
  ])
  const rows = readText('src/guides/LIMITS.md').matchAll(
    /^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|(?: [^|]+ \|)?$/gm,
  )
  const listed = [...rows].map(([, name, usual, range]) => [name, usual, range])

  expect(listed.sort()).toEqual(expected.sort())
})

/** The part of a docstring that states a value: `48 hours`, `4 MiB`, `2^53 - 1`. */
const VALUE =
  /(2\^53 - 1|\d[\d,]*)(?: (TiB|GiB|MiB|KiB|bytes?|days?|hours?|minutes?|seconds?|ms)\b)?/

function parsedValue(text: string): number {
  const [, digits = '', unit = ''] = VALUE.exec(text) ?? []
  if (digits.includes('^')) return Number.MAX_SAFE_INTEGER
  const sizes: Readonly<Record<string, number>> = { ...BYTES, ...TIMES }
  return Number(digits.replaceAll(',', '')) * (sizes[unit] ?? sizes[`${unit}s`] ?? 1)
}

const OPTIONS = [
  'src/engine/types/store-options.ts',
  'src/contract/memory/contract-limits.ts',
  'adapters/http/connections.ts',
]

/** Unset differs from 0: existing history remains. */
const NO_DEFAULT = ['historyRetentionMs']

test('the docstring of each limit has its default and its range', () => {
  const docs = OPTIONS.flatMap((path) => {
    const found = readText(path).matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+readonly (\w+)\?:/g)
    return [...found].map(([, text = '', name = '']) => ({
      name,
      text: text.replace(/\s+(?:\* )?/g, ' '),
    }))
  })
  const ranges = {
    ...CONTRACT_LIMITS,
    ...CONNECTION_LIMITS,
    ...STORE_LIMITS,
    ...MAINTENANCE_LIMITS,
  }
  const said = Object.keys(ranges).map((name) => {
    const text = docs.find((doc) => doc.name === name)?.text ?? ''
    const [, usual = ''] = new RegExp(`Default: (${VALUE.source})`).exec(text) ?? []
    const [, min = '', , , max = ''] =
      new RegExp(`Range: (${VALUE.source}) to (${VALUE.source})`).exec(text) ?? []
    return [
      name,
      NO_DEFAULT.includes(name) ? 0 : parsedValue(usual),
      parsedValue(min),
      parsedValue(max),
    ]
  })
  const known = Object.entries<IntegerRange>(ranges)

  expect(said).toEqual(known.map(([name, { default: usual, min, max }]) => [name, usual, min, max]))
})
