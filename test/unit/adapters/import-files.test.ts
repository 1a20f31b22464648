import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type FileImport, importFiles } from '../../../adapters/cli/import/import-files.js'
import { nodeHandler } from '../../../adapters/node.js'
import { AnswerReader } from '../../../src/client/answer-reader.js'
import { openMemory } from '../../../src/index.js'
import { type Answer, type Asked, fakeServer } from '../../support/fake-server.js'
import { turns, until } from '../../support/until.js'

// Pauses between attempts take no time here.
vi.mock('../../../src/base/pause.js', () => ({ pause: async () => undefined }))

async function jsonFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-import-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'rows.json')
  await writeFile(path, text)
  return path
}

async function importOf(
  url: string,
  rows: readonly unknown[],
  given: Partial<FileImport> = {},
): Promise<FileImport> {
  return {
    files: [{ path: await jsonFile(JSON.stringify(rows)), format: 'json' }],
    url,
    key: 'secret-key',
    target: { name: 'Rows' },
    chunkRowsMax: 4,
    parallel: 3,
    signal: new AbortController().signal,
    ...given,
  }
}

const CREATED: Answer = { status: 201, body: { data: { tableID: 'table-1', rowIDs: ['a', 'b'] } } }

function good({ method }: Asked): Answer {
  return method === 'POST' ? CREATED : { status: 200 }
}

/** The rows of the chunks that a server accepted, in the order of their serials. */
function rowsBySerial(asked: readonly Asked[], wasTaken: (asked: Asked) => boolean): unknown[] {
  const chunks = new Map<number, unknown[]>()
  for (const question of asked) {
    const serial = /^\/stashes\/[0-9a-f]{32}\/([0-9]+)$/.exec(question.path)?.[1]
    if (question.method !== 'PUT' || serial === undefined || !wasTaken(question)) continue
    chunks.set(Number(serial), JSON.parse(question.body))
  }
  return [...chunks].sort(([left], [right]) => left - right).flatMap(([, rows]) => rows)
}

function kindsOf(asked: readonly Asked[]): string[] {
  return asked.map(({ method, path }) => `${method} /${path.split('/')[1]}`)
}

const TARGETS: readonly [what: string, target: FileImport['target']][] = [
  ['a create', { name: 'Rows' }],
  ['an add', { tableId: 't', mode: 'add' }],
]

type Behind = Readonly<{
  url: string
  table: (id: string) => Promise<{ rows: unknown[]; names: string[] }>
}>

/** A served store. Its answers to some requests are lost. */
async function storeBehind(isLost: (asked: Asked) => boolean): Promise<Behind> {
  const store = await openMemory({ maintenance: { garbageCollectionIntervalMs: 0 } })
  const server = createServer(nodeHandler(store, { keys: [{ key: 'secret-key', teamId: 'acme' }] }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
  })
  const { port } = server.address() as AddressInfo
  const { url } = await fakeServer(async (asked) => {
    const { method, path, headers, body } = asked
    const names = ['authorization', 'content-type', 'idempotency-key'] as const
    const sent = names.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value] as const] : []
    })
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: Object.fromEntries(sent),
      ...(body !== '' && { body }),
    })
    const given = { status: answer.status, body: await answer.json() }
    return isLost(asked) ? undefined : given
  })
  const team = store.team('acme')
  return {
    url,
    async table(id) {
      const { rows } = await team.table(id).page()
      const names = (await team.tables()).map(({ name }) => name)
      return { rows: rows.map(({ $rowID: _, ...cells }) => cells), names }
    },
  }
}

const TEN_ROWS = Array.from({ length: 10 }, (_, n) => ({ n }))

