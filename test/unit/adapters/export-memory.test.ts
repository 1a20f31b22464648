// Goal: the memory of a piece of an export is reused only when node:http has finished with the piece, whatever stands
// between it and the client.
import { createHash } from 'node:crypto'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { nodeHandler } from '../../../adapters/http/node-http.js'
import { openMemory } from '../../../src/index.js'

const KEY = 'a-key-of-the-team'

/** More than the system buffers for a client that does not read. */
const ROWS = 60_000
const PIECES_READ_SLOWLY = 40

async function openTable() {
  const store = await openMemory({ segmentRowsMax: 8_192 })
  onTestFinished(() => store.close())
  const team = store.team('team')
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${`${n}-`.repeat(40)}\n`)
  const { tableId } = await team.createTable({ name: 'T', rows: { csv: `n,s\n${lines.join('')}` } })
  return { store, table: team.table(tableId) }
}

async function digestOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

/** The digest of what a client receives that reads slowly at first. */
async function digestSlowly(url: string): Promise<string> {
  const asked = request(url, { headers: { authorization: `Bearer ${KEY}` } }).end()
  const response = await new Promise<AsyncIterable<Uint8Array>>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject)
  })
  let read = 0
  return digestOf(
    (async function* () {
      for await (const piece of response) {
        yield piece
        if (read++ < PIECES_READ_SLOWLY) await pause(5)
      }
    })(),
  )
}

/** Acts as middleware that compresses: its `write` keeps each piece for a while, and calls no callback. */
function keepPieces(response: ServerResponse): void {
  const { write } = response
  response.write = ((piece: Uint8Array) => {
    setTimeout(() => Reflect.apply(write, response, [piece]), 10)
    setTimeout(() => response.emit('drain'), 5)
    return false
  }) as typeof write
  const { end } = response
  response.end = (() => setTimeout(() => Reflect.apply(end, response, []), 50)) as never
}

test.each(['ndjson', 'csv', 'tsv'])('a slow client gets the rows as %s', async (format) => {
  const { store, table } = await openTable()
  const handler = nodeHandler(store, { keys: [{ key: KEY, teamId: 'team' }] })
  for (const before of [undefined, keepPieces]) {
    const server = createServer((asked, response) => {
      before?.(response)
      handler(asked, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { pieces } = await table.openExport({ format: format as 'csv' })
    const path = `/tables/${table.id}/export?format=${format}`
    const got = await digestSlowly(`http://127.0.0.1:${port}${path}`)
    expect([before?.name, got]).toEqual([before?.name, await digestOf(pieces)])
  }
})

test.each(['ndjson', 'csv'] as const)(
  'pieces of %s are of few buffers if asked for',
  async (format) => {
    const { table } = await openTable()
    for (const reusesMemory of [true, false]) {
      const { pieces } = await table.openExport({ format, reusesMemory })
      const buffers = new Set<ArrayBufferLike>()
      let count = 0
      for await (const { buffer, byteLength } of pieces) {
        if (byteLength < 1_000) continue // the header
        buffers.add(buffer)
        count++
      }
      expect(count).toBeGreaterThan(10)
      expect(buffers.size).toBeLessThanOrEqual(reusesMemory ? 4 : count)
      if (!reusesMemory) expect(buffers.size).toBe(count)
    }
  },
)
