// Goal: the checker finds each anomaly, and none in a correct history.
// Method: histories that are wrong on purpose, each in one way.
import { expect, test } from 'vitest'
import { checkHistory } from './check-history.js'
import {
  type FeedChange,
  type History,
  LAST_READER,
  type Operation,
  type Read,
  type Write,
} from './history.js'

/** Operations one after another, each taking 2 microseconds. */
function historyOf(operations: readonly Partial<Operation>[], feeds: readonly FeedChange[] = []) {
  const all = operations.map((given, at) => {
    const times = { from: 10 * at, to: 10 * at + 2 }
    const rest = { process: 'p', what: 'test', outcome: 'done', reads: [], writes: [] } as const
    return { id: `o${at}`, ...times, ...rest, ...given }
  })
  return { operations: all, feeds, tables: [{ table: 't', first: 0, last: 2 }], sum: 100 }
}

const read = (object: string, ...elements: string[]): Read => {
  return { object, length: elements.length, tail: elements }
}
const write = (object: string, ...elements: string[]): Write => ({ object, elements })
const namesOf = (history: History) => [...new Set(checkHistory(history).map(({ name }) => name))]

/** Concurrent with all others. */
const WIDE = { from: 0, to: 1_000 }

const first = { id: 'a', writes: [write('x', 'a.0')] }
const second = { id: 'b', reads: [read('x', 'a.0')], writes: [{ ...write('x', 'b.0'), length: 2 }] }

test('a history in an order that is that of real time has no anomaly', () => {
  const last = { id: 'c', reads: [read('x', 'a.0', 'b.0'), read('y')], sum: 100 }
  const change = { reader: 'f', table: 't', replaced: false }
  const rows = [{ id: '1', key: 'k', last: 'a.0' }]
  const feeds = [
    { ...change, version: 1, rows: [] },
    { ...change, version: 2, rows, author: 'a' },
  ]
  const pages = [{ table: 't', version: 2, text: 'k=a.0' }]

  expect(checkHistory(historyOf([first, second, last]))).toEqual([])
  expect(checkHistory(historyOf([first, second, { ...last, pages }], feeds))).toEqual([])
})

test('overlapping operations may be in any order, unknown ones may have happened or not, and a version may have an unknown author', () => {
  const unknown = {
    id: 'u',
    outcome: 'unknown',
    to: null,
    writes: [write('x', 'u.0'), write('y', 'u.1')],
  } as const
  const seen = [read('x', 'u.0'), read('y', 'u.1')]

  expect(checkHistory(historyOf([unknown, { reads: [read('x'), read('y')] }]))).toEqual([])
  expect(checkHistory(historyOf([unknown, { reads: seen }]))).toEqual([])
  expect(
    checkHistory(
      historyOf([
        { ...first, ...WIDE },
        { ...WIDE, reads: [read('x')] },
        { ...WIDE, reads: [read('x', 'a.0')] },
      ]),
    ),
  ).toEqual([])
  const versions = [1, 5].map((length) => ({
    writes: [{ object: 't versions', elements: [], length }],
  }))
  const late = { reads: [{ object: 't versions', length: 5, tail: [] }] }
  expect(checkHistory(historyOf([...versions, late]))).toEqual([])
})

