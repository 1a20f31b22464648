// A process that opens a store, changes it and does things that drop LevelDB's lock, in an order chosen by its seed.
// Its worker threads and child processes do a part of it, with this same program.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { openDirectory } from '../../../adapters/open-directory.js'
import { isStoreError, type Store } from '../../../src/index.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { describe } from './audit.js'
import { type ActorJob, type ActorLine, nowMs } from './lock-actor-job.js'

const PROGRAM = fileURLToPath(import.meta.url)
const ROWS_MAX = 3
const PAUSE_MS_MAX = 20

const QUIET = {
  maintenance: false,
} as const

type Said<Line> = Line extends ActorLine ? Omit<Line, 'at'> : never

/** Writes the line at once, even if this process is killed next. */
function say(line: Said<ActorLine>): void {
  writeSync(1, `${JSON.stringify({ at: nowMs(), ...line })}\n`)
}

/** A thread or process that may have the store. */
class Holder {
  readonly #job: ActorJob
  readonly name: string
  #store: Store | undefined
  #rows = 0

  constructor(job: ActorJob, name: string) {
    this.#job = job
    this.name = name
  }

  async open(waitMs: number): Promise<boolean> {
    if (this.#store !== undefined) return true
    const began = nowMs()
    const holder = this.name
    try {
      this.#store = await openDirectory(this.#job.directory, { ...QUIET, waitMs })
      say({ say: 'opened', holder, tookMs: nowMs() - began })
      return true
    } catch (failure) {
      if (!isLocked(failure)) throw failure
      say({ say: 'locked', holder, tookMs: nowMs() - began - waitMs })
      return false
    }
  }

  async add(count: number): Promise<void> {
    const table = this.#store?.team('team').table(this.#job.table)
    for (let i = 0; i < count && table !== undefined; i++) {
      const text = `${this.name} ${this.#rows++}`
      await table.addRows([{ text }])
      say({ say: 'acknowledged', text })
    }
  }

  async close(): Promise<void> {
    if (this.#store === undefined) return
    say({ say: 'ends', holder: this.name })
    await this.#store.close()
    this.#store = undefined
  }
}

function isLocked(failure: unknown): boolean {
  return isStoreError(failure) && failure.code === 'STORE_LOCKED'
}

/** A holder in another thread or process: opens, adds, and closes unless it is ended first. */
async function holdOnce(job: ActorJob): Promise<void> {
  const random = seeded(job.seed)
  const holder = new Holder(job, job.name)
  if (!(await holder.open(0))) return
  await holder.add(1 + random.below(ROWS_MAX))
  await pause(random.below(PAUSE_MS_MAX))
  await holder.close()
}

class Actor {
  readonly #job: ActorJob
  readonly #random: Seeded
  readonly #holder: Holder
  #others = 0

  constructor(job: ActorJob) {
    this.#job = job
    this.#random = seeded(job.seed)
    this.#holder = new Holder(job, job.name)
  }

  async run(): Promise<void> {
    for (let step = 0; step < this.#job.steps; step++) await this.#step()
    await this.#holder.close()
  }

  async #step(): Promise<void> {
    const random = this.#random
    const way = random.below(100)
    if (way < 35) await this.#holder.open(random.pick([0, 0, 50]))
    else if (way < 55) await this.#holder.add(1 + random.below(ROWS_MAX))
    else if (way < 70) await this.#holder.close()
    else if (way < 80) readFileSync(join(this.#job.directory, 'kv', 'LOCK'))
    else if (way < 86) await this.#copy()
    else if (way < 92) await this.#inThread()
    else if (way < 96) await this.#inChild()
    else await pause(random.below(PAUSE_MS_MAX))
  }

  /** Copies the directory as it is. Nobody else has the copy. */
  async #copy(): Promise<void> {
    const copy = `${this.#job.directory}-${this.#job.name}`
    try {
      cpSync(this.#job.directory, copy, { recursive: true })
      await (await openDirectory(copy, QUIET)).close()
    } catch (failure) {
      // A file that changes while it is copied may be damaged, or missing.
      if (isLocked(failure)) say({ say: 'failed', what: `a copy: ${describe(failure)}` })
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }

  async #inThread(): Promise<void> {
    const job = this.#other('w')
    const worker = new Worker(PROGRAM, { workerData: job })
    const ended = once(worker, 'exit')
    worker.on('error', (failure) => say({ say: 'failed', what: `a thread: ${describe(failure)}` }))
    if (this.#random.below(2) === 0) {
      await pause(this.#random.below(10 * PAUSE_MS_MAX))
      say({ say: 'ends', holder: job.name })
      await worker.terminate()
    }
    await ended
  }

  async #inChild(): Promise<void> {
    const job = this.#other('c')
    const args = [PROGRAM, JSON.stringify(job)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    const ended = once(child, 'exit')
    if (this.#random.below(2) === 0) {
      await pause(this.#random.below(10 * PAUSE_MS_MAX))
      say({ say: 'ends', holder: job.name })
      child.kill('SIGKILL')
    }
    await ended
  }

  #other(kind: string): ActorJob {
    const name = `${this.#job.name} ${kind}${this.#others++}`
    return { ...this.#job, name, seed: this.#random.below(2 ** 31) }
  }
}

async function main(): Promise<void> {
  const [, , once] = process.argv
  if (!isMainThread) return holdOnce(workerData as ActorJob)
  if (once !== undefined) return holdOnce(JSON.parse(once) as ActorJob)
  for await (const line of createInterface(process.stdin)) {
    try {
      await new Actor(JSON.parse(line) as ActorJob).run()
    } catch (failure) {
      say({ say: 'failed', what: describe(failure) })
    }
    say({ say: 'done' })
  }
}

await main()
