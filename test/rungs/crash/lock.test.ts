// Goal: of all processes, worker threads and stores, only one at a time has a directory, whatever is done with its
// files and whenever processes are killed. Nothing acknowledged is lost, and no restart waits.
// Method: up to four processes open, change and close one store, read kv/LOCK, copy the directory, and start worker
// threads and child processes that open it too. Some are killed and restarted, some stop for a while. Each prints when
// it has the store: no two times may overlap. After the last of them has ended, the next open must neither wait nor be
// refused. In two PID namespaces: the same, and an open waits for at most three heartbeats.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import { report, reportSkip, sizeOf, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { missingNamespaces, NEW_NAMESPACES } from './capabilities.js'
import { type ActorJob, type ActorLine, nowMs } from './lock-actor-job.js'
import { type BuiltPrograms, buildPrograms } from './writer-process.js'

const TIMEOUT_MS = { push: 300_000, deep: 7_200_000 }[tier]
const ACTORS_MAX = 4
const STEPS_MAX = 14
const STOP_MS_MAX = 3_000
/** Longer than any open takes. test/unit/adapters/directory-lock.test.ts checks the exact bounds. */
const HANG_MS = 60_000
const SHOWN = 10
/** In fewer runs it may be that nobody is killed. */
const RUNS_WITH_A_KILL = 10

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['lock-actor'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-lock-'))
})

afterAll(async () => {
  await programs.remove()
  await rm(folder, { recursive: true, force: true })
})

/** Lines after which something happens to a process; 0: it does not. */
type Troubles = Readonly<{ kill: number; stop: number; stopMs: number }>

const NO_TROUBLES: Troubles = { kill: 0, stop: 0, stopMs: 0 }

/** A process of the suite. It gets one job after another until it is killed. */
class Process {
  readonly child: ChildProcess
  readonly #ended: Promise<unknown>
  #hear: (line: ActorLine) => void = () => undefined

