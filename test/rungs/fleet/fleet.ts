// The servers of a fleet: processes on one store, which are killed and restarted.
import { setTimeout as pause } from 'node:timers/promises'
import type { CutProxy } from '../../support/cut-proxy.js'
import type { Seeded } from '../../support/seeded.js'
import { type RunningWriter, startWriter } from '../crash/writer-process.js'
import type { FleetJob, ServerLine } from './fleet-job.js'

/** A server opens its store faster. */
const START_MS_MAX = 60_000

type RunningServer = Readonly<{
  process: RunningWriter
  url: string
  /** The proxy before it, for requests whose connections may be disturbed. */
  door: CutProxy | undefined
}>

export type FleetTerms = Readonly<{
  /** The program of a server, and its job. */
  programOf(place: number): string
  jobOf(place: number): FleetJob
  /** Opens a proxy before a server; default: there is none. */
  openDoor?(port: number): Promise<CutProxy>
}>

export class Fleet {
  readonly #terms: FleetTerms
  /** By place; null while one is restarted. */
  readonly #servers: (RunningServer | null)[] = []
  /** Servers that were told to end. */
  readonly #ended = new WeakSet<RunningWriter>()
  /** Failures of requests and of background work, with the number of times for each text. */
  readonly notes = new Map<string, number>()
  /** Number of objects that garbage collections deleted. */
  report = 0
  /** Number of segments that recompressions rewrote. */
  settled = 0
  /** Violations. */
  readonly wrong: string[] = []
  kills = 0
  /** How often servers stopped at each step; 0: they reached it, and did not stop. */
  readonly stops = new Map<string, number>()

  private constructor(terms: FleetTerms) {
    this.#terms = terms
  }

  static async start(terms: FleetTerms, count: number): Promise<Fleet> {
    const fleet = new Fleet(terms)
    await fleet.#start(0) // The first one creates the tables.
    for (let place = 1; place < count; place++) await fleet.#start(place)
    return fleet
  }

  async url(random: Seeded): Promise<string> {
    return (await this.server(random)).url
  }

  async server(random: Seeded): Promise<RunningServer> {
    for (;;) {
      const running = this.#running()
      if (running.length > 0) return random.pick(running)
      await pause(20)
    }
  }

  urls(): string[] {
    return this.#running().map(({ url }) => url)
  }

  /** Ends all disturbances of connections. */
  calm(): void {
    for (const { door } of this.#running()) door?.disturb(null)
  }

  #running(): RunningServer[] {
    return this.#servers.filter((server) => server !== null)
  }

  /** Kills a server and starts another in its place. */
  killOne(random: Seeded, restMs: number): Promise<void> {
    return this.replace(random.below(this.#servers.length), 'SIGKILL', restMs)
  }

  /** Ends a server and starts another in its place. */
  async replace(place: number, signal: 'SIGKILL' | 'SIGTERM', restMs = 0): Promise<void> {
    const server = this.#servers[place]
    if (server === null || server === undefined) return
    this.#servers[place] = null
    if (signal === 'SIGKILL') this.kills++
    await this.#end(server, signal)
    await pause(restMs)
    await this.#start(place)
  }

  /** Stops all servers for a time. @param between - Called when none of them runs. */
  async suspend(ms: number, between: () => void): Promise<void> {
    const running = this.#running()
    for (const { process } of running) process.child.kill('SIGSTOP')
    between()
    await pause(ms)
    for (const { process } of running) process.child.kill('SIGCONT')
  }

  /** Stops all servers properly. */
  async stop(): Promise<void> {
    const all = this.#servers.splice(0).filter((server) => server !== null)
    await Promise.all(all.map((server) => this.#end(server, 'SIGTERM')))
  }

  /** Kills the servers that still run, after a failure. */
  killAll(): void {
    for (const server of this.#servers) {
      if (server === null) continue
      this.#ended.add(server.process)
      server.process.child.kill('SIGKILL')
    }
  }

  async #end({ process, door }: RunningServer, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#ended.add(process)
    process.child.kill(signal)
    const ended = await process.ended
    await door?.close()
    const isInOrder = signal === 'SIGKILL' ? ended.signal === signal : ended.code === 0
    if (!isInOrder) this.wrong.push(`a server ended with ${ended.code}: ${ended.stderr}`)
  }

  async #start(place: number): Promise<void> {
    const { programOf, jobOf, openDoor } = this.#terms
    const process = startWriter(programOf(place), jobOf(place))
    const url = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('A server does not start')), START_MS_MAX)
      process.child.stdout?.on(
        'data',
        onLines((line) => {
          if (line.say === 'open') resolve(line.url)
          this.#take(line, process)
        }),
      )
      void process.ended.then(({ code, signal, stderr }) => {
        clearTimeout(timer)
        if (this.#ended.has(process)) return
        this.wrong.push(`a server ended by itself with ${code ?? signal}: ${stderr}`)
        reject(new Error(stderr))
      })
    })
    this.#servers[place] = { process, url, door: await openDoor?.(Number(new URL(url).port)) }
  }

  #take(line: ServerLine, { child }: RunningWriter): void {
    if (line.say === 'step') this.#count(line.at, 0)
    if (line.say === 'stopped') {
      this.#count(line.at, 1)
      setTimeout(() => child.kill('SIGCONT'), line.ms)
    }
    if (line.say === 'report') this.report += line.objects
    if (line.say === 'settled') this.settled += line.segments
    if (line.say !== 'note') return
    const text = line.text.replace(/[0-9a-f-]{32,36}/g, '…')
    this.notes.set(text, (this.notes.get(text) ?? 0) + 1)
    const isOfStorage = /\b(?:STORAGE_UNAVAILABLE|STORE_CLOSED)\b/.test(text)
    if (!isOfStorage) this.wrong.push(`a server says: ${text}`)
  }

  #count(at: string, stops: number): void {
    this.stops.set(at, (this.stops.get(at) ?? 0) + stops)
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
