// One worker of a writer: random changes of its table, stashes and files, one after another.
import { setTimeout as pause } from 'node:timers/promises'
import { isStoreError } from '../../../src/index.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import type { LaneRow, LaneRows, LaneStore, LaneTable, LaneTeam } from './lane-store.js'
import { type Change, type LogLine, SHARED_TABLE } from './log-lines.js'
import { fillerBytes, mergedRows, mergeOfRow, type RowsSpec, rowObjects, SCHEMA } from './rows.js'
import type { WriterJob } from './writer-job.js'

export const TEAM = 'crash'

export type LaneJob = WriterJob &
  Readonly<{
    index: number
    nextOperation(): number
    say(line: LogLine): void
    /** What it does instead where the store collects garbage by itself. */
    insteadOfMaintenance?: (lane: Lane) => Promise<unknown>
  }>

/** The parts of an answer that the log records. */
type Answer = Readonly<{ version?: number; file?: string }>

const ROWS_OF_TABLE_MAX = 600
/** Recovery takes seconds, but the machine may be busy. Tests with virtual time assert the seconds. */
const RECOVERY_MS_MAX = 60_000
const RETRY_MS = 20

/** Changes by their number in `step`: those below the first are small commits without an object. */
const SMALL_CHANGES = 66
const ALL_CHANGES = 104

export class Lane {
  readonly #job: LaneJob
  readonly #store: LaneStore
  readonly #team: LaneTeam
  readonly #random: Seeded
  readonly #name: string
  #table: LaneTable | undefined
  #shared: LaneTable | undefined
  /** IDs of the rows of the lane's table, in order. */
  #rowIds: string[] = []
  #files: Readonly<{ id: string; path: string }>[] = []
  failures = 0

  constructor(store: LaneStore, job: LaneJob) {
    this.#job = job
    this.#store = store
    this.#team = store.team(TEAM)
    this.#random = seeded(job.seed)
    this.#name = `lane-${job.index}`
  }

  /** Finds or creates the things that it works on. */
  async start(): Promise<void> {
    await this.look()
    if (this.#table === undefined) await this.#create(this.#name)
    if (this.#shared === undefined && this.#job.index === 0) await this.#create(SHARED_TABLE)
  }

  /** Makes this many changes, unless one fails and the store does not accept others soon. */
  async run(changes: number): Promise<void> {
    for (let done = 0; done < changes && this.#table !== undefined; done++) {
      const { failures } = this
      await this.step()
      if (this.failures > failures && !(await this.recover(RECOVERY_MS_MAX))) return
    }
  }

  /** Retries until a change is accepted, and reads the outcome of those that failed. */
  async recover(withinMs: number): Promise<boolean> {
    const endsAt = performance.now() + withinMs
    while (!(await this.share())) {
      if (performance.now() > endsAt) return false
      await pause(RETRY_MS)
    }
    await this.look() // Now that one commit has succeeded, no earlier failed one can still take effect.
    return true
  }

  /** Reads what exists. */
  async look(): Promise<void> {
    this.#shared = await this.#find(SHARED_TABLE)
    this.#table = await this.#find(this.#name)
    const rowIds: string[] = []
    for await (const row of this.#table?.scan() ?? []) rowIds.push(row.$rowID)
    this.#rowIds = rowIds
    const version = (await this.#table?.version()) ?? 0
    this.#job.say({ say: 'seen', table: this.#name, version })
  }

  async #find(name: string): Promise<LaneTable | undefined> {
    const entry = (await this.#team.tables()).find((table) => table.name === name)
    return entry && this.#team.table(entry.id)
  }

  async #create(name: string): Promise<void> {
    const rows = this.#rows(name === SHARED_TABLE ? 0 : 12)
    const change = { do: 'create', table: name, rows } as const
    await this.say(change, async () => {
      const created = await this.#team.createTable({
        name,
        schema: SCHEMA,
        rows: rowObjects(rows),
      })
      if (name === SHARED_TABLE) this.#shared = this.#team.table(created.tableId)
      if (name === this.#name) {
        this.#table = this.#team.table(created.tableId)
        this.#rowIds = [...created.rowIds]
      }
      return { version: created.version }
    })
  }

  async step(): Promise<void> {
    const random = this.#random.below(this.#job.mix === 'small' ? SMALL_CHANGES : ALL_CHANGES)
    if (random < 22) await this.#patch()
    else if (random < 32) await this.#delete()
    else if (random < 48) await this.share()
    else if (random < SMALL_CHANGES) await this.#change('add', this.#rows(this.#rowsMax()))
    else if (random < 72) await this.#change('overwrite', this.#rows(this.#rowsMax()))
    else if (random < 84) await this.#import()
    else if (random < 91) await this.#putFile()
    else if (random < 92) await this.#createExtra()
    else if (random < 96) await (this.#job.insteadOfMaintenance?.(this) ?? this.#maintain())
    else await this.#merge()
  }

  /** Prints the beginning of a change, makes it, and prints its outcome. */
  async say(change: Change, act: (op: number) => Promise<Answer>): Promise<boolean> {
    const { say, nextOperation } = this.#job
    const op = nextOperation()
    say({ say: 'begin', op, change })
    try {
      say({ say: 'done', op, ...(await act(op)) })
      return true
    } catch (failure) {
      const code = isStoreError(failure) ? failure.code : 'none'
      const message = failure instanceof Error ? (failure.stack ?? '') : String(failure)
      const outcome = isStoreError(failure) && failure.outcome ? { outcome: failure.outcome } : {}
      this.failures++
      say({ say: 'failed', op, code, message, ...outcome })
      return false
    }
  }

  async #createExtra(): Promise<void> {
    await this.#create(`extra-${this.#job.index}-${this.#job.nextOperation()}`)
  }

  async #change(what: 'add' | 'overwrite', rows: RowsSpec): Promise<void> {
    await this.say({ do: what, table: this.#name, rows }, () =>
      this.#changeTable(what, rowObjects(rows)),
    )
  }

  async #changeTable(what: 'add' | 'overwrite', given: LaneRows): Promise<Answer> {
    const table = this.#tableHere()
    const { version, rowIds } =
      what === 'add' ? await table.addRows(given) : await table.overwrite(given)
    this.#rowIds = what === 'add' ? [...this.#rowIds, ...rowIds] : [...rowIds]
    return { version }
  }

