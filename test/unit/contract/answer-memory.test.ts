// Goal: answers are the same with and without memory to cache them, they never hold more than the budget, and a client
// is told when there is no memory for it. Time is virtual where it matters.
import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createContract } from '../../../src/contract/contract.js'
import {
  type Contract,
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
} from '../../../src/index.js'
import type { ContractResponse, ObjectStore } from '../../../src/ports.js'
import { collectGarbage } from '../../support/collect-garbage.js'
import { atRest, turns } from '../../support/until.js'

const KEYS = ['a', 'b'].map((team) => ({ key: `the-key-of-team-${team}`, teamId: team }))
const MIB = 1 << 20

/** Pages of 4 MiB. A budget must hold 12 of them, including the memory to read them. */
const PAGE_BYTES = 4 * MIB
const ONE_PAGE = 12 * MIB

afterEach(() => {
  vi.useRealTimers()
})

type Server = Readonly<{
  contract: Contract
  store: Store
  failures: unknown[]
  send: (
    method: string,
    path: string,
    body?: unknown,
    team?: 'a' | 'b',
  ) => Promise<ContractResponse>
}>

async function serve(answerBytesInFlightMax?: number, objects?: ObjectStore): Promise<Server> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const store = await openStore({
    kv: await openLevelKv(database),
    objects: objects ?? memoryObjects(),
    compression: 'none',
    pageBytesMax: PAGE_BYTES,
    rowBytesMax: 2 * MIB,
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
  })
  onTestFinished(() => store.close())
  const failures: unknown[] = []
  const contract = createContract(store, {
    keys: KEYS,
    answerBytesInFlightMax,
    onFailure: (failure) => failures.push(failure),
  })
  const send: Server['send'] = (method, path, body, team = 'a') => {
    const [at, query = ''] = path.split('?')
    const key = KEYS.find(({ teamId }) => teamId === team)?.key
    return contract.handle({
      method,
      path: at ?? '',
      query,
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
      ],
      body: (async function* () {
        if (body !== undefined) yield new TextEncoder().encode(JSON.stringify(body))
      })(),
    })
  }
  return { contract, store, failures, send }
}

async function textOf({ body }: ContractResponse): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? ''
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** A table with a size in megabytes. @returns the path of its rows */
async function tableOf(
  { send }: Server,
  megabytes: number,
  team?: 'a' | 'b',
): Promise<{ path: string; rowIds: readonly string[] }> {
  const rows = Array.from({ length: 512 * megabytes }, (_, n) => ({ n, t: 'é'.repeat(1_000) }))
  const made = await send('POST', '/tables', { name: 't', rows }, team)
  const { data } = JSON.parse(await textOf(made))
  return { path: `/tables/${data.tableID}/rows`, rowIds: data.rowIDs }
}

/** Begins to read an answer, and reads only one piece. */
async function begin({ body }: ContractResponse): Promise<AsyncIterator<Uint8Array>> {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    throw new Error('The answer does not come in pieces')
  }
  const pieces = body[Symbol.asyncIterator]()
  await pieces.next()
  return pieces
}

describe('a page', () => {
  test.each([
    ['plenty of memory', 256 * MIB],
    ['as little memory as may be', 1_024],
  ])('is the same with %s', async (_, answerBytes) => {
    const server = await serve(answerBytes)
    const { path } = await tableOf(server, 6)
    const table = server.store.team('a').table(path.split('/')[2] ?? '')
    for (const limit of [undefined, 1, 30, 500, 1_000, 2_000]) {
      const page = await table.pageBytes(limit === undefined ? {} : { limit })
      const query = limit === undefined ? '' : `?limit=${limit}`
      const response = await server.send('GET', path + query)
      const text = await textOf(response)

      const next = page.continuation && `,"continuation":"${page.continuation}"`
      expect(text).toBe(`{"data":${Buffer.from(page.json).toString()}${next ?? ''}}`)
      const length = response.headers['content-length']
      if (length !== undefined) expect(Number(length)).toBe(Buffer.byteLength(text))
      expect(response.headers['etag']).toBe('"1"')
    }
    expect(server.failures).toEqual([])
  })

  test('that many read at the same time is not held for each of them', async () => {
    const server = await serve(32 * MIB)
    const { path } = await tableOf(server, 4)
    collectGarbage()
    await turns() // Another thread frees buffers after the collection.
    const before = process.memoryUsage().arrayBuffers
    let begun = 0
    const reading = Array.from({ length: 60 }, async () => {
      const pieces = await begin(await server.send('GET', path))
      begun++
      return pieces
    })
    await atRest(() => begun)
    const held = (): number => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - before
    }

    expect(begun).toBeLessThan(60) // The others wait.
    await expect.poll(held).toBeLessThan(48 * MIB) // a fifth of 60 pages
    for (const pieces of reading) await (await pieces).return?.()
  })

  test('waits while another has all of the memory, and comes as soon as that is read', async () => {
    const server = await serve(ONE_PAGE)
    const { path } = await tableOf(server, 6)
    const first = await begin(await server.send('GET', path))
    let second: ContractResponse | undefined
    const answering = server.send('GET', path).then((response) => {
      second = response
    })
    await turns()
    expect(second).toBeUndefined()

    await first.return?.()
    await answering

    expect(second?.status).toBe(200)
    expect(JSON.parse(await textOf(second ?? fail())).data.length).toBeGreaterThan(1_000)
  })

  test('for which there is no memory for 30 s is 503, and tells when to come back', async () => {
    let go: () => void = () => {}
    let held: Promise<void> | undefined
    const objects = objectsReading(async (bytes) => {
      await held
      return bytes
    })
    const server = await serve(ONE_PAGE, objects)
    const { path } = await tableOf(server, 6)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    held = new Promise((resolve) => {
      go = resolve
    })
    const first = server.send('GET', path) // The disk is slow, so the client is not to blame.
    await turns()
    const waiting = server.send('GET', path)

    const { status, headers, body } = await passUntil(waiting)

    expect([status, headers['retry-after']]).toEqual([503, '1'])
    expect(body).toContain('nothing was changed')
    go()
    expect((await first).status).toBe(200)
  })

  test('that is read slowly ends when somebody waits for its memory', async () => {
    const server = await serve(ONE_PAGE)
    const { path } = await tableOf(server, 6)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const slow = await server.send('GET', path)
    const pieces = await begin(slow)
    await turns()
    vi.advanceTimersByTime(3_600_000)
    expect(slow.signal?.aborted).toBe(false)

    const waiting = await passUntil(server.send('GET', path))

    expect(slow.signal?.aborted).toBe(true)
    expect(waiting.status).toBe(200)
    await expect(readOn(pieces)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })
})

