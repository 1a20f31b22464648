// Makes two engines on one key-value store take the steps of a trace of the model `objects`, and compares the stored
// state after each. A step of the model is one call of a port that decides something. Calls in between only read, and
// belong to the previous step.
import { MemoryLevel } from 'memory-level'
import { vi } from 'vitest'
import { sameBytes } from '../../src/base/bytes.js'
import { KEY_SPACE } from '../../src/format/keys.js'
import {
  isStoreError,
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
} from '../../src/index.js'
import type { KvStore, ObjectStore } from '../../src/ports.js'
import { objectsClosedBy } from '../support/objects-closed-by.js'
import { type Call, type Fate, SteppedEngine, type Thread } from './stepped-engine.js'
import { Stored } from './stored.js'
import type { ModelState, ModelStep, ModelTrace } from './trace.js'

/** One tick of the model's clock: the lease of an incarnation, and the grace period of objects. */
const TICK_MS = 60_000

const BEGIN = 1_800_000_000_000

const TEAM = 't'

type Fits = (call: Call) => boolean

const commits =
  (partition: string, how: 'puts' | 'deletes', space: number): Fits =>
  ({ port, partition: at, commit }) => {
    if (port !== 'commit' || at !== partition) return false
    if (how === 'deletes') return commit?.deletes?.some((key) => key[0] === space) ?? false
    return commit?.puts?.some(([key]) => key[0] === space) ?? false
  }

const views =
  (partition: string, space?: number): Fits =>
  (call) =>
    call.port === 'view' && call.partition === partition && (space ?? call.space) === call.space

const publishes = commits('', 'puts', KEY_SPACE.incarnation)
const forgets = commits('', 'deletes', KEY_SPACE.incarnation)
const enters = commits(TEAM, 'puts', KEY_SPACE.writer)
const leaves = commits(TEAM, 'deletes', KEY_SPACE.writer)
const changesTable = commits(TEAM, 'puts', KEY_SPACE.tableHead)
const endsStash = commits(TEAM, 'puts', KEY_SPACE.deadStash)
const putsChunk = commits(TEAM, 'puts', KEY_SPACE.chunk)
const viewsRecords = views('', KEY_SPACE.incarnation)
const viewsHead = views(TEAM, KEY_SPACE.tableHead)
const putsObject: Fits = ({ port }) => port === 'put'
const getsObject: Fits = ({ port }) => port === 'get'

/** The next call of an operation, by its place in the model. */
const OPERATION: Readonly<Record<string, Fits>> = {
  publish: publishes,
  put: putsObject,
  enter: enters,
  check: viewsRecords,
  commit: (call) => changesTable(call) || putsChunk(call),
  pinning: publishes,
  pinned: viewsHead,
  viewing: views(TEAM),
  reading: getsObject,
  scanning: getsObject,
  copying: getsObject,
}

/** The next call of a garbage collection, by its place in the model. */
const SWEEP: Readonly<Record<string, Fits>> = {
  idle: viewsRecords,
  end: publishes,
  writers: views(TEAM, KEY_SPACE.writer),
  forget: forgets,
  generations: views(TEAM, KEY_SPACE.retirement),
  pins: viewsRecords,
  drop: commits(TEAM, 'puts', KEY_SPACE.retirement),
  list: views(TEAM, KEY_SPACE.deadStash),
  pending: viewsRecords,
  mark: viewsHead,
  hold: viewsRecords,
  delete: ({ port, ids = [] }) => port === 'delete' && ids.length > 0,
}

/** Writes of a garbage collection between two steps of the model. They belong to the previous step. */
const SWEEP_WRITES: Readonly<Record<string, readonly Fits[]>> = {
  end: [publishes],
  writers: [leaves],
  forget: [forgets],
  drop: [
    commits(TEAM, 'puts', KEY_SPACE.retirement),
    commits(TEAM, 'deletes', KEY_SPACE.retirement),
  ],
  list: [commits(TEAM, 'deletes', KEY_SPACE.deadStash)],
}

/** The records below those that a garbage collection deletes. */
const CLEARED = [
  KEY_SPACE.row,
  KEY_SPACE.extentPage,
  KEY_SPACE.schema,
  KEY_SPACE.chunk,
  KEY_SPACE.columnList,
]

