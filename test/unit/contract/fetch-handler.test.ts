// Behaviour of fetchHandler beyond the contract: mounting, streams, and arguments.
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type FetchHandler,
  type FetchHandlerOptions,
  fetchHandler,
  openMemory,
  type Store,
} from '../../../src/index.js'

const keys = [{ key: 'a-key-of-a-team', teamId: 'team' }]
const headers = { authorization: 'Bearer a-key-of-a-team', 'content-type': 'application/json' }

async function serve(options: Partial<FetchHandlerOptions> = {}): Promise<{
  store: Store
  handler: FetchHandler
}> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return { store, handler: fetchHandler(store, { keys, ...options }) }
}

const get = (url: string): Request => new Request(url, { headers })

/** A file of the team, and the URL under which it is served. */
async function storeFile(store: Store, content: Uint8Array): Promise<string> {
  const { path } = await store.team('team').files.put(content, {
    contentType: 'application/octet-stream',
    fileName: 'a.bin',
  })
  return `https://rows.example/${path}`
}

describe('mounting', () => {
  test('a path is taken below the base path, and nowhere else', async () => {
    const { handler } = await serve({ basePath: '/api' })
    const statusOf = async (path: string) =>
      (await handler(get(`https://rows.example${path}`))).status

    expect(await statusOf('/api/tables')).toBe(200)
    expect(await statusOf('/tables')).toBe(404)
    expect(await statusOf('/apiary/tables')).toBe(404)
  })

  test('URLs that answers name begin with the origin of the request and the base path', async () => {
    const { handler } = await serve({ basePath: '/api' })
    const body = JSON.stringify({ contentType: 'image/png', fileName: 'a.png' })
    const request = new Request('https://rows.example/api/apps/a/uploads', {
      method: 'POST',
      headers,
      body,
    })

    const { data } = (await (await handler(request)).json()) as { data: { uploadLocation: string } }

    expect(data.uploadLocation).toMatch(/^https:\/\/rows\.example\/api\/uploads\//)
  })
})

test('clients that guess keys are counted by what clientOf returns', async () => {
  const { handler } = await serve({
    refusedKeysPerMinuteMax: 2,
    clientOf: ({ headers }) => headers.get('x-client') ?? undefined,
  })
  const guess = async (client: string) => {
    const request = new Request('https://rows.example/tables', {
      headers: { authorization: 'Bearer a-guessed-key', 'x-client': client },
    })
    return (await handler(request)).status
  }

  expect([await guess('a'), await guess('a'), await guess('a')]).toEqual([404, 404, 429])
  expect(await guess('b')).toBe(404)
})

describe('streams', () => {
  const content = new Uint8Array(3_000_000).map((_, at) => at % 251)

  test('a long answer comes in pieces, as they are read', async () => {
    const { store, handler } = await serve()
    const { body } = await handler(new Request(await storeFile(store, content)))
    const pieces: Uint8Array[] = []

    for await (const piece of body ?? []) pieces.push(piece)

    expect(pieces.length).toBeGreaterThan(10)
    expect(Buffer.compare(Buffer.concat(pieces), content)).toBe(0)
  })

  test('a reader that leaves ends the answer', async () => {
    const { store, handler } = await serve()
    const { body } = await handler(new Request(await storeFile(store, content)))
    const reader = body?.getReader()
    await reader?.read()

    await expect(reader?.cancel()).resolves.toBeUndefined()
  })

  test('a body is not read beyond what is refused, and stays with the runtime', async () => {
    const { handler } = await serve({ bodyBytesMax: 1_000_000 })
    let pulls = 0
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls++
        controller.enqueue(new Uint8Array(100_000).fill(32))
      },
      cancel() {
        isCancelled = true
      },
    })
    const init = { method: 'POST', headers, body, duplex: 'half' }

    const { status } = await handler(
      new Request('https://rows.example/tables', init as RequestInit),
    )

    expect(status).toBe(413)
    expect(pulls).toBeLessThan(20)
    expect(isCancelled).toBe(false)
  })
})

test.each([
  [undefined],
  [{}],
  [{ url: '/tables', method: 'GET', headers: { host: 'rows.example' } }],
])('what is no Request is refused: %j', async (request) => {
  const { handler } = await serve()

  const answer = handler(request as unknown as Request)

  await expect(answer).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
    message: expect.stringMatching(/^The handler takes a Request, not /),
  })
})

test.each([
  [{ basePath: 'api' }, /^Option "basePath" must be like "\/api\/v2", not "api"$/],
  [{ trustedProxies: [] }, /^Option "trustedProxies" is not an option of/],
])('an option that is not as it must be is refused: %j', async (options, message) => {
  const { store } = await serve()

  expect(() => fetchHandler(store, { keys, ...options } as FetchHandlerOptions)).toThrow(message)
})