describe('an import', () => {
  test('puts the chunks, makes one table of them and deletes the stash', async () => {
    const { url, asked } = await fakeServer(good)
    const acknowledged: number[] = []

    const result = await importFiles(
      await importOf(url, TEN_ROWS, { onProgress: (rows) => acknowledged.push(rows) }),
    )

    expect(result).toMatchObject({ tableId: 'table-1', rows: 2 })
    expect(rowsBySerial(asked, () => true)).toEqual(TEN_ROWS)
    expect(acknowledged).toHaveLength(3)
    expect(acknowledged.at(-1)).toBe(10)
    expect(kindsOf(asked).slice(-2)).toEqual(['POST /tables', 'DELETE /stashes'])
    const [create, deletion] = asked.slice(-2)
    const $stashID = deletion?.path.split('/')[2]
    expect(JSON.parse(create?.body ?? '')).toEqual({ name: 'Rows', rows: { $stashID } })
  })

  test('adds to a table or overwrites it', async () => {
    const { url, asked } = await fakeServer(good)

    await importFiles(await importOf(url, [{}], { target: { tableId: 't/1', mode: 'add' } }))
    await importFiles(
      await importOf(`${url}/`, [{}], { target: { tableId: 't', mode: 'overwrite' } }),
    )

    const operations = asked.filter(({ path }) => path.startsWith('/tables'))
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /tables/t%2F1/rows',
      'PUT /tables/t',
    ])
    expect(operations.map(({ body }) => Object.keys(JSON.parse(body)))).toEqual([
      ['$stashID'],
      ['rows'],
    ])
  })

  test('halves a chunk that is too large, and keeps the order of its rows', async () => {
    const isSmall = ({ body }: Asked) => !body.startsWith('[') || JSON.parse(body).length <= 3
    const { url, asked } = await fakeServer((question) =>
      isSmall(question) ? good(question) : { status: 413 },
    )
    const rows = Array.from({ length: 50 }, (_, n) => ({ n }))

    await importFiles(await importOf(url, rows, { chunkRowsMax: 20 }))

    expect(rowsBySerial(asked, isSmall)).toEqual(rows)
  })

  test('of a row that is too large alone ends with what the server says', async () => {
    const { url, asked } = await fakeServer(({ method }) => {
      if (method !== 'PUT') return { status: 200 }
      return { status: 413, body: { error: { type: 'request_too_large', message: 'Too large!' } } }
    })

    await expect(importFiles(await importOf(url, [{ n: 1 }]))).rejects.toThrow(
      /^Too large! \(.*rows\.json, starting at line 1\)$/,
    )

    expect(kindsOf(asked)).toEqual(['PUT /stashes']) // The stash did not begin.
  })

  test('waits as long as a 429 asks for', async () => {
    const pauses: number[] = []
    const { url } = await fakeServer((question, turn) =>
      turn === 0 ? { status: 429, headers: { 'retry-after': '7' } } : good(question),
    )

    await importFiles(await importOf(url, [{}], { onRetry: (_, pauseMs) => pauses.push(pauseMs) }))

    expect(pauses).toEqual([7_000])
  })

  test('sends a chunk again after a 5xx or a broken connection, and waits longer each time', async () => {
    const pauses: number[] = []
    const { url, asked } = await fakeServer((question, turn) => {
      if (turn === 0) return { status: 503 }
      return turn <= 2 ? undefined : good(question)
    })

    await importFiles(
      await importOf(url, [{ n: 1 }], { onRetry: (_, pauseMs) => pauses.push(pauseMs) }),
    )

    expect(rowsBySerial(asked, () => true)).toEqual([{ n: 1 }])
    expect(pauses.map((ms, tries) => ms / (500 * 2 ** tries))).toEqual(
      pauses.map(() => expect.toSatisfy((factor: number) => factor >= 0 && factor <= 1)),
    )
    expect(pauses).toHaveLength(3)
  })

  test('gives up after eight tries', async () => {
    const { url, asked } = await fakeServer(({ method }) => ({
      status: method === 'PUT' ? 500 : 200,
    }))

    await expect(importFiles(await importOf(url, [{}]))).rejects.toThrow('status 500')

    expect(kindsOf(asked)).toEqual([...Array(8).fill('PUT /stashes'), 'DELETE /stashes'])
  })

  test.each(TARGETS)(
    'sends %s that may have happened again, with the same key, at most eight times',
    async (_, target) => {
      const { url, asked } = await fakeServer(({ method }, turn) => {
        if (method !== 'POST') return { status: 200 }
        return turn % 2 === 0 ? undefined : { status: 500 }
      })

      await expect(importFiles(await importOf(url, [{}], { target }))).rejects.toThrow()

      expect(kindsOf(asked)).toEqual([
        'PUT /stashes',
        ...Array(8).fill('POST /tables'),
        'DELETE /stashes',
      ])
      const keys = asked.slice(1, -1).map(({ headers }) => headers['idempotency-key'])
      expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{32}$/)))
      expect(new Set(keys).size).toBe(1)
    },
  )

  test('takes a new key each time', async () => {
    const { url, asked } = await fakeServer(good)
    const given = await importOf(url, [{}])

    for (let i = 0; i < 3; i++) await importFiles(given)

    const posts = asked.filter(({ method }) => method === 'POST')
    expect(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size).toBe(3)
  })

  test.each([4, 1_000])(
    'neither doubles a table nor rows when the answer to a change is lost (%d rows a chunk)',
    async (chunkRowsMax) => {
      const lost: Asked[] = []
      const { table, url } = await storeBehind((question) => {
        if (question.method !== 'POST' || lost.some(({ path }) => path === question.path))
          return false
        return lost.push(question) > 0
      })

      const target = { name: 'Imported' }
      const made = await importFiles(await importOf(url, TEN_ROWS, { target, chunkRowsMax }))
      const add = { tableId: made.tableId, mode: 'add' } as const
      const added = await importFiles(await importOf(url, TEN_ROWS, { target: add, chunkRowsMax }))

      expect(lost.map(({ path }) => path)).toEqual(['/tables', `/tables/${made.tableId}/rows`])
      expect([made.rows, added.rows]).toEqual([10, 10])
      const { rows, names } = await table(made.tableId)
      expect(rows).toEqual([...TEN_ROWS, ...TEN_ROWS])
      expect(names).toEqual(['Imported'])
    },
  )

  test('stops at the first refusal, shows its message and deletes the stash', async () => {
    const message = "Invalid request body: row 1: 'x'"
    const { url, asked } = await fakeServer(({ method, path }) => {
      if (method !== 'PUT' || !path.endsWith('/0')) return { status: 200 }
      return { status: 400, body: { error: { type: 'request_validation_error', message } } }
    })
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ n }))

    await expect(importFiles(await importOf(url, rows))).rejects.toThrow("Row 1: 'x'")

    expect(asked.length).toBeLessThan(100)
    expect(asked.at(-1)?.method).toBe('DELETE')
    expect(kindsOf(asked)).not.toContain('POST /tables')
  })

  test('that fails deletes the stash after the chunks that the server is still putting', async () => {
    const done: string[] = []
    let others = 0
    const { url } = await fakeServer(async ({ method, path }) => {
      if (path.endsWith('/0')) {
        await until(() => others > 0)
        return { status: 400 }
      }
      others++
      if (method === 'PUT') await turns(100)
      done.push(method)
      return { status: 200 }
    })

    await expect(importFiles(await importOf(url, TEN_ROWS))).rejects.toThrow('status 400')

    expect(done.at(-1)).toBe('DELETE')
    expect(done.length).toBeGreaterThan(1)
  })

  test('of a file that turns out broken makes no table', async () => {
    const { url, asked } = await fakeServer(good)
    const path = await jsonFile('[{"n":1},{"n":2},')

    const failing = importFiles(await importOf(url, [], { files: [{ path, format: 'json' }] }))

    await expect(failing).rejects.toThrow(`${path}, line 1: the file ends inside its JSON array`)
    expect(asked).toEqual([])
  })

  test('that is interrupted deletes the stash', async () => {
    const ended = new AbortController()
    const { url, asked } = await fakeServer((question) => {
      if (question.method === 'PUT') ended.abort(new Error('Ended by SIGINT'))
      return good(question)
    })

    const failing = importFiles(await importOf(url, TEN_ROWS, { signal: ended.signal }))

    await expect(failing).rejects.toThrow('Ended by SIGINT')
    expect(kindsOf(asked)).not.toContain('POST /tables')
    expect(asked.at(-1)?.method).toBe('DELETE')
  })
})

describe('the answer of a table operation', () => {
  test('is understood however it is cut, whatever else is in it', () => {
    const rowIDs = ['a"}', '\\', ...Array.from({ length: 50 }, (_, n) => `id${n}`)]
    const data = {
      linkedAppIDs: ['tableID', 'rowIDs'],
      tableID: 'té-1',
      other: { rowIDs: 1 },
      rowIDs,
    }
    const bytes = new TextEncoder().encode(JSON.stringify({ data }, null, 1))

    for (let size = 1; size <= bytes.length; size++) {
      const reader = new AnswerReader()
      for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size))

      expect([reader.tableId, reader.rowCount]).toEqual(['té-1', rowIDs.length])
    }
  })
})