/** Maintenance outside the model. The model has no duties: with them, one process at a time does each kind. */
const isHousekeeping: Fits = (call) =>
  CLEARED.some((space) => commits(TEAM, 'deletes', space)(call)) ||
  commits(TEAM, 'puts', KEY_SPACE.duty)(call) ||
  commits('', 'puts', KEY_SPACE.duty)(call) ||
  isOfHints(call)

/** Hints tell where to look, and decide nothing. */
const isOfHints: Fits = ({ commit }) => {
  const keys = [...(commit?.puts ?? []).map(([key]) => key), ...(commit?.deletes ?? [])]
  const spaces: readonly (number | undefined)[] = [KEY_SPACE.workHint, KEY_SPACE.dueTeam]
  return keys.length > 0 && keys.every(([space]) => spaces.includes(space))
}

function isWrite({ port, commit, ids }: Call): boolean {
  if (port === 'put' || port === 'clear') return true
  if (port === 'delete') return ids !== undefined && ids.length > 0
  return (commit?.puts?.length ?? 0) + (commit?.deletes?.length ?? 0) > 0
}

/** A process of the model. */
type Process = { engine: SteppedEngine; operation: Thread | null; sweep: Thread | null }

export class Replay {
  readonly #kv: KvStore
  readonly #objects: ObjectStore
  readonly #stored: Stored
  readonly #tableId: string
  readonly #processes: Process[] = []
  #now = BEGIN

  private constructor(kv: KvStore, objects: ObjectStore, tableId: string) {
    this.#kv = kv
    this.#objects = objects
    this.#tableId = tableId
    this.#stored = new Stored(kv.partition(''), kv.partition(TEAM), objects)
  }

  /** Timers and `performance` must be replaced by the test. */
  static async open(): Promise<Replay> {
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    const [kv, objects] = [await openLevelKv(level), memoryObjects()]
    const alone: KvStore = {
      shared: false,
      partition: (name) => kv.partition(name),
      close: async () => undefined,
    }
    const keptObjects = objectsClosedBy(objects, async () => undefined)
    const maker = await openStore({ ...optionsOf(() => BEGIN), kv: alone, objects: keptObjects })
    const made = await maker.team(TEAM).createTable({ name: 'x', rows: rowsOf(1) })
    await maker.close()
    const replay = new Replay(kv, objects, made.tableId)
    await replay.#stored.nameFirst()
    for (let p = 0; p < 2; p++) replay.#processes.push(await replay.#newProcess())
    return replay
  }

  /** @throws {Error} the difference, and its step */
  async run(trace: ModelTrace): Promise<void> {
    for (const [i, step] of trace.entries()) {
      try {
        await this.#step(step)
        await this.#stored.compare(step.after)
      } catch (failure) {
        const { kind, process, choice, before, after } = step
        const where = `step ${i + 1}, ${kind} of process ${process}, choice ${choice}`
        const [was, is] = [JSON.stringify(before), JSON.stringify(after)]
        throw new Error(`At ${where}:\n  ${String(failure)}\n  before: ${was}\n  after: ${is}`, {
          cause: failure,
        })
      }
    }
    await this.#compareRows(trace.at(-1)?.after)
  }

  /** @param late - A commit of the previous process that may still happen. */
  async #newProcess(late?: () => Promise<void>): Promise<Process> {
    const options = optionsOf(() => this.#now)
    const engine = await SteppedEngine.open(this.#kv, this.#objects, options)
    engine.late = late
    return { engine, operation: null, sweep: null }
  }

  #at(process: number): Process {
    const found = this.#processes[process]
    if (found === undefined) throw new Error(`There is no process ${process}`)
    return found
  }

