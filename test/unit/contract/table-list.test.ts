// The list of tables: its memory is reserved before names are read, and its JSON is made in pieces.
import { expect, test } from 'vitest'
import type { Call } from '../../../src/contract/calls/call.js'
import type { ContractResponse } from '../../../src/contract/http/message.js'
import { listTables } from '../../../src/contract/operations/table-list.js'
import type { TableNamesOptions } from '../../../src/engine/types/life-types.js'
import type { TableEntry } from '../../../src/index.js'

/** A list whose names take this much memory, and a log of the steps. */
function listing(tables: readonly TableEntry[], bytes: number, resize = async () => undefined) {
  const steps: string[] = []
  const room = {
    resize: (bytes: number) => {
      steps.push(`charge ${bytes}`)
      return resize()
    },
    setMoving: () => undefined,
    moved: () => undefined,
    close: () => steps.push('close'),
  }
  const tableNames = async ({ reserve }: TableNamesOptions) => {
    await reserve?.(bytes)
    steps.push('read')
    return tables
  }
  const signal = new AbortController().signal
  const call = { team: { tableNames }, openAnswerRoom: () => ({ room, signal }) }
  return { steps, answer: () => listTables(call as unknown as Call) }
}

const TABLES = Array.from({ length: 200 }, (_, i) => ({
  id: `id${i}`,
  name: '\u0001'.repeat(1_000),
}))

async function piecesOf({ body }: ContractResponse): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece)
  return pieces
}

test('long names are charged before they are read, and until the last piece is taken', async () => {
  const { steps, answer } = listing(TABLES, 500_000)
  const response = await answer()
  expect(steps).toEqual([expect.stringMatching(/^charge [5-9]\d{5}$/), 'read'])

  const pieces = await piecesOf(response)
  expect(steps.at(-1)).toBe('close')
  expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual({ data: TABLES })
  expect(pieces.length).toBeGreaterThan(10)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(80_000)
})

test('others have their turn between two pieces', async () => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const pieces = await piecesOf(await listing(TABLES, 500_000).answer())
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(pieces.length - 1)
})

test('nothing is read, and the room is closed, if there is no memory', async () => {
  const { steps, answer } = listing(TABLES, 500_000, () => Promise.reject(new Error('no memory')))
  await expect(answer()).rejects.toThrow('no memory')
  expect(steps).toEqual([expect.stringContaining('charge'), 'close'])
})

test('a short list is one text', async () => {
  const { steps, answer } = listing([{ id: 'a', name: 'A"' }], 100)
  expect((await answer()).body).toBe('{"data":[{"id":"a","name":"A\\""}]}')
  expect(steps).toEqual(['read', 'close'])
})

test('no tables are an empty list', async () => {
  expect((await listing([], 0).answer()).body).toBe('{"data":[]}')
})
