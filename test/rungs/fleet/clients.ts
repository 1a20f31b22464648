// The clients of a fleet: lanes whose requests go to any server, and the journal of the answers.
import { setTimeout as pause } from 'node:timers/promises'
import { seeded } from '../../support/seeded.js'
import { differenceOf, readTable } from '../crash/audit.js'
import { Lane, TEAM } from '../crash/lane.js'
import type { LaneRow } from '../crash/lane-store.js'
import { Ledger, versionsOf } from '../crash/ledger.js'
import { type Change, COUNTER_TABLE, type LogLine } from '../crash/log-lines.js'
import { rowObjects, SCHEMA } from '../crash/rows.js'
import { resolveJob } from '../crash/writer-job.js'
import type { Fleet } from './fleet.js'
import { failureOf, HttpClient } from './http-client.js'
import { type Found, type HttpTable, httpStore } from './http-store.js'

/** A lane deletes its oldest stash when it has more than this. */
const STASHES_OF_LANE_MAX = 5

export type ClientsJob = Readonly<{
  seed: number
  lanes: number
  pauseMsMax: number
  /** As of `HttpClient`. */
  patienceMs?: number
}>

/** Operations by kind, acknowledged or not. */
export type Counted = Record<string, { done: number; failed: number }>

export class Clients {
  readonly ledger = new Ledger()
  readonly operations: Counted = {}
  readonly found: Found = { landed: 0, repeated: 0 }
  /** Tables that were read and compared with the journal, and the number of their rows. */
  readonly reads = { tables: 0, rows: 0 }
  readonly wrong: string[] = []
  readonly http: HttpClient
  /** Called after each line of the journal. */
  onLine: () => void = () => undefined
  readonly #job: ClientsJob
  readonly #lanes: readonly Lane[]
  readonly #changes = new Map<number, Change['do']>()
  #counter: Readonly<{ table: HttpTable; rowId: string }> | undefined
  #operations = 0
  #isOver = false

  constructor(fleet: Fleet, job: ClientsJob) {
    this.#job = job
    this.http = new HttpClient(fleet, seeded(job.seed * 7 + 1), job.patienceMs)
    this.#lanes = Array.from({ length: job.lanes }, (_, index) => this.#newLane(index))
  }