const CASES: Readonly<Record<string, readonly Partial<Operation>[]>> = {
  'fork: a lost update': [
    { ...first, ...WIDE },
    { ...second, ...WIDE },
    { ...WIDE, id: 'c', reads: [read('x', 'a.0')], writes: [{ ...write('x', 'c.0'), length: 2 }] },
    { ...WIDE, reads: [read('x', 'a.0', 'c.0')] },
  ],
  'fork: two operations made one version': [1, 1].map((length) => {
    return { ...WIDE, writes: [{ object: 't versions', elements: [], length }] }
  }),
  'lost: an acknowledged write that nobody finds': [
    first,
    { id: 'c', writes: [write('y', 'c.0')] },
    { reads: [read('x', 'a.0'), read('y')] },
  ],
  'lost: a row that is not there': [{ reads: [{ object: 'x', length: -1, tail: [] }] }],
  'duplicate: an element twice': [first, { reads: [read('x', 'a.0', 'a.0')] }],
  'gap: an element that nobody saw': [
    first,
    { ...second, writes: [{ ...write('x', 'b.0'), length: 3 }] },
  ],
  'garbage read: an element that nobody wrote': [{ reads: [read('x', 'z.0')] }],
  'torn: half of what is unknown': [
    { id: 'u', outcome: 'unknown', to: null, writes: [write('x', 'u.0'), write('y', 'u.1')] },
    { reads: [read('x', 'u.0'), read('y')] },
  ],
  'G1a: a read of what was given up': [
    { ...first, outcome: 'unchanged' },
    { reads: [read('x', 'a.0')] },
  ],
  'G1b: a read in the middle of an operation': [
    { ...WIDE, id: 'a', writes: [write('x', 'a.0', 'a.1')] },
    { ...WIDE, reads: [read('x', 'a.0')] },
    { ...WIDE, reads: [read('x', 'a.0', 'a.1')] },
  ],
  'internal: a read of its own write before it': [{ ...first, reads: [read('x', 'a.0')] }],
  'G0: writes in two orders': [
    { ...WIDE, id: 'a', writes: [write('x', 'a.0'), write('y', 'a.1')] },
    { ...WIDE, id: 'b', writes: [write('x', 'b.0'), write('y', 'b.1')] },
    { ...WIDE, reads: [read('x', 'a.0', 'b.0')] },
    { ...WIDE, reads: [read('y', 'b.1', 'a.1')] },
  ],
  'G1c: each read what the other wrote': [
    { ...WIDE, id: 'a', writes: [write('x', 'a.0')], reads: [read('y', 'b.0')] },
    { ...WIDE, id: 'b', writes: [write('y', 'b.0')], reads: [read('x', 'a.0')] },
  ],
  'G-single: a read of two moments': [
    { ...WIDE, id: 'a', writes: [write('x', 'a.0'), write('y', 'a.1')] },
    { ...WIDE, reads: [read('x', 'a.0'), read('y')] },
    { ...WIDE, reads: [read('y', 'a.1')] },
  ],
  'G2: each read what the other overwrote, write skew': [
    { ...WIDE, id: 'a', writes: [write('x', 'a.0')], reads: [read('y')] },
    { ...WIDE, id: 'b', writes: [write('y', 'b.0')], reads: [read('x')] },
    { reads: [read('x', 'a.0'), read('y', 'b.0')] },
  ],
  'G0-realtime: a later write before an earlier one': [
    { id: 'a', writes: [write('x', 'a.0')] },
    { id: 'b', writes: [write('x', 'b.0')] },
    { reads: [read('x', 'b.0', 'a.0')] },
  ],
  'G1c-realtime: a read of what was written later': [{ reads: [read('x', 'a.0')] }, first],
  'G-single-realtime: a stale read': [first, { reads: [read('x')] }, { reads: [read('x', 'a.0')] }],
  'G2-realtime: a read of what one overwrote that had missed what ended before': [
    { id: 'a', from: 0, to: 5, writes: [write('y', 'a.0')] },
    { id: 'b', ...WIDE, reads: [read('y')], writes: [write('x', 'b.0')] },
    { id: 'c', from: 6, to: 9, reads: [read('x')] },
    { from: 1_001, to: 1_002, reads: [read('x', 'b.0'), read('y', 'a.0')] },
  ],
  'sum: money out of nothing': [{ sum: 101 }],
  'duplicate key: two rows of one key': [{ doubles: ['k'] }],
}

test.each(Object.entries(CASES))('%s', (title, operations) => {
  const [name = ''] = title.split(':')

  expect(namesOf(historyOf(operations))).toContain(name)
})

const told = (version: number, given: Partial<FeedChange> = {}): FeedChange => {
  return { reader: LAST_READER, table: 't', version, replaced: false, ...given }
}
const row = { id: '1', key: 'k', last: 'a.0' }

const FEEDS: Readonly<Record<string, readonly FeedChange[]>> = {
  'feed gap: between two versions': [told(1), told(3)],
  'feed gap: at the end': [told(1)],
  'feed repeat: a version again': [told(1), told(2), told(2)],
  'feed author: of somebody else': [told(1, { author: 'z' }), told(2)],
  'feed rows: a removed row that was not there': [
    told(1, { rows: [] }),
    told(2, { rows: [], removed: ['1'] }),
  ],
  'feed rows: others than a page showed': [told(1, { rows: [row] }), told(2, { rows: [] })],
  'duplicate key: two rows of one key': [
    told(1, { rows: [row, { ...row, id: '2' }] }),
    told(2, { rows: [] }),
  ],
}

test.each(Object.entries(FEEDS))('%s', (title, feeds) => {
  const [name = ''] = title.split(':')
  const writer = { writes: [{ object: 't versions', elements: [], length: 1 }] }
  const reader = { pages: [{ table: 't', version: 2, text: 'k=b.0' }] }

  expect(namesOf(historyOf([writer, reader], feeds))).toContain(name)
})
