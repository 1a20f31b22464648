// Goal: a client's watch has each version exactly once and in order, or fails with history_gone, wherever a connection
// is cut, and whether the server or the program restarts.
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type Client, type ClientError, createClient } from '../../../src/client/client.js'
import { LOG_RANGE } from '../../../src/format/log-records.js'
import {
  fetchHandler,
  memoryObjects,
  openLevelKv,
  openMemory,
  openStore,
} from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'
import { turns, until } from '../../support/until.js'

const KEY = 'a-key-of-a-team'
const OPTIONS = { keys: [{ key: KEY, teamId: 't' }] }
const URL = 'http://localhost'

const realTimeout = globalThis.setTimeout

beforeEach(() => {
  // Pauses between attempts take no time; waits for a silent server do.
  vi.stubGlobal('setTimeout', (call: () => void, ms = 0) => realTimeout(call, ms < 20_000 ? 0 : ms))
})

afterEach(() => void vi.unstubAllGlobals())

const STEP = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('add', 'update', 'rename', 'overwrite', 'both' as const),
  },
  { weight: 1, arbitrary: fc.constantFrom('restart the server', 'restart the program' as const) },
  { weight: 1, arbitrary: fc.constant('forget' as const) },
  { weight: 2, arbitrary: fc.constantFrom('turn', 'turns' as const) },
)

/** A server that closes connections after a number of bytes, with an end or with a failure. */
async function openFlaky(cuts: () => number) {
  const kv = await openLevelKv(new MemoryLevel())
  const objects = memoryObjects()
  const lasting = {
    ...kv,
    shared: false,
    partition: kv.partition.bind(kv),
    close: async () => undefined,
  }
  const open = async () => {
    const store = await openStore({ kv: lasting, objects, maintenance: false })
    return { store, handle: fetchHandler(store, OPTIONS) }
  }
  let current: Awaited<ReturnType<typeof open>> | undefined = await open()
  const restart = async () => {
    const before = current
    current = undefined
    await before?.store.close()
    current = await open()
  }
  const flaky: typeof fetch = async (url, init) => {
    if (current === undefined) throw new TypeError('fetch failed')
    const answer = await current.handle(new Request(url as string, init))
    init?.signal?.throwIfAborted()
    if (!answer.ok) return answer
    return cutAnswer(answer, cuts(), init?.signal ?? undefined)
  }
  const team = () => current?.store.team('t') ?? expect.fail('restarting')
  return { flaky, restart, team, partition: kv.partition('t') }
}

function cutAnswer(answer: Response, bytes: number, signal: AbortSignal | undefined): Response {
  let left = bytes
  const reader = answer.body?.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        signal?.addEventListener('abort', () => {
          controller.error(signal.reason)
          void reader?.cancel()
        })
      },
      async pull(controller) {
        const { done, value = new Uint8Array() } = (await reader?.read()) ?? { done: true }
        if (signal?.aborted) return
        const piece = value.subarray(0, left)
        left -= piece.length
        if (piece.length > 0) controller.enqueue(piece)
        if (!done && left > 0) return
        if (!done && bytes % 2 === 0) controller.error(new Error('cut'))
        else controller.close()
        if (!done) await reader?.cancel()
      },
      cancel: () => reader?.cancel(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}

/** Follows a table until it is told to end. Its versions go into `seen`, with `gone` where the history was lost. */
function follow(client: Client, tableId: string, seen: (number | 'gone')[]) {
  const end = new AbortController()
  const run = async () => {
    for (;;) {
      const since = String(seen.findLast((version) => version !== 'gone') ?? 1)
      try {
        for await (const { version } of client
          .table(tableId)
          .watch({ since, signal: end.signal })) {
          seen.push(Number(version))
        }
      } catch (failure) {
        if (end.signal.aborted) return
        if ((failure as ClientError).type !== 'history_gone') throw failure
        seen.push('gone')
        seen.push(Number(await client.table(tableId).version()))
      }
    }
  }
  const running = run()
  return {
    stop: () => {
      end.abort()
      return running
    },
    running,
  }
}

