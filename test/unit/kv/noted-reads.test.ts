import { describe, expect, test } from 'vitest'
import type { KvScan, KvView } from '../../../src/kv/kv.js'
import { NotedReads } from '../../../src/kv/noted-reads.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (value: Uint8Array | null): string | null =>
  value === null ? null : new TextDecoder().decode(value)

/** A view of keys `a` to `e`, each with a value of its letter, repeated `length` times. */
function viewOf(length = 1): KvView {
  const records = new Map(['a', 'b', 'c', 'd', 'e'].map((key) => [key, key.repeat(length)]))
  const get = (key: Uint8Array): Uint8Array | null => {
    const value = records.get(text(key) ?? '')
    return value === undefined ? null : bytes(value)
  }
  return {
    get,
    getMany: async (keys) => keys.map(get),
    async scan({ start, limit, count }) {
      const keys = [...records.keys()].filter(
        (key) => key >= (text(start) ?? '') && key < (text(limit) ?? ''),
      )
      return keys.slice(0, count).map((key) => [bytes(key), get(bytes(key)) ?? bytes('')])
    },
  }
}

const scanOf = (start: string, limit: string, count: number): KvScan => {
  return { start: bytes(start), limit: bytes(limit), count }
}

async function keysOf(view: KvView, scan: KvScan): Promise<(string | null)[]> {
  return (await view.scan(scan)).map(([key]) => text(key))
}

async function notesOf(read: (view: KvView) => Promise<unknown>, length = 1): Promise<NotedReads> {
  const notes = new NotedReads()
  await read(notes.of(viewOf(length)))
  return notes
}

describe('noted reads answer', () => {
  test('what was read, also that there is no record', async () => {
    const notes = await notesOf(async (view) => {
      await view.get(bytes('a'))
      await view.getMany([bytes('b'), bytes('x')])
    })
    const found = await notes.run(async (view) => [
      text(await view.get(bytes('b'))),
      ...(await view.getMany([bytes('a'), bytes('x')])).map(text),
    ])

    expect(found).toEqual(['b', 'a', null])
  })

  test('a scan, and one that finds a part of what it found', async () => {
    const notes = await notesOf((view) => view.scan(scanOf('a', 'e', 3)))
    const found = await notes.run(async (view) => [
      await keysOf(view, scanOf('a', 'e', 3)),
      await keysOf(view, scanOf('a', 'c', 3)),
      await keysOf(view, scanOf('a', 'e', 2)),
    ])

    expect(found).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b'],
      ['a', 'b'],
    ])
  })
})

describe('noted reads do not answer', () => {
  test.each<[string, (view: KvView) => Promise<unknown>]>([
    ['for a key that was not read', async (view) => view.get(bytes('c'))],
    ['for keys of which one was not read', (view) => view.getMany([bytes('a'), bytes('c')])],
    ['for a scan that begins elsewhere', (view) => view.scan(scanOf('b', 'c', 1))],
    ['for a scan that goes on', (view) => view.scan(scanOf('a', 'e', 4))],
    ['for a scan with a later end', (view) => view.scan(scanOf('a', 'f', 3))],
  ])('%s', async (_, use) => {
    const notes = await notesOf(async (view) => {
      await view.get(bytes('a'))
      await view.scan(scanOf('a', 'e', 3))
    })

    expect(await notes.run(use)).toBeUndefined()
  })

  test('for more than a mebibyte', async () => {
    const read = async (view: KvView): Promise<boolean> => {
      await view.get(bytes('a'))
      await view.scan(scanOf('b', 'd', 2))
      return true
    }
    const few = await notesOf(read, 300_000)
    const many = await notesOf(read, 400_000)

    expect(await few.run(read)).toBe(true)
    expect(await many.run(read)).toBeUndefined()
  })
})

test('a failure of the operation itself is passed on', async () => {
  const notes = await notesOf(async (view) => view.get(bytes('a')))
  const failure = new Error('of the operation')

  await expect(notes.run(() => Promise.reject(failure))).rejects.toBe(failure)
})
