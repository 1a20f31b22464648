// Goal: an import by the command survives kill -9 of its server and of itself, with no row lost or duplicated.
// Method: a proxy counts acknowledged chunks. After some of them the server is killed and restarted, twice. The command
// is killed in the middle, and when the table was created but its answer has not arrived; each time it runs again with
// --resume. Then the exported table must equal the imported file.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli, runCli, type Serving, serveCli } from '../../support/built-cli.js'
import { freePort } from '../../support/free-port.js'
import { fixedSizeOf, report, suiteSeed } from '../../support/ladder.js'
import { type Answered, openWatchedProxy } from './watched-proxy.js'

const KEY = 'a-key-for-the-tests'
const ROWS = fixedSizeOf({ push: 20_000, deep: 1_000_000 })
const CHUNK_ROWS = ROWS / 100

/** Kills after a percentage of the chunks was acknowledged. */
const KILLS: readonly (readonly [percent: number, victim: 'server' | 'client'])[] = [
  [20, 'server'],
  [45, 'client'],
  [70, 'server'],
]

function lineOf(n: number, seed: number): string {
  const hash = Math.imul(n + seed, 2_654_435_761) >>> 0
  return `${n},${hash % 10_000}.50,"text ${hash}, ""${n % 7}""${n % 5 === 0 ? '\n' : ' '}end"\n`
}

function* piecesOf(seed: number): Generator<string> {
  let piece = 'id,price,note\n'
  for (let n = 0; n < ROWS; n++) {
    piece += lineOf(n, seed)
    if (n % 1_000 !== 999) continue
    yield piece
    piece = ''
  }
  yield piece
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece)
  return hash.digest('hex')
}

type Stage = Readonly<{
  cli: BuiltCli
  folder: string
  directory: string
  input: string
  port: number
}>

async function openStage(seed: number): Promise<Stage> {
  const cli = await buildCli()
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-resume-'))
  onTestFinished(async () => {
    await rm(folder, { recursive: true })
  })
  const input = join(folder, 'rows.csv')
  await pipeline(Readable.from(piecesOf(seed)), createWriteStream(input))
  return { cli, folder, directory: join(folder, 'store'), input, port: await freePort() }
}

function startServer({ cli, directory, port }: Stage): Promise<Serving> {
  return serveCli(cli.path, ['--directory', directory, '--key', KEY, '--port', String(port)])
}

class Run {
  readonly #stage: Stage
  #serving: Promise<Serving>
  #client: ChildProcess | undefined
  #acknowledged = 0
  #kills = [...KILLS]
  #isCommitMet = false
  serverKills = 0
  clientKills = 0

  constructor(stage: Stage) {
    this.#stage = stage
    this.#serving = startServer(stage)
  }

  onAnswer({ method, path, status }: Answered): void {
    if (method === 'PUT' && status === 200) this.#acknowledged++
    const [percent, victim] = this.#kills[0] ?? []
    if (percent !== undefined && this.#acknowledged >= percent) {
      this.#kills.shift()
      if (victim === 'client') this.#killClient()
      else this.#serving = this.#restart()
    }
    if (method === 'POST' && path === '/tables' && status === 201 && !this.#isCommitMet) {
      this.#isCommitMet = true
      this.#killClient()
    }
  }

  #killClient(): void {
    this.clientKills++
    this.#client?.kill('SIGKILL')
  }

  async #restart(): Promise<Serving> {
    const { child } = await this.#serving
    this.serverKills++
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    return startServer(this.#stage)
  }

  /** Runs the command until it ends by itself. @returns its last output, and how often it ran */
  async import(url: string): Promise<Readonly<{ output: string; errors: string; runs: number }>> {
    const { cli, input } = this.#stage
    await this.#serving
    const options = ['--chunk-rows', String(CHUNK_ROWS), '--parallel', '4', '--resume', '--json']
    const args = ['import', input, '--url', url, '--key', KEY, '--table', 'Rows', ...options]
    for (let runs = 1; ; runs++) {
      const child = spawn(process.execPath, [cli.path, ...args])
      this.#client = child
      const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      if (child.signalCode !== 'SIGKILL') return { output, errors, runs }
    }
  }

  async stop(): Promise<void> {
    await (await this.#serving).stop()
  }
}

test('an import that is killed with its server goes on, and has every row once', async () => {
  const seed = suiteSeed()
  const startedAt = performance.now()
  const stage = await openStage(seed)
  const run = new Run(stage)
  const proxy = await openWatchedProxy(stage.port, (answered) => run.onAnswer(answered))
  onTestFinished(() => proxy.close())

  const { output, errors, runs } = await run.import(proxy.url)
  await run.stop()
  const place = ['--directory', stage.directory]
  const exported = join(stage.folder, 'exported.csv')
  const done = await runCli(stage.cli.path, ['export', exported, ...place, '--table', 'Rows'])
  const tables = await runCli(stage.cli.path, ['tables', ...place, '--json'])

  expect({
    runs,
    serverKills: run.serverKills,
    clientKills: run.clientKills,
    errors,
  }).toMatchObject({
    runs: 3,
    serverKills: 2,
    clientKills: 2,
  })
  expect(JSON.parse(output)).toMatchObject({ rows: ROWS })
  expect(done).toMatchObject({ code: 0, stdout: '' })
  const last = done.stderr.trim().split('\n').at(-1) // Lines of progress come before it on a slow machine.
  expect(last).toMatch(new RegExp(`^${ROWS} rows, \\d+ bytes in .*exported\\.csv$`))
  expect(tables.stdout.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(tables.stdout)).toMatchObject({ rowCount: ROWS })
  expect(await digestOf(exported)).toBe(await digestOf(stage.input))
  const { skippedChunks } = JSON.parse(output)
  console.log(
    `${ROWS} rows; chunks not sent again by the last run: ${skippedChunks}; runs: ${runs}`,
  )
  report({
    suite: 'T22 resume',
    seed,
    runs: ROWS,
    seconds: (performance.now() - startedAt) / 1000,
    violations: 0,
  })
}, 600_000)
