// Goal: whatever bytes clients send, the server neither ends nor hangs. Each request is answered as the OpenAPI
// document says, or its connection is closed. No answer is an internal error, other clients are served meanwhile, and
// the memory is freed.
// Method: requests from a grammar of all routes, some of them mutated, are written to sockets of a server in a separate
// process, round by round, each with a new team and seed. A healthy client of another team works meanwhile.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type RecordedSeed,
  recordedSeeds,
  report,
  sizeOf,
  suiteSeed,
  tier,
} from '../../support/ladder.js'
import { type Exchange, OpenApiProof } from '../../support/openapi-proof.js'
import { seeded } from '../../support/seeded.js'
import { runsAll } from '../../support/what-runs.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import { converse, type Outcome } from './exchange.js'
import { makeKnown } from './fixture.js'
import { FuzzedServer, type Seen } from './fuzzed-server.js'
import { conversation } from './wire.js'

const ROUND_REQUESTS = 2_000
const CONNECTIONS = 16
/** Rounds between two measurements of the memory. Buffer pools fill before the first. */
const LOOK_ROUNDS = 3
/** After this share of the measurements the caches of the store and of LevelDB are full, and the code is compiled. */
const WARM_SHARE = 0.1
const MEMORY_MORE_MIB_MAX = 32
const PAUSE_MS = 2_000
/** The pause before the last measurement: after some idle seconds, V8 frees what it does not use. */
const END_PAUSE_MS = { push: 2_000, deep: 30_000 }[tier]
/** Asserted with `--deep`, on an idle machine. */
const HEALTHY_P99_MS_MAX = 250
/** Least share of requests that reach a handler with a body. */
const BODY_SHARE_MIN = 0.6
const PROBLEMS_MAX = 20

let folder: string
let programs: BuiltPrograms
let server: FuzzedServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-t12-'))
  programs = await buildPrograms(['fuzz-server'], {
    smallBuffers: false,
    from: 'test/rungs/http-fuzz',
  })
  server = await FuzzedServer.start(programs.path('fuzz-server'), join(folder, 'store'))
})

afterAll(async () => {
  server.end()
  await programs.remove()
  await rm(folder, { recursive: true, force: true })
})

const proof = new OpenApiProof()

/** Statuses of a server that cannot serve a request now, or not at all. */
const SERVER_STATUSES: ReadonlySet<number> = new Set([501, 503, 507])

function problemsOf({ sent, mayEnd, exchange }: Outcome): readonly string[] {
  if (exchange === undefined) return mayEnd ? [] : [`${sent.line}: closed without an answer`]
  const { status, text = '' } = exchange
  const isAllowed = status < 500 || SERVER_STATUSES.has(status)
  const failed = isAllowed ? [] : [`${sent.line} was answered ${status}: ${text.slice(0, 200)}`]
  return [...failed, ...shapeProblems(exchange)]
}

function shapeProblems(exchange: Exchange): readonly string[] {
  try {
    return proof.check(exchange)
  } catch (failure) {
    return [
      `${exchange.method} ${exchange.path.slice(0, 100)} ${exchange.status}: ${String(failure)}`,
    ]
  }
}

class Tally {
  requests = 0
  withBody = 0
  readonly statuses: Record<string, number> = {}
  readonly problems: string[] = []
  failing: RecordedSeed | undefined

  add(seed: number, outcome: Outcome): void {
    const status = String(outcome.exchange?.status ?? 'closed')
    this.requests++
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    this.fail(seed, problemsOf(outcome))
  }

  fail(seed: number, problems: readonly string[]): void {
    this.problems.push(...problems.map((problem) => `seed ${seed}: ${problem}`))
  }
}

/** Sends the requests of one seed, on several connections at once. */
async function sendRound({ seed, runs }: RecordedSeed, tally: Tally): Promise<void> {
  const random = seeded(seed)
  const known = await makeKnown(server.url, `round${seed}x${tally.requests}`)
  const { hostname: host, port } = new URL(server.url)
  const before = withBody(await server.seen())
  let left = runs
  const inTurn = async (): Promise<void> => {
    while (left > 0 && server.ended === undefined) {
      const next = conversation(random, known)
      left -= next.requests.length
      const { outcomes, problems } = await converse(next, { host, port: Number(port) }, left)
      for (const outcome of outcomes) tally.add(seed, outcome)
      tally.fail(seed, problems)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, inTurn))
  if (server.ended === undefined) tally.withBody += withBody(await server.seen()) - before
  else tally.fail(seed, [`the server ${server.ended}`])
}

/** Number of requests that have reached a handler with a body. */
function withBody({ answered }: Seen): number {
  const operations = proof.openApi.operations.filter(
    ({ requestContent }) => requestContent.size > 0,
  )
  const names = new Set(operations.map(({ method, path }) => `${method} ${path}`))
  return Object.entries(answered).reduce((sum, [name, count]) => {
    return names.has(name.replace(/ \d+$/, '')) ? sum + count : sum
  }, 0)
}

/** Memory of the server, some time after the last request. */
async function restedMebibytes(ms: number): Promise<number> {
  await sleep(ms)
  return Math.round((await server.seen()).memoryBytes / 1024 / 1024)
}

test('no request ends, stalls or confuses the server', { timeout: 7_200_000 }, async () => {
  const [seed, runs] = [suiteSeed(), sizeOf({ push: 10_000, deep: 300_000 })]
  const rounds = Array.from({ length: Math.ceil(runs / ROUND_REQUESTS) }, (_, at) => ({
    seed: seed + at,
    runs: Math.min(ROUND_REQUESTS, runs - at * ROUND_REQUESTS),
  }))
  const startedAt = performance.now()
  const tally = new Tally()
  const memory: number[] = []
  await server.latencies() // from here on
  for (const [at, next] of [...recordedSeeds('T12'), ...rounds].entries()) {
    await sendRound(next, tally)
    if (tally.problems.length > 0) tally.failing ??= next
    if (server.ended !== undefined || tally.problems.length >= PROBLEMS_MAX) break
    if (at % LOOK_ROUNDS === LOOK_ROUNDS - 1) memory.push(await restedMebibytes(PAUSE_MS))
  }
  memory.push(await restedMebibytes(END_PAUSE_MS))
  const seconds = (performance.now() - startedAt) / 1_000
  const { problems, requests, failing, statuses } = tally
  report({
    suite: 'T12 HTTP fuzz',
    seed,
    runs: requests,
    seconds,
    violations: problems.length,
    failing,
  })

  const [healthy, { failures, refusals }] = [await server.latencies(), await server.seen()]
  const share = tally.withBody / requests
  console.log(JSON.stringify({ statuses, share, healthy, memoryMiB: memory, refusals }))
  expect(problems.slice(0, PROBLEMS_MAX)).toEqual([])
  expect(failures).toEqual([])
  expect(healthy.failed).toBe(0)
  if (tier === 'deep') expect(healthy.p99).toBeLessThanOrEqual(HEALTHY_P99_MS_MAX)
  expect(share).toBeGreaterThanOrEqual(BODY_SHARE_MIN)
  const base = memory[Math.floor(WARM_SHARE * memory.length)] ?? 0
  if (runsAll) expect((memory.at(-1) ?? 0) - base).toBeLessThanOrEqual(MEMORY_MORE_MIB_MAX)
})
