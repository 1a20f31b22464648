// An operation on a stash answers with the IDs of all its rows, perhaps millions.
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sendBody } from '../../../adapters/http/send-body.js'
import type { Bytes } from '../../../src/base/bytes.js'
import { renderRowIds } from '../../../src/contract/answers/render.js'
import { type RowIdRun, rowIdsOf } from '../../../src/engine/ids/row-ids.js'

/** The approximate size of one piece of the contract. */
const PIECE_BYTES_MAX = 64 * 1024

/** The buffers of streams, and of a socket on both sides. */
const ON_THE_WAY_BYTES_MAX = 16 * 1024 * 1024

function runsOf(chunks: number, rows: number): RowIdRun[] {
  return Array.from({ length: chunks }, (_, extent) => ({
    nonce: Uint8Array.of(1, 2, 3, 4, 5, 6, extent >> 8, extent & 255),
    extent: 1 + 7 * extent,
    firstSlot: extent % 3,
    count: rows,
  }))
}

/** Serves one answer, and counts the bytes made of it. */
async function serve(runs: readonly RowIdRun[]) {
  const made = { bytes: 0, isEnded: false, largest: 0 }
  async function* counted(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
    try {
      for await (const piece of body) {
        made.bytes += piece.length
        made.largest = Math.max(made.largest, piece.length)
        yield piece
      }
    } finally {
      made.isEnded = true
    }
  }
  const server = createServer(async (_, response) => {
    const body = renderRowIds('{"data":{', rowIdsOf(runs), '}}')
    if (typeof body === 'string') throw new Error('so many are no text')
    if (await sendBody(response, counted(body))) response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, host: '127.0.0.1' }, resolve).on('error', reject)
  })
  return { made, response }
}

/** Waits until nothing has been made for some turns of the event loop. */
async function settled(made: { bytes: number }): Promise<number> {
  for (let before = -1, calm = 0; calm < 20; ) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    calm = made.bytes === before ? calm + 1 : 0
    before = made.bytes
  }
  return made.bytes
}

describe('the IDs of 300,000 rows', () => {
  const runs = runsOf(300, 1_000)

  test('come in pieces of bounded size that are together what the IDs are one by one', async () => {
    const { made, response } = await serve(runs)
    const pieces: Buffer[] = []
    for await (const piece of response) pieces.push(piece as Buffer)
    const body: unknown = JSON.parse(Buffer.concat(pieces).toString())

    expect(body).toEqual({ data: { rowIDs: [...rowIdsOf(runs)] } })
    expect(made.largest).toBeLessThanOrEqual(PIECE_BYTES_MAX)
    expect(made.bytes).toBeGreaterThan(300_000 * 25)
  })

  test('are the same for runs of any length', async () => {
    const odd = [1, 2_599, 1, 2_600, 5_201, 3].map((count, i) => ({
      ...(runsOf(6, 1)[i] ?? { nonce: new Uint8Array(8), extent: 2 ** 40 + i, firstSlot: 60_000 }),
      count,
    }))
    const { response } = await serve(odd)
    const pieces: Buffer[] = []
    for await (const piece of response) pieces.push(piece as Buffer)

    expect(JSON.parse(Buffer.concat(pieces).toString()).data.rowIDs).toEqual([...rowIdsOf(odd)])
  })
})

describe('the IDs of 3,000,000 rows', () => {
  const runs = runsOf(3_000, 1_000)

  test('are made no faster than the client reads them', async () => {
    const { made, response } = await serve(runs)
    const ahead = await settled(made)

    expect(ahead).toBeLessThan(ON_THE_WAY_BYTES_MAX)
    expect(made.isEnded).toBe(false)
    let read = 0
    for await (const piece of response) read += (piece as Buffer).length
    expect([read, made.isEnded]).toEqual([made.bytes, true])
    expect(read).toBeGreaterThan(3_000_000 * 25)
  })

  test('are made no further when the client has gone', async () => {
    const { made, response } = await serve(runs)
    const ahead = await settled(made)

    response.destroy()

    await expect.poll(() => made.isEnded).toBe(true)
    expect(made.bytes - ahead).toBeLessThanOrEqual(PIECE_BYTES_MAX)
  })

  test('let other work of the process run between two pieces', async () => {
    const { made, response } = await serve(runs)
    let turns = 0
    const count = (): void => {
      turns++
      if (!made.isEnded) setImmediate(count)
    }
    count()
    for await (const piece of response) expect((piece as Buffer).length).toBeGreaterThan(0)

    expect(turns).toBeGreaterThan(made.bytes / PIECE_BYTES_MAX / 2)
  })
})
