// When the join of a merge keeps the index of its input, which takes most of its memory.
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { freeLargeArray } from '../../../src/base/platform.js'
import { SliceTurns } from '../../../src/base/time-slices.js'
import { resolveStoreOptions } from '../../../src/engine/arguments/resolve-options.js'
import { HashTable } from '../../../src/engine/merge/hash-table.js'
import type { IncomingRows } from '../../../src/engine/merge/incoming-rows.js'
import { NO_PARTNER, partnerOf } from '../../../src/engine/merge/joined-extent.js'
import type { JoinParts } from '../../../src/engine/merge/ordered-join.js'
import { packTexts } from '../../../src/engine/merge/packed-texts.js'
import { TableJoin } from '../../../src/engine/merge/table-join.js'
import type { TableRows } from '../../../src/engine/merge/table-rows.js'
import type { Generation } from '../../../src/format/records.js'
import { FINGERPRINT } from '../../../src/format/row-fingerprint.js'
import { seeded } from '../../support/seeded.js'

const NONCE = new Uint8Array(8)

/** The input, not in key order. */
const INPUT = ['"k":"b","n":1', '"k":"a","n":1', '"k":"c","n":1']

/** A table of one extent, and a record of the reads of both sides. */
function world(): { join: TableJoin; table: string[]; change: () => void; reads: string[] } {
  const table = ['"k":"a","n":1', '"k":"b","n":2', '"k":"d","n":1']
  const reads: string[] = []
  let changes = 0
  const generation = { nonce: NONCE, firstExtent: 0, nextExtent: 1 } as unknown as Generation
  const signature = (): string => `of ${changes} changes`
  const rows = {
    signatures: async () => ({ head: { generation }, extents: new Map([[0, signature()]]) }),
    see: async () => {
      const entry = { segment: null, compacted: true }
      const records = new Map()
      const rowCount = table.length
      const seen = { extent: 0, nonce: NONCE, rowCount, entry, records, signature: signature() }
      return { generation, extents: [seen], next: 1 }
    },
    converts: () => false,
    wasConverted: () => false,
    shownIn: async () => (text: string) => text,
    laid: () => [],
    async *stored() {
      reads.push('table')
      yield { pieces: [packTexts(table, 0)], shows: () => true }
    },
    async *inOrder() {
      reads.push('table in order')
      yield [packTexts(table, 0)]
    },
  }
  const incoming = {
    count: INPUT.length,
    async *pieces() {
      reads.push('input')
      yield [packTexts(INPUT, 0)]
    },
  }
  const parts = {
    place: { team: { options: resolveStoreOptions({}), slices: new SliceTurns(systemClock) } },
    rules: { key: ['k'], inputColumns: new Set(['k', 'n']) },
    incoming: incoming as unknown as IncomingRows,
    rows: rows as unknown as TableRows,
    checkGoesOn: () => undefined,
    merge: () => null,
  } as unknown as JoinParts
  const change = (): void => {
    changes++
  }
  return { join: new TableJoin(parts, false), table, change, reads }
}

function partners(join: TableJoin): number[] {
  return [...join.extents.values()].flatMap(({ partners }) => [...partners].map(partnerOf))
}

describe('the index of the input', () => {
  test('is made anew after the first change of a table that was joined, and kept after others', async () => {
    const { join, table, change, reads } = world()
    const settle = async (): Promise<string[]> => {
      reads.length = 0
      expect(await join.settle()).not.toBeNull()
      return [...reads]
    }

    expect(await settle()).toEqual(['input', 'input', 'table']) // the unordered first rows, then all
    expect(partners(join)).toEqual([1, 0, NO_PARTNER])
    expect(await settle()).toEqual([])
    change()
    table[2] = '"k":"c","n":1'
    expect(await settle()).toEqual(['input', 'table'])
    expect(partners(join)).toEqual([1, 0, 2])
    change()
    table[0] = '"k":"e","n":1'
    expect(await settle()).toEqual(['table'])
    expect(partners(join)).toEqual([NO_PARTNER, 0, 2])
  })
})

test('a freed large array has no memory', () => {
  const array = new Uint32Array(1_000)
  freeLargeArray(array)
  expect(array.buffer.byteLength).toBe(0)
})

test('fingerprints are found in an index that grows and is full up to its end', () => {
  const random = seeded(11)
  const index = new HashTable(10)
  const known = new Map<string, number>()
  const words = new Uint32Array(FINGERPRINT.words)
  for (let row = 0; row < 5_000; row++) {
    // Many hashes belong to the last slots, and continue in the first ones.
    const first = random.once(2) ? 2 ** 32 - 1 - random.below(50) : random.below(2 ** 32)
    words.set([first, random.below(3), random.below(3), 0, row, 7])
    const name = words.subarray(0, 3).join()
    index.touch(words, 1)
    expect(index.find(words, 0) >= 0).toBe(known.has(name))
    expect(index.add(words, 0, row)).toBe(known.get(name) ?? -1)
    if (!known.has(name)) known.set(name, row)
  }
  for (const [name, row] of known) {
    words.set([...name.split(',').map(Number), 0, row, 7])
    const entry = index.find(words, 0)
    expect([index.rowOf(entry), index.hasText(entry, words, 0)]).toEqual([row, true])
    words[FINGERPRINT.text] = row + 1
    expect(index.hasText(entry, words, 0)).toBe(false)
  }
})
