// Many clients that put chunks again, as after a broken import: each chunk is stored, and no client blocks another.

import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'

const CHUNKS = 8
const PUTS_OF_CHUNK = 5

/** A store, and the number of its refused commits. */
async function openCounted() {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const kv = await openLevelKv(database)
  const refusals = { count: 0 }
  const counted: KvStore = {
    shared: false,
    partition(name) {
      const partition = kv.partition(name)
      return {
        read: (use) => partition.read(use),
        deleteRange: (range, count) => partition.deleteRange(range, count),
        async commit(commit) {
          const result = await partition.commit(commit)
          if (!result.ok) refusals.count++
          return result
        },
      }
    },
    close: () => kv.close(),
  }
  const store = await openStore({
    kv: counted,
    objects: memoryObjects(),
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
  })
  onTestFinished(() => store.close())
  return { team: store.team('t'), refusals }
}

describe('chunks that many clients put again at once', () => {
  test('are all stored, and no put refuses another', async () => {
    const { team, refusals } = await openCounted()
    const stash = team.stash('s')
    const put = (serial: number, round: number) => stash.put(serial, [{ serial, round }])
    const serials = Array.from({ length: CHUNKS }, (_, serial) => serial)
    await Promise.all(serials.map((serial) => put(serial, 0)))
    refusals.count = 0 // The first puts of a stash create its head, and refuse each other.

    const rounds = Array.from({ length: PUTS_OF_CHUNK }, (_, at) => at + 1)
    await Promise.all(rounds.flatMap((round) => serials.map((serial) => put(serial, round))))

    expect(refusals.count).toBe(0)
    const { tableId } = await team.createTable({ name: 'x', rows: stash })
    const { rows } = await team.table(tableId).page()
    expect(rows.map((row) => row['serial'])).toEqual(serials)
    expect(rows.every((row) => row['round'] === PUTS_OF_CHUNK)).toBe(true)
  })
})
