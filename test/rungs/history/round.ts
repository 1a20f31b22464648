// One round of a history: processes work on new tables, are killed, paused and restarted, and their output is checked.
import { setTimeout as pause } from 'node:timers/promises'
import type { Span } from '../../support/pairs.js'
import type { Seeded } from '../../support/seeded.js'
import { type RunningWriter, startWriter } from '../crash/writer-process.js'
import { checkHistory } from './check-history.js'
import {
  type Anomaly,
  type FeedChange,
  type History,
  LAST_READER,
  type Operation,
} from './history.js'
import {
  type FaultName,
  type HistoryJob,
  type HistoryLine,
  type HistoryPlace,
  nowMicros,
  type RoundSwarm,
  type RoundTables,
} from './history-job.js'
import { SUM } from './round-tables.js'

/** A process of a round, through all its restarts. */
export type Member = Readonly<{
  name: string
  place: HistoryPlace
  callers: number
  port: number | null
  /** The tables whose feeds it follows. */
  follows: readonly string[]
}>

export type RoundPlan = Readonly<{
  program: string
  seed: number
  swarm: RoundSwarm
  members: readonly Member[]
  /** The number of successful operations after which the round ends. */
  operations: number
  /** The longest pause of a process, in milliseconds. */
  pauseMsMax: number
  restoreTo: string | null
  /** Begins faults of shared resources. @returns a function that ends them */
  beside?: (round: Round) => () => Promise<void>
}>

const RUNS_MS_MAX = 180_000
const FAULT_EVERY_MS = 3_000

type Life = {
  readonly member: Member
  readonly process: RunningWriter
  /** The prefix of its operations' names. */
  readonly name: string
  isOpen: boolean
}

export class Round {
  readonly #plan: RoundPlan
  readonly #random: Seeded
  readonly #operations = new Map<string, Operation>()
  readonly #feeds: FeedChange[] = []
  readonly #since = new Map<string, Record<string, number>>()
  readonly #lives = new Map<string, Life>()
  readonly #spans: Span[] = []
  readonly wrong: string[] = []
  /** Operations that were done, and what they were. */
  readonly done = new Map<string, string>()
  readonly notes = new Map<string, number>()
  #tables: RoundTables | null = null
  #last: Readonly<Record<string, number>> = {}
  #started = 0

  constructor(plan: RoundPlan, random: Seeded) {
    this.#plan = plan
    this.#random = random
  }

  /** @returns what was wrong. */
  async run(): Promise<readonly string[]> {
    try {
      await this.#runWhole()
    } catch (failure) {
      this.wrong.push(
        failure instanceof Error ? (failure.stack ?? failure.message) : String(failure),
      )
    } finally {
      for (const { process } of this.#lives.values()) {
        process.child.kill('SIGKILL')
        process.child.kill('SIGCONT')
      }
    }
    const anomalies = this.wrong.length > 0 ? [] : checkHistory(this.history())
    return [...this.wrong, ...told(anomalies)]
  }

  async #runWhole(): Promise<void> {
    const { members, swarm } = this.#plan
    const [first] = members
    if (first === undefined) throw new Error('Nobody works')
    await this.#live(first, 'work')
    for (const member of members) this.#start(member)
    const endBeside = this.#plan.beside?.(this)
    const endsAt = performance.now() + RUNS_MS_MAX
    while (this.done.size < this.#plan.operations && this.wrong.length === 0) {
      if (performance.now() > endsAt) break
      await pause(this.#random.below(FAULT_EVERY_MS))
      const faults = swarm.faults.filter((fault) => fault === 'kill' || fault === 'pause')
      if (faults.length > 0) await this.#fail(this.#random.pick(faults), this.#random.pick(members))
    }
    await endBeside?.()
    await Promise.all(members.toReversed().map(({ name }) => this.#end(name)))
    await this.#live(first, 'end')
  }

  async #fail(fault: FaultName, { name }: Member): Promise<void> {
    const life = this.#lives.get(name)
    if (life === undefined || (!life.isOpen && !this.#random.once(6))) return
    const { child, ended } = life.process
    const from = nowMicros()
    if (fault === 'pause') {
      child.kill('SIGSTOP')
      await pause(this.#random.below(this.#plan.pauseMsMax))
      child.kill('SIGCONT')
    } else {
      this.#lives.delete(name)
      child.kill('SIGKILL')
      await ended
      this.#noteKilled(life.name)
      await pause(this.#random.below(100))
      this.#start(life.member)
    }
    this.#spans.push({ name: fault, from, to: nowMicros() })
  }

  /** Operations that a kill ended were under way until then. */
  #noteKilled(name: string): void {
    for (const { id, what, from, to } of this.#operations.values()) {
      if (to !== null || !id.startsWith(`${name}-`)) continue
      this.#spans.push({ name: what, from, to: nowMicros() })
    }
  }

  async #end(name: string): Promise<void> {
    const life = this.#lives.get(name)
    this.#lives.delete(name)
    if (life === undefined) return
    life.process.child.kill('SIGTERM')
    await this.#untilEnded(name, life.process)
  }

  async #untilEnded(name: string, { child, ended }: RunningWriter): Promise<void> {
    const timer = setTimeout(() => {
      this.wrong.push(`${name} does not end`)
      child.kill('SIGKILL')
    }, RUNS_MS_MAX)
    const { code, signal, stderr } = await ended
    clearTimeout(timer)
    // One that is told to end before it has begun ends at once.
    if (code !== 0 && signal !== 'SIGTERM')
      this.wrong.push(`${name} ended with ${code ?? signal}: ${stderr}`)
  }

  /** A whole life: one that makes the tables, or that reads everything. */
  async #live(member: Member, does: HistoryJob['does']): Promise<void> {
    const process = this.#start(
      { ...member, name: does === 'end' ? LAST_READER : member.name },
      does,
    )
    this.#lives.delete(process.name)
    await this.#untilEnded(member.name, process.life)
  }