  #newLane(index: number): Lane {
    const seed = this.#job.seed * 31 + index
    const random = seeded(seed * 31 + 7)
    const store = httpStore(this.http, this.found)
    return new Lane(store, {
      ...resolveJob({ seed, fileBytesMax: 20_000 }),
      index,
      nextOperation: () => ++this.#operations,
      say: (line) => this.#say(line),
      insteadOfMaintenance: async (lane) => {
        const what = random.below(4)
        if (what === 0) await this.#readBack(`lane-${index}`)
        else if (what === 1) await this.#rewrite(lane, `lane-${index}`)
        else await this.#count(lane)
        await this.#deleteStash(lane, `s-${index}-`)
      },
    })
  }

  /** Creates what the lanes share, and runs them until `stop`. */
  async run(): Promise<void> {
    const [first, ...others] = this.#lanes
    await first?.start()
    await this.#makeCounter(first)
    await Promise.all(others.map((lane) => lane.start()))
    await Promise.all(this.#lanes.map((lane, index) => this.#runLane(lane, index)))
  }

  stop(): void {
    this.#isOver = true
  }

  /** Resolves when all operations that have begun have ended. */
  async settle(): Promise<void> {
    const begun = [...this.#changes.keys()]
    while (begun.some((op) => this.#changes.has(op))) await pause(20)
  }

  async #runLane(lane: Lane, index: number): Promise<void> {
    const random = seeded(this.#job.seed + 1_000 + index)
    while (!this.#isOver) {
      await lane.step()
      await pause(random.below(this.#job.pauseMsMax))
    }
  }

  #say(line: LogLine): void {
    this.ledger.read([line])
    if (line.say === 'begin') this.#changes.set(line.op, line.change.do)
    else if (line.say === 'done' || line.say === 'failed') {
      const what = this.#changes.get(line.op) ?? ''
      this.#changes.delete(line.op)
      const counts = this.operations[what] ?? { done: 0, failed: 0 }
      counts[line.say]++
      this.operations[what] = counts
    }
    this.onLine()
  }

  async #makeCounter(lane: Lane | undefined): Promise<void> {
    const rows = { tag: COUNTER_TABLE, count: 1, bytes: 0 }
    await lane?.say({ do: 'create', table: COUNTER_TABLE, rows }, async () => {
      const given = { name: COUNTER_TABLE, schema: SCHEMA, rows: rowObjects(rows) }
      const team = httpStore(this.http, this.found).team(TEAM)
      const { tableId, rowIds, version } = await team.createTable(given)
      this.#counter = { table: team.table(tableId) as HttpTable, rowId: rowIds[0] ?? '' }
      return { version }
    })
  }

  /** Sets the counter to the next number, unless another lane is faster. */
  async #count(lane: Lane): Promise<void> {
    if (this.#counter === undefined) return
    const { table, rowId } = this.#counter
    const { cells, version } = await table.get(rowId)
    const to = Number(cells['n']) + 1
    await lane.say({ do: 'count', to }, async () => {
      const answer = await table.updateRowAt(version, rowId, { n: to })
      if (answer.status >= 300) throw failureOf(answer)
      return { version: answer.version }
    })
  }

  /** Sends the rows of a table back, like a client that has changed some: all keep their IDs. */
  async #rewrite(lane: Lane, name: string): Promise<void> {
    const team = httpStore(this.http, this.found).team(TEAM)
    const id = (await team.tables()).find((entry) => entry.name === name)?.id
    if (id === undefined) return
    const rows: LaneRow[] = []
    for await (const row of team.table(id).scan()) rows.push(row)
    await lane.say({ do: 'rewrite', table: name }, async () => {
      const { version, rowIds } = await team.table(id).overwrite(rows)
      const isSame =
        rowIds.length === rows.length && rows.every((row, i) => row.$rowID === rowIds[i])
      if (!isSame) this.wrong.push(`rows of ${name} that were sent back have other IDs`)
      return { version }
    })
  }

  /** Reads a table, page by page from several servers, which must show everything acknowledged by any of them. */
  async #readBack(name: string): Promise<void> {
    const states = this.ledger.tableStates(name)
    const team = httpStore(this.http, this.found).team(TEAM)
    const id = (await team.tables()).find((table) => table.name === name)?.id
    const read = await readTable(team, id, `table ${name}, meanwhile`, this.wrong)
    this.reads.tables++
    this.reads.rows += read.rows.length
    const possible = states.filter(({ version }) => version === read.version)
    const differences = possible.map(({ rows }) => differenceOf(read.rows, rows))
    if (differences.includes(null)) return
    const why = differences.length > 0 ? differences.join(' or ') : `not ${versionsOf(states)}`
    this.wrong.push(`table ${name} read at version ${read.version}: ${why}`)
  }

  /** Deletes the oldest stash of a lane, if it has too many. */
  async #deleteStash(lane: Lane, prefix: string): Promise<void> {
    const own = [...this.ledger.stashes.keys()].filter((name) => name.startsWith(prefix))
    const [stash] = own
    if (stash === undefined || own.length <= STASHES_OF_LANE_MAX) return
    await lane.say({ do: 'deleteStash', stash }, async () => {
      await httpStore(this.http, this.found).team(TEAM).deleteStash(stash)
      return {}
    })
  }
}

/** The journal, and what else the clients saw, in one line. */
export function summaryOf({ ledger, operations, found, reads, http }: Clients): object {
  const { acknowledged, failures } = ledger
  return { acknowledged, failures, operations, attempts: http.attempts, found, reads }
}