  constructor(before: readonly string[]) {
    const [command = '', ...args] = [...before, process.execPath, programs.path('lock-actor')]
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#ended = once(this.child, 'close') // Its child processes have ended by then too.
    const { stdout } = this.child
    if (stdout === null) throw new Error('The process has no output')
    createInterface(stdout).on('line', (text) => this.#hear(JSON.parse(text) as ActorLine))
  }

  /** @param after - Kills it, or stops it for a while, after so many lines. @returns whether it lives. */
  async run(job: ActorJob, after: Troubles, note: (line: ActorLine) => void): Promise<boolean> {
    let heard = 0
    const done = new Promise<boolean>((resolve) => {
      this.#hear = (line) => {
        if (line.say === 'done') return resolve(true)
        note(line)
        heard++
        if (heard === after.kill) note(this.kill(job.name))
        if (heard === after.stop) this.#stop(after.stopMs)
      }
    })
    this.child.stdin?.write(`${JSON.stringify(job)}\n`)
    const isAlive = await Promise.race([done, this.#ended.then(() => false)])
    this.#hear = note
    return isAlive
  }

  #stop(ms: number): void {
    this.child.kill('SIGSTOP')
    setTimeout(() => this.child.kill('SIGCONT'), ms)
  }

  /** Kills it. @returns the end of what it may have had. */
  kill(holder: string): ActorLine {
    const line = { at: nowMs(), say: 'ends', holder } as const
    this.child.kill('SIGKILL')
    return line
  }

  async end(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#ended
  }
}

type Heard = Readonly<{ lines: ActorLine[]; wrong: string[] }>

/** The holders that had the store at the same time. */
function overlaps(lines: readonly ActorLine[]): string[] {
  const endOf = (holder: string, from: number): number => {
    const ends = lines.filter((line) => line.say === 'ends' && isOf(holder, line.holder))
    const after = ends.map(({ at }) => at).filter((at) => at >= from)
    // A thread or process that is being ended may still open the store.
    return ends.some(({ at }) => at < from) && after.length === 0 ? from : Math.min(...after)
  }
  const held = lines
    .flatMap((line) => {
      if (line.say !== 'opened') return []
      const { holder, at } = line
      return [{ holder, at, end: endOf(holder, at) }]
    })
    .sort((left, right) => left.at - right.at)
  return held.flatMap(({ holder, at }, index) => {
    const other = held.slice(0, index).find(({ end }) => end > at)
    return other === undefined
      ? []
      : [`${holder} opened at ${at}; ${other.holder} had it to ${other.end}`]
  })
}

/** Whether the end of one process ends a holder: its threads end with it, its child processes do not. */
function isOf(holder: string, ended: string): boolean {
  return holder === ended || holder.startsWith(`${ended} w`)
}

async function newStore(directory: string): Promise<string> {
  const store = await openDirectory(directory)
  const schema = { columns: [{ id: 'text', displayName: 'text', type: 'string' as const }] }
  const { tableId } = await store.team('team').createTable({ name: 't', schema, rows: [] })
  await store.close()
  return tableId
}

/** Opens the store after all have ended, and checks what was acknowledged. @returns how long the open took */
async function examine(directory: string, table: string, { lines, wrong }: Heard): Promise<number> {
  const began = nowMs()
  const store = await openDirectory(directory)
  const tookMs = nowMs() - began
  const texts = new Set<unknown>()
  for await (const { text } of store.team('team').table(table).scan()) texts.add(text)
  for (const line of lines) {
    if (line.say === 'failed') wrong.push(line.what)
    if (line.say === 'acknowledged' && !texts.has(line.text)) wrong.push(`lost: ${line.text}`)
  }
  wrong.push(...overlaps(lines))
  const { ok } = await store.verify({ full: true })
  if (!ok) wrong.push('damaged')
  await store.close()
  return tookMs
}

type Sum = { acknowledged: number; opened: number; kills: number; longestMs: number }

/** Runs interleavings on the same processes; killed ones are restarted. @param before - Of each process. */
async function runAll(
  count: number,
  random: Seeded,
  before: readonly (readonly string[])[],
): Promise<Readonly<{ sum: Sum; wrong: string[] }>> {
  const sum: Sum = { acknowledged: 0, opened: 0, kills: 0, longestMs: 0 }
  const processes = before.map((command) => new Process(command))
  const wrong: string[] = []
  for (let round = 0; round < count; round++) {
    const directory = join(folder, `store-${round}`)
    const table = await newStore(directory)
    const heard: Heard = { lines: [], wrong: [] }
    const note = (line: ActorLine): void => void heard.lines.push(line)
    const actors = 2 + random.below(before.length - 1)
    const running = processes.slice(0, actors).map(async (running, index) => {
      let one = running
      const [seed, steps] = [random.below(2 ** 31), 4 + random.below(STEPS_MAX - 3)]
      const kill = random.once(2) ? 1 + random.below(12) : 0
      const stop = random.once(3) ? 1 + random.below(12) : 0
      const troubles = { kill, stop, stopMs: random.below(STOP_MS_MAX) }
      const job = { directory, table, name: `${index}`, seed, steps }
      if (await one.run(job, troubles, note)) return
      sum.kills++
      one = new Process(before[index] ?? [])
      processes[index] = one
      await one.run({ ...job, name: `${index}b`, seed: seed + 1, steps: 4 }, NO_TROUBLES, note)
    })
    await Promise.all(running)
    const lastMs = await examine(directory, table, heard)
    await rm(directory, { recursive: true })
    for (const line of heard.lines) {
      if (line.say === 'acknowledged') sum.acknowledged++
      if (line.say === 'opened') sum.opened++
      if (line.say === 'opened' || line.say === 'locked') {
        sum.longestMs = Math.max(sum.longestMs, line.tookMs)
      }
    }
    sum.longestMs = Math.max(sum.longestMs, lastMs)
    wrong.push(...heard.wrong.map((what) => `round ${round}: ${what}`))
  }
  await Promise.all(processes.map((one) => one.end()))
  return { sum, wrong }
}

/** Runs a suite and reports it. */
async function runSuite(
  name: string,
  count: number,
  before: readonly (readonly string[])[],
): Promise<Sum> {
  const seed = suiteSeed()
  const began = performance.now()
  const { sum, wrong } = await runAll(count, seeded(seed), before)
  const { opened, acknowledged, kills, longestMs } = sum
  const seconds = (performance.now() - began) / 1_000
  const what = `${opened} opens, ${acknowledged} commits, ${kills} kills, longest open ${Math.round(longestMs)} ms`
  report({
    suite: `T23 lock, ${name}: ${what}`,
    seed,
    runs: count,
    seconds,
    violations: wrong.length,
  })
  expect(wrong.slice(0, SHOWN)).toEqual([])
  if (count >= RUNS_WITH_A_KILL) expect(kills).toBeGreaterThan(0)
  return sum
}

test('one process at a time has a directory, loses nothing, and starts again at once', {
  timeout: TIMEOUT_MS,
}, async () => {
  const here = Array.from({ length: ACTORS_MAX }, () => [])
  const { longestMs } = await runSuite('one namespace', sizeOf({ push: 20, deep: 1_000 }), here)
  expect(longestMs).toBeLessThan(HANG_MS)
})

const missing = missingNamespaces()

test.runIf(missing === null)(
  'so it is in two PID namespaces, where an open waits for three beats at most',
  { timeout: TIMEOUT_MS },
  async () => {
    const count = Math.ceil(sizeOf({ push: 50, deep: 1_000 }) / 50)
    const { longestMs } = await runSuite('two namespaces', count, [NEW_NAMESPACES, NEW_NAMESPACES])
    expect(longestMs).toBeLessThan(HANG_MS)
  },
)

test.skipIf(missing === null)('PID namespaces are not made here', () => {
  reportSkip('T23 lock, two namespaces', missing ?? '')
})