  #start(member: Member, does: HistoryJob['does'] = 'work') {
    const { program, seed, swarm, restoreTo } = this.#plan
    const life = this.#started++
    const name = `${member.name}-${seed}-${life}` // Stashes of earlier rounds may be there.
    const follows = member.follows.map((table) => {
      const first = this.#tables?.first[table]?.version ?? 1
      return [table, this.#since.get(member.name)?.[table] ?? first]
    })
    const { place, callers, port } = member
    const job: HistoryJob = {
      ...{ place, callers, port, swarm, does, restoreTo, name },
      seed: seed * 1_009 + life,
      tables: this.#tables,
      since: Object.fromEntries(follows) as Record<string, number>,
    }
    const process = startWriter(program, job)
    this.#lives.set(member.name, { member, process, name, isOpen: false })
    this.#listen(member.name, process)
    void process.ended.then(({ code, signal, stderr }) => {
      const isOwn = this.#lives.get(member.name)?.process === process
      if (isOwn) this.wrong.push(`${name} ended by itself with ${code ?? signal}: ${stderr}`)
    })
    return { name: member.name, life: process }
  }

  #listen(name: string, { child }: RunningWriter): void {
    let rest = ''
    child.stdout?.on('data', (piece: string) => {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(name, JSON.parse(line) as HistoryLine)
    })
  }

  #take(process: string, line: HistoryLine): void {
    switch (line.say) {
      case 'open': {
        const life = this.#lives.get(process)
        if (life !== undefined) life.isOpen = true
        break
      }
      case 'tables':
        this.#tables = line.tables
        break
      case 'call': {
        const { id, what, at, writes } = line
        const begun = { id, process, what, from: at, to: null, reads: [], writes }
        this.#operations.set(id, { ...begun, outcome: 'unknown' })
        break
      }
      case 'end': {
        const { say: _, at, ...told } = line
        const begun = this.#operations.get(told.id)
        if (begun === undefined) break
        this.#operations.set(told.id, { ...begun, ...told, to: at })
        if (told.outcome === 'done') this.done.set(told.id, begun.what)
        break
      }
      case 'change': {
        const { say: _, ...change } = line
        this.#feeds.push({ reader: process, ...change })
        const since = this.#since.get(process) ?? {}
        this.#since.set(process, { ...since, [line.table]: line.version })
        break
      }
      case 'span':
        this.#spans.push(line)
        break
      case 'last':
        this.#last = line.versions
        break
      case 'wrong':
        this.wrong.push(`${process}: ${line.text}`)
        break
      case 'note':
        this.notes.set(line.text, (this.notes.get(line.text) ?? 0) + 1)
        break
    }
  }

  history(): History {
    const operations = [...this.#operations.values()]
    const tables = Object.entries(this.#last).map(([table, last]) => {
      const { version = 1, rows = [] } = this.#tables?.first[table] ?? {}
      return { table, first: version, last, rows }
    })
    return { operations, feeds: this.#feeds, tables, sum: SUM }
  }

  /** Operations, background work and faults, for the counts of pairs. */
  spans(): readonly Span[] {
    const operations = [...this.#operations.values()].flatMap(({ what: name, from, to }) => {
      return to === null || name === 'end' ? [] : [{ name, from, to }]
    })
    return [...operations, ...this.#spans]
  }

  /** Transactions that were done, and read or wrote several tables. */
  transactionsAcrossTables(): number {
    const all = [...this.done].filter(([, what]) => /^(?:transact|audit)/.test(what))
    return all.filter(([id]) => {
      const { reads = [], writes = [] } = this.#operations.get(id) ?? {}
      const tables = [...reads, ...writes].map(({ object }) => /^\w+/.exec(object)?.[0])
      return new Set(tables).size > 1
    }).length
  }

  noteSpan(span: Span): void {
    this.#spans.push(span)
  }
}

const ANOMALIES_TOLD = 20

function told(anomalies: readonly Anomaly[]): readonly string[] {
  return anomalies.slice(0, ANOMALIES_TOLD).map(({ name, text }) => `${name}: ${text}`)
}