test('whatever is cut or begins anew, each version is there once, in order', async () => {
  const steps = fc.array(STEP, { minLength: 5, maxLength: 40 })
  const cuts = fc.array(fc.nat(700), { minLength: 20, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(steps, cuts, async (todo, bytes) => {
      let answers = 0
      const server = await openFlaky(() => {
        const cut = bytes[answers++ % bytes.length] ?? 0
        return answers % 4 === 0 ? 2_000 + cut : cut // Some get through: the client gives silent feeds up.
      })
      const made = await server.team().createTable({ name: 'T', rows: [{ n: 0 }] })
      const { tableId } = made
      const other = await server.team().createTable({ name: 'U', rows: [{ n: 0 }] })
      const client = createClient({ url: URL, key: KEY, fetch: server.flaky, triesMax: 100 })
      const seen: (number | 'gone')[] = []
      let forgotten = 0
      let following = follow(client, tableId, seen)
      for (const [n, step] of [...todo, 'add' as const].entries()) {
        const table = server.team().table(tableId)
        if (step === 'add') await table.addRows([{ n }])
        if (step === 'rename') await table.rename(`T${n}`)
        if (step === 'overwrite') await table.overwrite({ rows: [{ n }] })
        if (step === 'update') {
          const [row] = (await table.page({ limit: 1 })).rows
          await table.updateRow(row?.$rowID ?? '', { n })
        }
        if (step === 'both') {
          await server.team().transaction(async (t) => {
            for (const id of [tableId, other.tableId]) await t.table(id).addRows([{ n }])
          })
        }
        if (step === 'restart the server') await server.restart()
        if (step === 'restart the program') {
          await following.stop()
          following = follow(client, tableId, seen)
        }
        if (step === 'forget') {
          forgotten++
          await server.partition.deleteRange(LOG_RANGE, 10_000)
        }
        if (step === 'turn') await turns(1)
        if (step === 'turns') await turns(5)
      }
      const last = await server.team().table(tableId).version()
      await Promise.race([following.running, until(() => seen.at(-1) === last)])
      await following.stop()
      let before = 1
      for (const [at, version] of seen.entries()) {
        if (version === 'gone') forgotten--
        else if (seen[at - 1] !== 'gone') expect(version).toBe(before + 1)
        if (version !== 'gone') before = version
      }
      expect(before).toBe(last)
      expect(forgotten).toBeGreaterThanOrEqual(0) // History is gone only if it was deleted.
      await server.team().table(tableId).delete()
    }),
    runOptions(1_000),
  )
}, 600_000)

async function openOne() {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const handle = fetchHandler(store, OPTIONS)
  const { tableId } = await store.team('t').createTable({ name: 'T', rows: [{ n: 0 }] })
  const client = (answer: (request: Request) => Response | Promise<Response> = handle) =>
    createClient({
      url: URL,
      key: KEY,
      fetch: async (url, init) => answer(new Request(url as string, init)),
    })
  return { table: store.team('t').table(tableId), client, handle, tableId }
}

test('changes are those up to now, by pages; they need a version to begin with', async () => {
  const { table, client, handle, tableId } = await openOne()
  for (let n = 1; n < 5; n++) await table.addRows([{ n }], { author: 'ann', note: 'a \n note' })
  const byTwo = client((request) => handle(new Request(`${request.url}&limit=2`, request)))
  const seen = []
  for await (const change of byTwo.table(tableId).changes({ since: '1' })) seen.push(change)
  const expected = (await table.log({ since: 1 })).entries
  expect(seen).toEqual(expected.map((entry) => ({ ...entry, version: String(entry.version) })))
  expect(() =>
    client()
      .table(tableId)
      .changes({} as never),
  ).toThrow('"since" is missing')
  await expect(client().table(tableId).changes({ since: '9' }).next()).rejects.toMatchObject({
    status: 400,
  })
})

const feedOf = (text: string) =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

test('events are read as the standard says, however their lines end; others are no changes', async () => {
  const { client } = await openOne()
  const change = (version: number) => `data: {"version":${version},"operation":"add"}`
  const texts = [
    `: a comment\n\nid: 2\n${change(2)}\n\n`,
    `id:3\r\ndata: {"version":3,\r\ndata: "operation":"add"}\r\n\r\nretry: 5\r\n\r\n`,
    `id: 3\r${change(3)}\r\rid: 4\r${change(4)}\r\r`,
    `event: end\ndata: {"error":{}}\n\n`,
    `id: 5\n${change(5)}\n`, // It has no end.
    `id: 5\nother: x\n${change(5)}\n\n`,
  ]
  const seen = []
  const asked: string[] = []
  const watching = client((request) => {
    asked.push(new globalThis.URL(request.url).search)
    return feedOf(texts.shift() ?? '')
  })
  for await (const { version } of watching.table('t').watch({ since: '1' })) {
    seen.push(version)
    if (seen.length === 4) break
  }
  expect(seen).toEqual(['2', '3', '4', '5'])
  expect(asked).toEqual(['?since=1', '?since=2', '?since=3', '?since=4', '?since=4', '?since=4'])
})

test('an event without an end, an answer that is no feed, and feeds that say nothing are failures', async () => {
  const { client } = await openOne()
  const failureOf = async (answer: () => Response) =>
    client(answer)
      .table('t')
      .watch()
      .next()
      .catch((failure) => [failure.type, failure.message])
  expect(await failureOf(() => feedOf(`data: ${'x'.repeat(70_000)}`))).toMatchObject({
    0: 'answer_invalid',
  })
  expect(await failureOf(() => new Response('{}'))).toMatchObject({ 0: 'answer_invalid' })
  expect(await failureOf(() => feedOf(''))).toEqual([
    'answer_cut',
    '8 feeds of the server ended before their first line',
  ])
})

test('a signal ends a watch that waits, with its reason', async () => {
  const { client, tableId } = await openOne()
  const stop = new AbortController()
  const next = client().table(tableId).watch({ signal: stop.signal }).next()
  await turns(5)
  stop.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
})