  async #step(step: ModelStep): Promise<void> {
    const process = this.#at(step.process)
    switch (step.kind) {
      case 'work':
        return this.#work(process, step)
      case 'sweep':
        return this.#sweep(process, step)
      case 'renew':
        return this.#renew(process)
      case 'arrive':
        await process.engine.late?.()
        process.engine.late = undefined
        return
      case 'crash':
      case 'close':
        if (step.kind === 'close') await process.engine.store.close()
        process.engine.isDead = true
        this.#processes[step.process] = await this.#newProcess(process.engine.late)
        return
      case 'nothing':
        return
      default:
        this.#now += TICK_MS
        vi.advanceTimersByTime(TICK_MS)
    }
  }

  // ---- Operations ----

  async #work(process: Process, step: ModelStep): Promise<void> {
    const [from = 'idle'] = step.before.op[step.process] ?? []
    const [to = 'idle'] = step.after.op[step.process] ?? []
    const thread = process.operation ?? process.engine.start(this.#operationOf(step))
    process.operation = thread
    if (from === 'idle' && to === 'viewing') await passes(thread, publishes)
    if (from === 'put') await this.#putObject(thread, step)
    else if (from === 'commit') await this.#commit(thread, step)
    else if (from !== 'idle') await passes(thread, fitsOf(OPERATION, from))
    if (to !== 'idle') return reach(thread, fitsOf(OPERATION, to), [])
    const isLink = from === 'idle'
    const mayWrite = isLink ? [changesTable, endsStash] : [leaves, publishes]
    await finish(thread, mayWrite)
    process.operation = null
    judge(thread, step, isLink)
  }

  #operationOf({ process, before, after }: ModelStep): (store: Store) => Promise<unknown> {
    const [, kind = '', object = 0] = after.op[process] ?? []
    const team = (store: Store) => store.team(TEAM)
    const table = (store: Store) => team(store).table(this.#tableId)
    switch (kind) {
      case 'overwrite':
        return (store) => table(store).overwrite({ rows: rowsOf(object) })
      case 'chunk':
        return (store) => team(store).stash(`c${object}`).put('0', rowsOf(object))
      case 'page':
        return (store) => table(store).page()
      case 'scan':
        return async (store) => {
          for await (const _ of table(store).scan());
        }
      case 'backup':
        return async (store) => {
          for await (const _ of store.backup());
        }
      default: {
        const linked = before.chunks.find((chunk) => !after.chunks.includes(chunk))
        return async (store) => {
          const stash = team(store).stash(`c${linked}`)
          await table(store).overwrite({ rows: stash })
          await stash.delete()
        }
      }
    }
  }

  async #putObject(thread: Thread, { process, before }: ModelStep): Promise<void> {
    const call = await thread.waiting()
    const [, , object = 0] = before.op[process] ?? []
    this.#stored.name(object, call?.ids?.[0])
    await passes(thread, putsObject)
  }

  /** The commit that names the object: on the current head, with the fate that the model has chosen. */
  async #commit(thread: Thread, step: ModelStep): Promise<void> {
    const isThis = fitsOf(OPERATION, 'commit')
    for (let call = await thread.waiting(); call !== null; call = await thread.waiting()) {
      if (!(await this.#fails(call, KEY_SPACE.tableHead))) break
      if (await this.#fails(call, KEY_SPACE.writer)) break // It would not be planned again.
      await thread.go()
      await reach(thread, isThis, [])
    }
    const { choice, after } = step
    const fates: Readonly<Record<number, Fate>> = { 7: 'happened', 8: 'later', 9: 'never' }
    const isFull = thread.engine.late !== undefined
    const fate = choice === 8 && isFull ? 'never' : (fates[choice] ?? 'answered')
    if (fate !== 'answered') return thread.go(fate)
    const isRefused = after.refused.length > step.before.refused.length
    if (isRefused) await thread.go()
    else await passes(thread, isThis)
  }

  /** Whether a check of a commit fails: of a head that has been replaced, or of a writer record. */
  async #fails({ commit }: Call, space: number): Promise<boolean> {
    const check = commit?.checks?.find(({ key }) => key[0] === space)
    if (check === undefined) return false
    const there = await this.#kv.partition(TEAM).read((view) => view.get(check.key))
    return there === null || check.equals === null || !sameBytes(there, check.equals)
  }

  async #renew({ engine }: Process): Promise<void> {
    const renewals = [...engine.renewals]
    if (renewals.length === 0) throw new Error('The record of the engine is not renewed')
    const thread = engine.start(async () => {
      for (const renew of renewals) renew()
    })
    await passes(thread, publishes)
  }

  // ---- Garbage collections ----

  async #sweep(process: Process, { process: p, before, after }: ModelStep): Promise<void> {
    const from = before.sweep[p] ?? 'idle'
    const to = after.sweep[p] ?? 'idle'
    const thread = process.sweep ?? process.engine.start((store) => store.maintain())
    process.sweep = thread
    // A step that may write any number of times ends where the next begins.
    if (SWEEP_WRITES[from] === undefined)
      await passes(thread, fitsOf(SWEEP, from), [isHousekeeping])
    else await reach(thread, fitsOf(SWEEP, from), [isHousekeeping])
    const mayWrite = [isHousekeeping, ...(SWEEP_WRITES[from] ?? [])]
    if (to !== 'idle') {
      if (from === 'list') await passes(thread, ({ port }) => port === 'list', mayWrite)
      if (from === to) throw new Error(`The sweep stays at ${from}`)
      return reach(thread, fitsOf(SWEEP, to), mayWrite)
    }
    await finish(thread, mayWrite)
    process.sweep = null
    if (thread.failure !== undefined) throw thread.failure
  }

  /** Nothing acknowledged is lost: the table has the rows of the model. */
  async #compareRows(state: ModelState | undefined): Promise<void> {
    const process = await this.#newProcess()
    const page = await process.engine.store.team(TEAM).table(this.#tableId).page()
    const numbers = page.rows.map(({ n }) => n)
    if (state !== undefined && (numbers.length !== 1 || numbers[0] !== state.cur)) {
      throw new Error(`The table has the rows ${numbers.join()}, and must have ${state.cur}`)
    }
  }
}

