// Goal: how often and for how long a client retries, and what it reports when it gives up. Pauses take no time.
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Client,
  type ClientError,
  type ClientOptions,
  createClient,
} from '../../../src/client/client.js'
import { createTestServer } from '../../conformance/testing.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  return () => void vi.useRealTimers()
})

type Step = 'refused' | 'lost' | number

const CODES = { refused: 'ECONNREFUSED', lost: 'ECONNRESET' } as const

/** A server with scripted answers; the last step repeats. */
function scripted(
  steps: readonly Step[],
  options: Partial<ClientOptions> = {},
): Readonly<{ client: Client; tries: () => number }> {
  let tries = 0
  const fetch = async (): Promise<Response> => {
    const step = steps[Math.min(tries, steps.length - 1)] ?? 200
    tries++
    if (typeof step === 'number') return Response.json({ data: [] }, { status: step })
    const cause = Object.assign(new Error(`connect ${CODES[step]} 127.0.0.1:8080`), {
      code: CODES[step],
    })
    throw new TypeError('fetch failed', { cause })
  }
  const client = createClient({ url: 'http://127.0.0.1:8080', key: 'k', fetch, ...options })
  return { client, tries: () => tries }
}

async function failureOf(call: Promise<unknown>): Promise<ClientError> {
  const ended = call.then(
    () => Promise.reject(new Error('it succeeded')),
    (failure: ClientError) => failure,
  )
  ended.catch(() => undefined)
  await vi.runAllTimersAsync()
  return ended
}

test('a request keeps the process alive until it has its answer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const during: number[] = []
  const fetch = async (): Promise<Response> => {
    during.push(vi.getTimerCount())
    return Response.json({ data: [] })
  }
  await createClient({ url: 'http://127.0.0.1:8080', key: 'k', fetch }).tables()
  expect(during).toEqual([1])
  expect(vi.getTimerCount()).toBe(0)
})

describe('a request', () => {
  test.each<[string, Step[], Partial<ClientOptions>, number]>([
    ['that nothing takes, is tried three times', ['refused'], {}, 3],
    ['that nothing takes, as often as was asked for', ['refused'], { triesMax: 5 }, 5],
    ['without an answer is tried eight times', ['lost'], {}, 8],
    ['that is answered with 503, eight times', [503], {}, 8],
    ['is tried eight times, if a server has answered it before', [503, 'refused'], {}, 8],
    ['once', ['refused'], { triesMax: 1 }, 1],
  ])('%s', async (_, steps, options, count) => {
    const { client, tries } = scripted(steps, options)

    await failureOf(client.tables())

    expect(tries()).toBe(count)
  })

  test('is tried eight times, if a server has answered another one', async () => {
    const { client, tries } = scripted([200, 'refused'])
    await client.tables()

    await failureOf(client.tables())

    expect(tries()).toBe(1 + 8)
  })
})

describe('the failure of a request that was tried several times', () => {
  test('tells how often and how long, and names the options', async () => {
    const { client } = scripted(['refused'])

    const failure = await failureOf(client.tables())

    expect(failure).toMatchObject({ name: 'ClientError', status: 0, isUnsent: true })
    expect(failure.message).toMatch(
      /^The server did not answer: connect ECONNREFUSED 127\.0\.0\.1:8080 \(gave up after 3 tries in [0-9]+\.[0-9] s; see triesMax and onRetry\)$/,
    )
  })

  test('does not name the options to a program that was told of each', async () => {
    const pauses: number[] = []
    const { client } = scripted([503], { triesMax: 2, onRetry: (_, ms) => pauses.push(ms) })

    const failure = await failureOf(client.tables())

    expect(failure.message).toMatch(/status 503 \(gave up after 2 tries in [0-9]+\.[0-9] s\)$/)
    expect(failure.status).toBe(503)
    expect(pauses).toHaveLength(1)
  })

  test.each<[string, Step[], Partial<ClientOptions>]>([
    ['that was tried once', [503], { triesMax: 1 }],
    ['that is not repeated', [503, 400], {}],
  ])('is unchanged after one %s', async (_, steps, options) => {
    const { client } = scripted(steps, options)

    expect((await failureOf(client.tables())).message).not.toContain('gave up')
  })
})

test('a key that the server does not know is told as such, beside the words of the contract', async () => {
  const server = await createTestServer()
  onTestFinished(() => server.close())
  const wrong = createClient({ url: `${server.url}/`, key: 'another-key-of-somebody' })

  await expect(wrong.tables()).rejects.toMatchObject({
    status: 404,
    type: 'request_error',
    message: `API key not found, or duplicate an****dy: the server at ${server.url} does not know this key`,
  })
  const right = createClient({ url: server.url, key: server.key })
  await expect(right.table('no-such-table').page()).rejects.toMatchObject({
    message: expect.not.stringContaining('key'),
  })
})