  async #merge(): Promise<void> {
    const mode = this.#random.once(2) || this.#isFull() ? 'replace' : 'upsert'
    const every = 2 + this.#random.below(12)
    const rows = this.#rows(this.#rowsMax())
    const change = { do: 'merge', table: this.#name, mode, every, rows } as const
    await this.say(change, async (op) => {
      const before: LaneRow[] = []
      for await (const row of this.#tableHere().scan()) before.push(row)
      const known = before.flatMap(({ $rowID: _, ...cells }, index) => {
        const what = mergeOfRow(change, index)
        return what === 'omit' ? [] : [what === 'set' ? { ...cells, n: op } : cells]
      })
      // In another order than the table's, so that the rows have to be found.
      const input = [...known.reverse(), ...rowObjects(rows)]
      const added = await this.#tableHere().merge(mode, input)
      const kept = mergedRows(
        before.map(({ $rowID }) => ({ $rowID, n: 0 })),
        op,
        change,
      )
      this.#rowIds = [...kept.map(({ $rowID }) => $rowID), ...added.rowIds]
      return { version: added.version }
    })
  }

  async #patch(): Promise<void> {
    if (this.#rowIds.length === 0) return
    const index = this.#random.below(this.#rowIds.length)
    const file = this.#files.length > 0 ? this.#random.pick(this.#files).path : undefined
    const named = file === undefined ? {} : { file }
    await this.say({ do: 'patch', table: this.#name, index, ...named }, (op) => {
      const cells = file === undefined ? { n: op } : { n: op, f: file }
      return this.#tableHere().updateRow(this.#rowIds[index] ?? '', cells)
    })
  }

  async #delete(): Promise<void> {
    if (this.#rowIds.length === 0) return
    const index = this.#random.below(this.#rowIds.length)
    await this.say({ do: 'delete', table: this.#name, index }, async () => {
      const { version } = await this.#tableHere().deleteRow(this.#rowIds[index] ?? '')
      this.#rowIds = this.#rowIds.toSpliced(index, 1)
      return { version }
    })
  }

  /** Adds to the shared table, or puts a chunk if there is none. @returns whether it was accepted */
  async share(): Promise<boolean> {
    this.#shared ??= await this.#find(SHARED_TABLE)
    const shared = this.#shared
    if (shared === undefined) return this.#putChunk(this.#newStash(), '0')
    const rows = this.#rows(6)
    return await this.say({ do: 'share', rows }, async () => {
      const { version } = await shared.addRows(rowObjects(rows))
      return { version }
    })
  }

  #newStash(): string {
    return `s-${this.#job.index}-${this.#job.nextOperation()}`
  }

  /** Puts chunks in parallel, one of them twice, and uses the stash. Some are left for the next process. */
  async #import(): Promise<void> {
    const stash = this.#newStash()
    const serials = Array.from({ length: 2 + this.#random.below(5) }, (_, serial) => String(serial))
    const puts = serials.map((serial) => this.#putChunk(stash, serial))
    const kept = await Promise.all(puts)
    if (this.#random.once(3)) kept.push(await this.#putChunk(stash, this.#random.pick(serials)))
    if (!kept.every((done) => done) || this.#random.once(6)) return
    const what = this.#random.once(2) || this.#isFull() ? 'overwrite' : 'add'
    const rows = { stash }
    const used = await this.say({ do: what, table: this.#name, rows }, () =>
      this.#changeTable(what, rows),
    )
    if (!used || this.#random.once(4)) return
    await this.say({ do: 'deleteStash', stash }, async () => {
      await this.#team.deleteStash(stash)
      return {}
    })
  }

  #putChunk(stash: string, serial: string): Promise<boolean> {
    const rows = this.#rows(this.#job.rowsMax)
    return this.say({ do: 'putChunk', stash, serial, rows }, async () => {
      await this.#team.putChunk(stash, serial, rowObjects(rows))
      return {}
    })
  }

  async #putFile(): Promise<void> {
    const tag = `file-${this.#job.nextOperation()}`
    const bytes = this.#random.below(this.#job.fileBytesMax)
    await this.say({ do: 'putFile', tag, bytes }, async () => {
      const stored = await this.#team.putFile(`${tag}.txt`, fillerBytes(tag, bytes))
      this.#files.push(stored)
      return { file: stored.id }
    })
  }

  async #maintain(): Promise<void> {
    await this.say({ do: 'garbageCollection' }, async () => {
      await this.#store.maintain()
      return {}
    })
  }

  #rows(most: number): RowsSpec {
    const count = most === 0 ? 0 : 1 + this.#random.below(most)
    const bytes = this.#random.below(this.#job.rowBytesMax)
    return { tag: `r${this.#job.nextOperation()}`, count, bytes }
  }

  /** Mostly few, which become row records. */
  #rowsMax(): number {
    return this.#isFull() ? 2 : this.#random.once(4) ? this.#job.rowsMax : 10
  }

  #isFull(): boolean {
    return this.#rowIds.length > ROWS_OF_TABLE_MAX
  }

  #tableHere(): LaneTable {
    if (this.#table === undefined) throw new Error(`${this.#name} was not created`)
    return this.#table
  }
}