/** Whether the operation had the result that the model states. */
function judge(
  { failure }: Thread,
  { process, choice, before, after }: ModelStep,
  isLink: boolean,
) {
  const [from, kind, , isWhole] = before.op[process] ?? []
  const isRead = ['page', 'scan', 'backup'].includes(kind ?? '')
  const outcome = isStoreError(failure) ? failure.outcome : undefined
  if (isLink || (isRead && isWhole)) {
    if (failure !== undefined) throw failure
  } else if (isRead) {
    if (failure === undefined) throw new Error('The operation read what is not there')
  } else if (from === 'commit' && choice >= 7) {
    if (outcome !== 'unknown') throw new Error(`The outcome is unknown, not ${String(failure)}`)
  } else if (after.refused.length > before.refused.length) {
    if (outcome !== 'unchanged') throw new Error(`Nothing happened, not ${String(failure)}`)
  } else if (failure !== undefined) throw failure
}

function fitsOf(of: Readonly<Record<string, Fits>>, at: string): Fits {
  const fits = of[at]
  if (fits === undefined) throw new Error(`Nothing is known of ${at}`)
  return fits
}

/** Continues a thread until it waits with a call that fits. */
async function reach(thread: Thread, fits: Fits, mayWrite: readonly Fits[]): Promise<void> {
  for (;;) {
    const call = await thread.waiting()
    if (call === null) throw new Error(`The thread has ended: ${String(thread.failure)}`)
    if (fits(call)) return
    if (isWrite(call) && !mayWrite.some((may) => may(call)))
      throw new Error(`${show(call)} is made`)
    await thread.go()
  }
}

/** Continues a thread until a call was made. A refused commit is followed by another. */
async function passes(thread: Thread, fits: Fits, mayWrite: readonly Fits[] = []): Promise<void> {
  for (;;) {
    await reach(thread, fits, mayWrite)
    await thread.go()
    const last = thread.last as Readonly<{ ok?: boolean }> | null | undefined
    if (typeof last !== 'object' || last === null || last.ok !== false) return
  }
}

async function finish(thread: Thread, mayWrite: readonly Fits[]): Promise<void> {
  for (let call = await thread.waiting(); call !== null; call = await thread.waiting()) {
    const found = call
    if (isWrite(found) && !mayWrite.some((may) => may(found))) {
      throw new Error(`${show(found)} is made`)
    }
    await thread.go()
  }
}

function show({ port, partition, space, commit, ids }: Call): string {
  const keys = [
    ...(commit?.puts ?? []).map(([key]) => `+${key[0]?.toString(16)}`),
    ...(commit?.deletes ?? []).map((key) => `-${key[0]?.toString(16)}`),
  ]
  return `${port} ${partition ?? ''} ${space?.toString(16) ?? ''} ${keys.join(' ')} ${ids ?? ''}`
}

function rowsOf(object: number): { n: number }[] {
  return [{ n: object }]
}

function optionsOf(now: () => number): Omit<StoreOptions, 'kv' | 'objects'> {
  return {
    maintenance: false,
    compression: 'none',
    inlineRowsMax: 0,
    cacheBytesMax: 0,
    jobLeaseMs: TICK_MS,
    orphanGraceMs: TICK_MS,
    overwrittenRowsTtlMs: 0,
    overwrittenRowSetsMax: 0,
    clock: { now },
  }
}