/** Lets virtual time pass until there is an answer. The request may take some turns to begin its wait. */
async function passUntil(answering: Promise<ContractResponse>): Promise<ContractResponse> {
  let isOver = false
  const answered = answering.finally(() => {
    isOver = true
  })
  for (; !isOver; await turns(1)) vi.advanceTimersByTime(500)
  return answered
}

async function readOn(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  while (!(await pieces.next()).done);
}

function fail(): never {
  throw new Error('There is no answer')
}

/** Objects whose bytes pass through `change` when they are read. */
function objectsReading(
  change: (bytes: Uint8Array, start: number) => Promise<Uint8Array>,
): ObjectStore {
  const objects = memoryObjects()
  return new Proxy(objects, {
    get(_, name: keyof ObjectStore) {
      const method = objects[name] as ((...given: unknown[]) => unknown) | undefined
      if (name !== 'get') return method?.bind(objects)
      const get: ObjectStore['get'] = async (id, range, memory) => {
        const bytes = await objects.get(id, range, memory)
        return bytes && change(bytes, range?.start ?? 0)
      }
      return get
    },
  })
}

describe('a page that is damaged behind its first megabytes', () => {
  /** Objects in which, once enabled, a bit is flipped in the frames from a place on. */
  function damagedObjects() {
    let isDamaged = false
    const objects = objectsReading(async (bytes, start) => {
      if (!isDamaged || start < 2 * MIB || bytes.length < 100_000) return bytes
      const copy = Uint8Array.from(bytes)
      copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 1
      return copy
    })
    const damage = () => {
      isDamaged = true
    }
    return { objects, damage }
  }

  test.each([
    ['kept', 256 * MIB],
    ['read in pieces', 1_024],
  ])('is 500 data_corrupt, also when it would be %s', async (_, answerBytes) => {
    const { objects, damage } = damagedObjects()
    const server = await serve(answerBytes, objects)
    const { path } = await tableOf(server, 4)
    damage()
    const response = await server.send('GET', path)

    expect(response.status).toBe(500)
    expect(await textOf(response)).toContain('data_corrupt')
    expect((await server.send('GET', `${path}?limit=10`)).status).toBe(200)
  })

  test('only after its status was sent breaks off, and its host is told', async () => {
    const { objects, damage } = damagedObjects()
    const server = await serve(1_024, objects)
    const { path } = await tableOf(server, 4)
    const response = await server.send('GET', path)
    damage()

    await expect(textOf(response)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    expect(server.failures).toMatchObject([{ code: 'DATA_CORRUPT' }])
    expect((await server.send('GET', `${path}?limit=10`)).status).toBe(200) // Its memory is free.
  })
})

describe('a long answer that is no page', () => {
  test('waits for memory, is made again, and has a length', async () => {
    const server = await serve(ONE_PAGE)
    const { path } = await tableOf(server, 6)
    const t = '文'.repeat(300_000)
    const made = await server.send('POST', '/tables', { name: 't', rows: [{ t }] })
    const { data } = JSON.parse(await textOf(made))
    const reader = await begin(await server.send('GET', path))
    let row: ContractResponse | undefined
    const rowPath = `/tables/${data.tableID}/rows/${data.rowIDs[0]}`
    const answering = server.send('GET', rowPath).then((response) => {
      row = response
    })
    await turns()
    expect(row).toBeUndefined()
    await server.send('PATCH', rowPath, { t: `${t}!` })

    await reader.return?.()
    await answering

    const text = await textOf(row ?? fail())
    expect(JSON.parse(text).data.t).toBe(`${t}!`)
    expect(row?.headers['content-length']).toBe(String(Buffer.byteLength(text)))
    expect(row?.headers['etag']).toBe('"2"')
  })

  test('is answered to HEAD without memory', async () => {
    const server = await serve(ONE_PAGE)
    const { path } = await tableOf(server, 6)
    const made = await server.send('POST', '/tables', { name: 't', rows: [{ t: 'x'.repeat(MIB) }] })
    const { data } = JSON.parse(await textOf(made))
    const reader = await begin(await server.send('GET', path))

    const { status, body } = await server.send(
      'HEAD',
      `/tables/${data.tableID}/rows/${data.rowIDs[0]}`,
    )

    expect([status, body]).toEqual([200, null])
    await reader.return?.()
  })

  test('of another team does not wait', async () => {
    const server = await serve(64 * MIB)
    const mine = await tableOf(server, 4)
    const theirs = await tableOf(server, 4, 'b')
    const reading = Array.from({ length: 100 }, () => server.send('GET', mine.path).then(begin))
    await turns()

    const page = await server.send('GET', theirs.path, undefined, 'b')

    expect(page.status).toBe(200)
    await textOf(page)
    for (const pieces of reading) await (await pieces).return?.()
  })
})
