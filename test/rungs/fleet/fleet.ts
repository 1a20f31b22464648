// The servers of a fleet: processes on one store, which are killed and started again.
import { setTimeout as pause } from 'node:timers/promises'
import type { Seeded } from '../../support/seeded.js'
import { type RunningWriter, startWriter } from '../crash/writer-process.js'
import type { FleetJob, ServerLine } from './fleet-job.js'

/** A server opens its store in less. */
const START_MS_MAX = 60_000

type RunningServer = Readonly<{ process: RunningWriter; url: string }>

export class Fleet {
  readonly #program: string
  readonly #job: FleetJob
  /** By their places; null while one is started again. */
  readonly #servers: (RunningServer | null)[] = []
  /** Those that were told to end. */
  readonly #ended = new WeakSet<RunningWriter>()
  /** Failures of requests and of background work, and how often there was one in these words. */
  readonly notes = new Map<string, number>()
  /** Objects that garbage collections deleted. */
  report = 0
  /** Segments that settles rewrote. */
  settled = 0
  /** What must not be. */
  readonly wrong: string[] = []
  kills = 0

  private constructor(program: string, job: FleetJob) {
    this.#program = program
    this.#job = job
  }

  static async start(program: string, job: FleetJob, count: number): Promise<Fleet> {
    const fleet = new Fleet(program, job)
    await fleet.#start(0) // The first one creates the tables.
    for (let place = 1; place < count; place++) await fleet.#start(place)
    return fleet
  }

  /** A running server. */
  async url(random: Seeded): Promise<string> {
    for (;;) {
      const running = this.#servers.filter((server) => server !== null)
      if (running.length > 0) return random.pick(running).url
      await pause(20)
    }
  }

  /** Kills a server and starts another in its place. */
  async killOne(random: Seeded, restMs: number): Promise<void> {
    const place = random.below(this.#servers.length)
    const server = this.#servers[place]
    if (server === null || server === undefined) return
    this.#servers[place] = null
    this.kills++
    await this.#end(server.process, 'SIGKILL')
    await pause(restMs)
    await this.#start(place)
  }

  /** Ends all servers in order. */
  async stop(): Promise<void> {
    const all = this.#servers.splice(0).filter((server) => server !== null)
    await Promise.all(all.map(({ process }) => this.#end(process, 'SIGTERM')))
  }

  /** Ends what still runs, after a failure. */
  killAll(): void {
    for (const server of this.#servers) {
      if (server === null) continue
      this.#ended.add(server.process)
      server.process.child.kill('SIGKILL')
    }
  }

  async #end(process: RunningWriter, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#ended.add(process)
    process.child.kill(signal)
    const ended = await process.ended
    const isInOrder = signal === 'SIGKILL' ? ended.signal === signal : ended.code === 0
    if (!isInOrder) this.wrong.push(`a server ended with ${ended.code}: ${ended.stderr}`)
  }

  async #start(place: number): Promise<void> {
    const process = startWriter(this.#program, this.#job)
    const url = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('A server does not start')), START_MS_MAX)
      process.child.stdout?.on(
        'data',
        onLines((line) => {
          if (line.say === 'open') resolve(line.url)
          this.#take(line)
        }),
      )
      void process.ended.then(({ code, signal, stderr }) => {
        clearTimeout(timer)
        if (this.#ended.has(process)) return
        this.wrong.push(`a server ended by itself with ${code ?? signal}: ${stderr}`)
        reject(new Error(stderr))
      })
    })
    this.#servers[place] = { process, url }
  }

  #take(line: ServerLine): void {
    if (line.say === 'report') this.report += line.objects
    if (line.say === 'settled') this.settled += line.segments
    if (line.say !== 'note') return
    const text = line.text.replace(/[0-9a-f-]{32,36}/g, '…')
    this.notes.set(text, (this.notes.get(text) ?? 0) + 1)
    const isOfStorage = /\b(?:STORAGE_UNAVAILABLE|STORE_CLOSED)\b/.test(text)
    if (!isOfStorage) this.wrong.push(`a server says: ${text}`)
  }
}

/** Joins pieces of output to lines. */
function onLines(take: (line: ServerLine) => void): (piece: string) => void {
  let rest = ''
  return (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(JSON.parse(line) as ServerLine)
  }
}
