// One history: its seed determines the options of the store, the operations, the faults, and their times.

import type { StoreOptions } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import type { Durability } from '../../../src/kv/batch-writer.js'
import { DAMAGES } from '../../conformance/faults/fault-disk.js'
import type { Fault, FaultPlan, PortStep } from '../../conformance/faults/fault-plan.js'
import { nthStep } from '../../conformance/faults/fault-plan.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import { reopeningsOf } from '../../support/reopenings.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { Mismatch, show } from '../model/operation.js'
import { checkNothingIsLeft, checkRemains, readAll } from './checks.js'
import { JOB_TTL_MS, SimJobs } from './jobs.js'
import {
  addTwins,
  alterKey,
  getBeside,
  handOverText,
  inTransaction,
  retypeKey,
  takePastText,
  updateAndAdd,
} from './key-operations.js'
import { alterTable, deleteRows, deleteTable, updateRows } from './life-operations.js'
import { mergeTable } from './merge-operation.js'
import { Moments } from './moments.js'
import {
  changeTable,
  createTable,
  deleteRow,
  deleteStash,
  putChunk,
  putFile,
  type RowsForm,
  type RowsOf,
  readBeside,
  repeatAdd,
  type SimOperation,
  updateRow,
} from './operations.js'
import type { ChunkState, ModelRow, ModelStash, ModelTable, Outcome } from './oracle.js'
import {
  applyInSomeOrder,
  likelyState,
  mayHoldChunks,
  Oracle,
  showState,
  withState,
} from './oracle.js'
import { passInterval } from './virtual-time.js'
import { answersTo, settleWhole } from './whole-stashes.js'
import { checkUndamaged, checkWiped, deleteAll, TeamBeside } from './wipe-operation.js'
import { FLUSH_MS, SETTLES, type SimOptions, SimWorld } from './world.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const HISTORY_MS = 30 * DAY_MS

/** How long the expiry of a stash is remembered. */
const EXPIRED_KEPT_MS = 30 * DAY_MS

/** The kind of faults of a history. */
type Profile = 'clean' | 'slow' | 'crash' | 'io' | 'misread' | 'damage'

const PROFILES: readonly Profile[] = [
  'clean',
  ...Array<Profile>(5).fill('slow'),
  ...Array<Profile>(8).fill('crash'),
  ...Array<Profile>(5).fill('io'),
  ...Array<Profile>(2).fill('misread'),
  ...Array<Profile>(3).fill('damage'),
]

/** All but one. The order of the others is part of the meaning of a seed. */
const SCHEDULED_DAMAGES = DAMAGES.filter((kind) => kind !== 'dropRecord')

/** Keys of tables. */
const KEYS = ['n', 'v', 'v', null] as const

const STEPS_MIN = 3
const STEPS_MORE = 9
const STASHES = 2
const SERIALS = 3
const TABLES_MAX = 3
const RECOVERY_TRIES_MAX = 5

/** @throws {Mismatch} when the store breaks a rule. @returns the number of steps of its ports */
export async function runSchedule(seed: number, trace: string[] = []): Promise<number> {
  const schedule = new Schedule(seed, trace)
  try {
    await schedule.run()
  } finally {
    schedule.world.disk.crash('process') // This ends its background work.
  }
  return schedule.world.disk.steps
}

class Schedule {
  readonly world: SimWorld
  readonly #oracle = new Oracle()
  readonly #random: Seeded
  readonly #profile: Profile
  readonly #trace: string[]
  readonly #moments = new Moments()
  /** Number of batches that must be on the disk: those before the last interval, or the last close. */
  #promised = 0
  /** Whether power cuts undid commits although later ones remain. */
  #hasHole = false
  /** Whether versions have grown, and no rows were added since. */
  #hasGrown = false
  /** Adds without an answer, which may be repeated. */
  #unanswered: (() => SimOperation)[] = []
  /** Chunks without an answer, which may be there after the next open. */
  #pendingChunks: NonNullable<SimOperation['stashed']>[] = []
  #isPoisoned = false
  #isOpen = false
  #reopenings = 0
  /** Whether the store refuses to open, as it should on a damaged disk. */
  #isRefused = false
  /** Runs operations as jobs; null: the history has none. */
  readonly #jobs: SimJobs | null
  /** Chooses keys of tables and operations that use them; null: the history has none. */
  readonly #keys: Seeded | null
  /** Chooses rarer cases of keys: empty cells, former texts, twins in one input; null: none. */
  readonly #rare: Seeded | null
  /** Row numbers of adds with an idempotency key, by which these adds are recognised. */
  readonly #repeated = new Set<number>()
  /** Chooses operations on the life of tables and on many rows; null: the history has none. */
  readonly #life: Seeded | null
  /** Chooses merges without rows; null: the history chooses none. */
  readonly #bare: Seeded | null
  /** Chooses when everything is deleted; null: never. */
  readonly #wipes: Seeded | null
  /** null: the history has none. */
  #beside: TeamBeside | null = null
  /** Whether a deletion of everything has failed, or may have, and was not repeated. */
  #isHalfWiped = false

  constructor(seed: number, trace: string[]) {
    this.#random = seeded(seed)
    for (let i = 0; i < 4; i++) this.#random.below(2) // Similar seeds begin alike.
    this.#profile = this.#random.pick(PROFILES)
    this.#trace = trace
    const any = anyOptions(this.#random)
    // Lost commits are noticed only while their records are kept.
    const kept = { ...any.kv, commitRecordsMin: 65_536 }
    const strict = this.#profile === 'damage' ? { ...any, kv: kept } : any
    const durability = this.#profile === 'damage' ? 'commit' : anyDurability(seed)
    const hasJobs = durability === 'commit' && mayHaveJobs(seed, this.#profile)
    const durable = withDurability(strict, durability)
    this.#life = anyOfTwo(seed ^ 0x2c1b3c6d)
    this.#keys = anyOfTwo(seed ^ 0x6a09e667)
    this.#bare = anyOfTwo(seed ^ 0x3c6ef372)
    this.#rare = this.#keys === null ? null : anyOf(2, seed ^ RARE_SALT)
    this.#wipes = anyOf(4, seed ^ WIPES_SALT)
    const store = { ...durable.store, historyRetentionMs: this.#life?.once(2) ? HISTORY_MS : 0 }
    const options = hasJobs ? withJobs({ ...durable, store }) : { ...durable, store }
    this.#jobs = hasJobs ? new SimJobs(() => this.world.clock.now()) : null
    this.world = new SimWorld(options, this.#random.below(2 ** 30))
    trace.push(`${this.#profile} ${show(options)}`)
  }

  async run(): Promise<void> {
    await this.world.open()
    if (this.#wipes !== null) await this.#makeBeside()
    this.#moments.begin(this.world.disk.batches, this.#oracle)
    if (this.#profile === 'slow') this.#slowDown()
    const steps = STEPS_MIN + this.#random.below(STEPS_MORE)
    for (let step = 0; step < steps; step++) {
      await this.#step()
      const mustReopen = this.world.disk.isDown || (this.#isPoisoned && this.#wantsReopen())
      if (mustReopen && !this.#isRefused) await this.#reopen()
      if (this.#isRefused) return
    }
    await this.#checkWrites()
    this.#trace.push('the end')
    await this.#reopen()
    if (!this.#isRefused) await this.#end()
  }

  /** Once the disk works again, so does the store, by itself. */
  async #checkWrites(): Promise<void> {
    const { world } = this
    if (!world.options.reopens || world.disk.isDown || world.excuses.damaged) return
    world.disarm()
    for (let tries = 0; tries < RECOVERY_TRIES_MAX; tries++) {
      const put = putFile(world, this.#oracle, false)
      const outcome = await this.#operateAlone(put, 'as the disk works again')
      if (outcome.kind === 'done') return
      await new Promise<void>((done) => setTimeout(done, 2_000))
    }
    throw new Mismatch('The disk works again, and the store takes no writes')
  }

  /** A store that reopens its database by itself needs no help. */
  #wantsReopen(): boolean {
    return this.world.options.reopens ? this.#random.once(6) : !this.#random.once(3)
  }

  /** The outcome of operations without an answer is decided once the database was reopened. */
  #noteReopening(): void {
    const reopenings = reopeningsOf(this.world.kv)
    if (reopenings === this.#reopenings) return
    this.#trace.push('  (opened again by itself)')
    this.#reopenings = reopenings
    this.#isPoisoned = false
    this.#decidePending()
  }

  async #step(): Promise<void> {
    const { world } = this
    this.#noteReopening()
    this.#moments.note(world.disk.batches, this.#oracle)
    const kind = this.#random.below(20)
    this.#armSometimes()
    if (kind < 14) await this.#operate(kind < 5 ? 2 + this.#random.below(2) : 1)
    else if (kind < 16) await this.#maintain()
    else if (kind === 16) this.#passTime()
    else if (kind === 17) await readAll(world, this.#oracle)
    else if (kind === 18 && this.#profile !== 'clean') await this.#reopen()
    else await this.#operate(1)
    if (world.options.kv.durability === 'interval' && this.#random.once(4)) {
      await this.#passInterval()
    }
    if (this.#random.once(4)) world.disarm()
  }

  /** Lets the time pass after which everything acknowledged is on the disk. */
  async #passInterval(): Promise<void> {
    const { world } = this
    if (world.disk.isDown) return
    const { batches } = world.disk
    this.#trace.push(`pass the interval: ${batches} batches`)
    passInterval(FLUSH_MS)
    // Its answer comes after the pending data was flushed.
    const outcome = await world.outcomeOf(() => world.kv.partition('').commit({}))
    this.#trace.push(`  ${showOutcome(outcome)}`)
    if (outcome.kind === 'unknown') this.#isPoisoned = true
    if (outcome.kind === 'done') this.#promised = batches
  }

  /** Each step of the disk may take as long as many others, so that operations interleave in many ways. */
  #slowDown(): void {
    const { below, once, pick } = seeded(this.#random.below(2 ** 30))
    this.world.arm(({ operation }) => {
      // A read of an object may take as long as a whole garbage collection.
      if (operation === 'get' && once(2)) return { kind: 'delay', turns: below(pick([100, 5_000])) }
      return once(3) ? { kind: 'delay', turns: below(pick([10, 100, 400])) } : null
    })
  }

  #armSometimes(): void {
    if (this.#profile === 'slow') this.#slowDown()
    if (
      this.#profile === 'clean' ||
      this.#profile === 'slow' ||
      this.#profile === 'damage' ||
      this.#random.below(5) > 1
    )
      return
    const plan = anyPlan(this.#random, this.#profile)
    this.#trace.push(plan.text)
    this.world.arm(plan.plan)
  }

  #passTime(): void {
    const span = this.#random.pick([MINUTE_MS, HOUR_MS, 11 * MINUTE_MS, 2 * DAY_MS, 8 * DAY_MS])
    this.#trace.push(`pass ${span}`)
    this.world.clock.pass(span)
    this.#doubtStashes()
  }

  async #maintain(): Promise<void> {
    const { kv, store } = this.world.options
    await this.#maintainOnce()
    // The second garbage collection deletes what the first has marked, although the commits that released it may not be
    // on the disk.
    if (kv.durability === 'interval' && store.orphanGraceMs === 0 && !this.world.disk.isDown)
      await this.#maintainOnce()
    if (!this.world.disk.isDown && this.#random.once(2)) await readAll(this.world, this.#oracle)
  }

  async #maintainOnce(): Promise<void> {
    this.#trace.push('garbageCollection')
    this.#doubtFiles()
    const outcome = await this.world.outcomeOf(() => this.world.store.maintain())
    this.#trace.push(`  ${showOutcome(outcome)}`)
    if (outcome.kind === 'unknown') this.#isPoisoned = true
  }

  /** Collects garbage while others work: twice, so that the second deletes what the first has marked. */
  async #maintainBeside(operations: readonly SimOperation[]): Promise<void> {
    const { store, options } = this.world
    const isSafe = options.store.orphanGraceMs !== 0 || !readObjects(operations)
    const count = isSafe ? 2 : 1
    this.#trace.push(`  and beside it ${count} garbage collections`)
    this.#doubtFiles()
    for (let runs = 0; runs < count; runs++) {
      const outcome = await this.world.outcomeOf(() => store.maintain())
      if (outcome.kind === 'unknown') this.#isPoisoned = true
    }
  }

  /** Expired files that no row names may be gone from this garbage collection on: no row names them from here on. */
  #doubtFiles(): void {
    const { clock, options } = this.world
    const held = this.#oracle.heldFiles()
    for (const { id, completedAt } of [...this.#oracle.files.values()]) {
      // Only the order of commits decides whether a row names such a file in time.
      const isOld = clock.now() - completedAt > (options.store.fileRetentionMs ?? 0)
      if (isOld && !held.has(id)) this.#oracle.files.delete(id)
    }
  }

  /** Expired stashes may have ended, as a whole. Later that may be forgotten. */
  #doubtStashes(): void {
    for (const stash of this.#oracle.stashes.values()) {
      const { chunks } = stash
      if (this.#isPast(stash, 0) && mayHoldChunks(stash)) stash.isDoubted = true
      if (!this.#isPast(stash, EXPIRED_KEPT_MS)) continue
      stash.isGone = false
      for (const [serial, states] of chunks) chunks.set(serial, withState(states, [null]))
    }
  }

  #isPast({ lastPutAt }: ModelStash, byMs: number): boolean {
    const { stashTtlMs = 0 } = this.world.options.store
    return this.world.clock.now() - lastPutAt >= stashTtlMs + byMs
  }

  async #operate(count: number): Promise<void> {
    if (!this.#wipes?.once(6)) return this.#operateAtOnce(count)
    if (this.#wipes.once(2)) return this.#wipeAlone()
    this.#oracle.isWiping = true
    await this.#operateAtOnce(count)
    this.#oracle.isWiping = false
  }

  async #operateAtOnce(count: number): Promise<void> {
    const { world } = this
    const operations: SimOperation[] = []
    while (operations.length < count) {
      const again = this.#unanswered.pop()
      operations.push(again === undefined ? this.#anyOperation() : again())
    }
    // It collects garbage several times, and without grace a second garbage collection deletes objects that others
    // read.
    const isSafe = world.options.store.orphanGraceMs !== 0 || !readObjects(operations)
    if (this.#oracle.isWiping && isSafe) operations.push(deleteAll(world, this.#oracle))
    this.#widenStashes(operations)
    if (operations.length > 1) this.#trace.push(`${operations.length} at once:`)
    for (const { text } of operations) this.#trace.push(`  ${text}`)
    const runs = this.#random.once(this.#profile === 'slow' ? 2 : 5)
    const maintaining = runs ? this.#maintainBeside(operations) : undefined
    const outcomes = await Promise.all(
      operations.map((one) => world.outcomeOf(() => one.run(world))),
    )
    await maintaining
    for (const outcome of outcomes) this.#trace.push(`  ${showOutcome(outcome)}`)
    this.#settle(operations, outcomes)
  }

  /** Deletes everything, and checks it, unless an earlier operation may take effect only now. */
  async #wipeAlone(): Promise<void> {
    const { world } = this
    const isDecided =
      !this.#isPoisoned &&
      this.#pendingChunks.length === 0 &&
      this.#oracle.tables.every(({ possible }) => possible.every((one) => one.pending.length === 0))
    const outcome = await this.#operateAlone(deleteAll(world, this.#oracle), 'alone')
    if (outcome.kind !== 'done' || world.disk.isDown) return
    if (isDecided) await checkWiped(world)
    await this.#beside?.check()
  }

  /** After an opening: the remains of a failed deletion are complete things, and repeating it finishes it. */
  async #wipeAgain(): Promise<void> {
    this.#isHalfWiped = false
    await checkUndamaged(this.world)
    if (!this.#wipes?.once(2)) return
    await this.#wipeAlone()
    await checkUndamaged(this.world)
  }

  /** With the weakest durability a power cut may lose it. */
  async #makeBeside(): Promise<void> {
    const { durability } = this.world.options.kv
    if (durability === 'none') return
    this.#beside = new TeamBeside(this.world)
    await this.#beside.make()
    if (durability === 'interval') await this.#passInterval()
  }

  async #operateAlone(operation: SimOperation, when: string): Promise<Outcome> {
    const { world } = this
    this.#moments.note(world.disk.batches, this.#oracle)
    this.#widenStashes([operation])
    this.#trace.push(`  ${operation.text}, ${when}`)
    const outcome = await world.outcomeOf(() => operation.run(world))
    this.#trace.push(`  ${showOutcome(outcome)}`)
    this.#settle([operation], [outcome])
    return outcome
  }

  /** Applies each operation to each table and stash. */
  #settle(given: readonly SimOperation[], outcomesOfGiven: readonly Outcome[]): void {
    const whole = given.flatMap((operation, i) => {
      const outcome = outcomesOfGiven[i]
      return outcome === undefined ? [] : withParts(operation, outcome)
    })
    const operations = whole.map(({ operation }) => operation)
    const outcomes = whole.map(({ outcome }) => outcome)
    if (operations.some(({ parts }) => parts !== undefined)) this.#jobs?.forget()
    this.#isHalfWiped ||= whole.some(({ operation: { parts }, outcome }) => {
      return parts !== undefined && outcome.kind !== 'done'
    })
    this.#moments.add(
      whole.flatMap(({ operation, outcome }) => {
        return outcome.kind === 'failed' && operation.parts === undefined ? [] : [operation]
      }),
    )
    const applied = operations.flatMap(({ table, text, apply, settle }, i) => {
      const outcome = outcomes[i]
      if (outcome === undefined) return []
      settle?.(outcome)
      if (outcome.kind === 'unknown') this.#isPoisoned = true
      return [{ table, text, apply, outcome }]
    })
    for (const table of new Set(applied.map((one) => one.table))) {
      if (table === null) continue
      const own = applied.filter((one) => one.table === table)
      const before = table.possible
      table.possible = applyInSomeOrder(before, own)
      const [only, ...others] = table.possible
      if (only !== undefined) {
        if (others.length === 0) for (const row of only.state?.rows ?? []) this.#oracle.noteRow(row)
        continue
      }
      const texts = own.map(({ text, outcome }) => `${text}: ${showOutcome(outcome)}`).join('\n  ')
      throw new Mismatch(
        `In no order from ${before.map(({ state }) => showState(state)).join(' or ')} this fits:\n  ${texts}`,
      )
    }
    this.#settleStashes(operations, outcomes)
  }

  /** A stash used during a put may have the chunk or not. The chunks are settled afterwards. */
  #before = new Map<ModelStash, Map<string, readonly ChunkState[]>>()

  #widenStashes(operations: readonly SimOperation[]): void {
    this.#before.clear()
    for (const { stashed } of operations.flatMap((one) => [one, ...(one.parts?.() ?? [])])) {
      if (stashed === undefined) continue
      const { stash, serial, rows } = stashed
      if (!this.#before.has(stash)) this.#before.set(stash, new Map(stash.chunks))
      const serials = serial === null ? [...stash.chunks.keys()] : [serial]
      for (const one of serials) {
        stash.chunks.set(one, withState(stash.chunks.get(one) ?? [null], [rows]))
      }
    }
  }

  #settleStashes(operations: readonly SimOperation[], outcomes: readonly Outcome[]): void {
    for (const [stash, before] of this.#before) {
      const own = operations.flatMap(({ stashed }, i) => {
        const kind = outcomes[i]?.kind
        return stashed?.stash === stash && kind !== 'failed' ? [{ ...stashed, kind }] : []
      })
      for (const serial of new Set([...before.keys(), ...stash.chunks.keys()])) {
        const touching = own.filter((one) => one.serial === null || one.serial === serial)
        const done = touching.filter(({ kind }) => kind === 'done').map(({ rows }) => rows)
        const maybe = touching.filter(({ kind }) => kind === 'unknown').map(({ rows }) => rows)
        const left = done.length > 0 ? done : (before.get(serial) ?? [null])
        stash.chunks.set(serial, withState(left, maybe))
      }
      this.#pendingChunks.push(...own.filter(({ kind }) => kind === 'unknown'))
      settleWhole(this.world, stash, answersTo(stash, operations, outcomes))
      if (own.length > 0) stash.lastPutAt = this.world.clock.now()
    }
    this.#before.clear()
    this.#doubtStashes()
  }

  #anyOperation(): SimOperation {
    const { world } = this
    const random = this.#random
    const oracle = this.#oracle
    const tables = oracle.knownTables()
    const table = tables[random.below(Math.max(1, tables.length))]
    const ofLife = table === undefined ? null : this.#lifeOperation(table)
    if (ofLife !== null) return ofLife
    const ofKeys = table === undefined ? null : this.#keyOperation(table)
    if (ofKeys !== null) return ofKeys
    const kind = random.below(27)
    if (kind < 4) return this.#putChunk()
    if (kind === 4) return deleteStash(this.#anyStash())
    if (kind === 5) return putFile(world, oracle, random.once(2))
    if (table === undefined || (kind < 8 && this.#mayCreate())) {
      const of = this.#anyRows()
      const key = this.#keys?.pick(KEYS) ?? null
      const jobs = key === null ? this.#jobsFor(of) : null
      return createTable(world, oracle, of, { jobs, key })
    }
    if (kind < 13) return this.#add(table)
    if (kind < 16) {
      const version = likelyState(table)?.version ?? 0
      const ifMatch = random.once(3) ? { ifMatch: Math.max(1, version - random.below(2)) } : {}
      const of = this.#anyRows()
      return changeTable(world, 'overwrite', table, of, ifMatch, this.#jobsFor(of))
    }
    if (kind === 16) return readBeside(world, table)
    if (kind >= 24) return this.#merge(table)
    const rows = likelyState(table)?.rows.filter(({ id }) => id !== null) ?? []
    const row = rows[random.below(Math.max(1, rows.length))]
    if (row === undefined) return this.#add(table)
    if (kind < 21) {
      const ifMatch = random.once(4) ? Math.max(1, row.version - random.below(2)) : undefined
      return updateRow(world, oracle, table, row, ifMatch)
    }
    return deleteRow(world, table, row)
  }

  #mayCreate(): boolean {
    const live = this.#oracle.tables.filter(({ possible }) => {
      return possible.some(({ state, pending }) => state !== null || pending.length > 0)
    })
    return live.length < TABLES_MAX
  }

  /** null: another operation is to be chosen. */
  #lifeOperation(table: ModelTable): SimOperation | null {
    const life = this.#life
    if (life === null || !life.once(4)) return null
    const { world } = this
    const { version = 0, hasFiles = true, rows: all = [] } = likelyState(table) ?? {}
    const kind = life.below(10)
    const name = `t${this.#oracle.nextNumber()}`
    if (kind === 0) return alterTable(world, table, { name })
    if (kind < 4)
      return alterTable(world, table, { hasFiles: !hasFiles, ...(kind === 1 && { name }) })
    if (kind < 6) {
      return deleteTable(
        world,
        table,
        life.once(3) ? Math.max(1, version - life.below(2)) : undefined,
      )
    }
    const rows = all.filter(({ id }) => id !== null && !life.once(3))
    if (rows.length === 0) return null
    if (kind >= 8) return deleteRows(world, table, rows)
    const updates = rows.map((row) => ({ row, text: this.#oracle.newText(row.n) }))
    return updateRows(world, table, updates)
  }

  /**
   * An operation that sets or removes a key, conflicts with one, or reads by it. null: another operation is to be
   * chosen.
   */
  #keyOperation(table: ModelTable): SimOperation | null {
    const keys = this.#keys
    if (keys === null || !keys.once(3)) return null
    const { world } = this
    const oracle = this.#oracle
    const { key = null, rows: all = [] } = likelyState(table) ?? {}
    const rare = this.#rare?.once(2) ? this.#rareKeyOperation(table, this.#rare) : null
    if (rare !== null) return rare
    const kind = keys.below(10)
    if (kind < 2) return alterKey(world, table, keys.pick(KEYS))
    const rows = all.filter(({ id }) => id !== null)
    const [row, other] = [keys.below(all.length + 1), keys.below(all.length + 1)].map(
      (i) => rows[i],
    )
    if (row === undefined || other === undefined) return null
    if (kind < 4) return getBeside(world, table, key ?? 'v', row[key ?? 'v'] ?? 'no row')
    if (kind < 6) {
      return updateRow(world, oracle, table, row, undefined, oracle.shareText(row.n, other.v))
    }
    if (kind < 8) {
      // Each text goes to the next row, and sometimes the last one to no row.
      const from = keys.once(3) ? 1 : 0
      const texts = [...rows.slice(1), ...rows.slice(0, 1)].map(({ v }) => v)
      const given = rows.map((one, i) => ({ row: one, text: texts[i] ?? '' })).slice(from)
      if (given.length === 0) return null
      for (const { row: one, text } of given) oracle.shareText(one.n, text)
      return updateRows(world, table, given)
    }
    const [added] = oracle.newRows(1, null)
    if (added === undefined) return null
    const isTwinOfNumber = kind === 8 && !this.#repeated.has(row.n)
    const n = isTwinOfNumber ? row.n : added.n
    const twin = { ...added, n, v: oracle.shareText(n, isTwinOfNumber ? added.v : row.v) }
    const of: RowsOf = { rows: [...this.#newRows(0), twin], form: this.#anyForm() }
    return changeTable(world, 'add', table, of, {})
  }

  #rareKeyOperation(table: ModelTable, rare: Seeded): SimOperation | null {
    const { world } = this
    const oracle = this.#oracle
    const rows = likelyState(table)?.rows.filter(({ id }) => id !== null) ?? []
    const [row, other] = [rows[rare.below(rows.length + 1)], rows[rare.below(rows.length + 1)]]
    const changed = rows.filter((one) => oracle.pastText(one) !== null)
    const past = changed[rare.below(changed.length + 1)]
    const kind = rare.below(10)
    if (kind === 0) return alterKey(world, table, 'f')
    if (kind < 3) return addTwins(world, oracle, table, 2 + rare.below(4))
    const numbered = kind < 8 ? null : versionByNumbers(table)
    if (numbered !== null) return retypeKey(world, table, numbered)
    if (row === undefined || other === undefined) return null
    if (kind === 3 && row !== other) return handOverText(world, oracle, table, [row, other])
    if (kind < 7) return past ? takePastText(world, oracle, table, [row, past]) : null
    if (kind === 7) return updateAndAdd(world, oracle, table, row)
    const text = oracle.shareText(row.n, other.v)
    return inTransaction(updateRow(world, oracle, table, row, undefined, text))
  }

  /** A stash must exist until the job that uses it has ended, and histories delete theirs at any time. */
  #jobsFor(of: RowsOf): SimJobs | null {
    if (this.#jobs === null || 'stash' in of) return null
    return this.#random.once(2) && !this.#oracle.isWiping ? this.#jobs : null
  }

  #add(table: ModelTable): SimOperation {
    const of = this.#anyRows()
    if (!('rows' in of) || of.rows.length === 0 || !this.#random.once(2)) {
      return changeTable(this.world, 'add', table, of, {})
    }
    const key = `k${this.#oracle.nextNumber()}`
    for (const { n } of of.rows) this.#repeated.add(n)
    const add = changeTable(this.world, 'add', table, of, { idempotencyKey: key })
    const run: SimOperation['run'] = async (world) => {
      const again = () => repeatAdd(this.world, table, of, key)
      this.#unanswered.push(again)
      const value = await add.run(world)
      this.#unanswered = this.#unanswered.filter((one) => one !== again)
      return value
    }
    return { ...add, run }
  }

  /** Rows of the table, unchanged and with other texts, in any order, and new ones; or none. */
  #merge(table: ModelTable): SimOperation {
    const random = this.#random
    const there = new Map((likelyState(table)?.rows ?? []).map((row) => [row.n, row]))
    const known = [...there.values()]
      .filter(() => !random.once(3))
      .map((row) => (random.once(2) ? row : { ...row, v: this.#oracle.newText(row.n) }))
    const rows = [...known, ...this.#newRows(0)]
    if (random.once(2)) rows.reverse()
    if (this.#bare?.once(3)) rows.length = 0
    const mode = random.pick(['upsert', 'replace'] as const)
    return mergeTable(this.world, table, { mode, rows, form: this.#anyForm() })
  }

  #anyStash(): ModelStash {
    return this.#oracle.stash(`s${this.#random.below(STASHES)}`)
  }

  #putChunk(): SimOperation {
    const rows = this.#newRows(1)
    const stash = this.#anyStash()
    return putChunk(stash, String(this.#random.below(SERIALS)), rows, this.#anyForm())
  }

  #anyRows(): RowsOf {
    if (this.#random.once(3)) return { stash: this.#anyStash() }
    return { rows: this.#newRows(0), form: this.#anyForm() }
  }

  #newRows(min: number): ModelRow[] {
    const files = [...this.#oracle.files.keys()]
    const file = files[this.#random.below(2 * files.length + 1)] ?? null
    return this.#oracle.newRows(min + this.#random.below(4), file)
  }

  #anyForm(): RowsForm {
    return this.#random.pick(['objects', 'json', 'csv'] as const)
  }

  async #reopen(): Promise<void> {
    const { world } = this
    const losesPower = this.#random.once(2)
    this.#trace.push(`reopen${losesPower ? ' after a power cut' : ''}`)
    await this.#endProcess(losesPower)
    if (this.#profile === 'damage') this.#damage(losesPower)
    if (this.#profile === 'crash' || this.#profile === 'io') {
      if (this.#random.once(4)) await this.#openUnderFaults()
    }
    try {
      if (!this.#isOpen) await this.#open()
    } catch (failure) {
      if (this.#hasHole && isStoreError(failure) && failure.code === 'DATA_LOSS') {
        this.#trace.push(`  refused: ${failure.message}`)
        this.#isRefused = true
        await this.#acceptLoss()
        return
      }
      if (world.excuses.damaged && isStoreError(failure) && failure.code.startsWith('DATA_')) {
        this.#trace.push(`  refused: ${failure.message}`)
        this.#isRefused = true
        if (failure.code === 'DATA_LOSS') await this.#acceptLoss()
        return
      }
      throw new Mismatch(`The store cannot be opened: ${show(failure)}`)
    }
    this.#isOpen = false
    await readAll(world, this.#oracle)
    if (!world.excuses.damaged) await this.#beside?.check()
    if (this.#isHalfWiped && !world.excuses.damaged) await this.#wipeAgain()
    if (this.#hasGrown) await this.#addAfterLoss()
  }

  /** Rows added after a loss must not get the IDs of lost ones, so each table gets some at once. */
  async #addAfterLoss(): Promise<void> {
    this.#hasGrown = false
    for (const table of this.#oracle.knownTables()) {
      const rows = { rows: this.#newRows(1), form: 'objects' } as const
      await this.#operateAlone(changeTable(this.world, 'add', table, rows, {}), 'after a loss')
    }
  }

  /** @param losesPower - Whether the machine crashes with the process. */
  async #endProcess(losesPower: boolean): Promise<void> {
    const { world } = this
    const { durability } = world.options.kv
    const isSudden = durability !== 'commit' && this.#random.once(2)
    if (isSudden) this.#trace.push('  suddenly')
    const isClosed = await world.end(losesPower, isSudden)
    if (isClosed && durability === 'interval') this.#promised = world.disk.batches
    this.#settleLoss()
    this.#isPoisoned = false
    this.#reopenings = 0
    this.#decidePending()
  }

  /** Checks that power cuts undid no promised batch, and takes the oracle back to the remaining ones. */
  #settleLoss(): void {
    const { disk, options } = this.world
    const lost = disk.takeLost()
    const [first] = lost
    const { durability } = options.kv
    // Objects are not synced either: an object may be incomplete.
    if (durability === 'none' && disk.hasLostPower) this.world.excuses.damaged = true
    if (first === undefined || durability === 'commit') return
    for (const table of this.#oracle.tables) table.seen = null // Its version may be lost.
    this.#trace.push(`  lost of ${disk.batches} batches: ${lost.join()}`)
    this.#hasHole = lost.length < disk.batches - first + 1
    if (durability === 'interval') {
      if (this.#hasHole) throw new Mismatch('Commits were lost before others that are there')
      if (first <= this.#promised) throw new Mismatch(`Batch ${first} was to be on the disk`)
    }
    if (!this.#hasHole) this.#moments.goBack(this.#oracle, first - 1)
  }

  async #open(): Promise<void> {
    const { world } = this
    await world.open()
    if (this.#hasHole) throw new Mismatch('The store opens although commits are missing in it')
    this.#takeOverBase()
    await this.#jobs?.endAll(world.team)
  }

  #takeOverBase(): void {
    const { kv, disk, options } = this.world
    const by = (kv.versionBase ?? 0) - this.#oracle.base
    const isUnsafe = this.#moments.hasLost && by === 0
    if (by < 0 || isUnsafe || (by > 0 && options.kv.durability === 'commit')) {
      throw new Mismatch(`Versions have grown by ${by}`)
    }
    if (by > 0) this.#oracle.raiseVersions(by)
    this.#hasGrown ||= by > 0
    this.#moments.begin(disk.batches, this.#oracle)
    this.#doubtFiles()
  }

  /** The store opens all the same, shows nothing that never existed, and reuses no version. */
  async #acceptLoss(): Promise<void> {
    this.#trace.push('  opened with acceptLoss')
    await this.world.open(true)
    await checkRemains(this.world, this.#oracle)
  }

  /** When the process ends, an operation without an answer has taken effect or never will. */
  #decidePending(): void {
    for (const table of this.#oracle.tables) {
      const possible = applyInSomeOrder(table.possible, [])
      table.possible = possible.map(({ state }) => ({ state, pending: [] }))
    }
    for (const { stash, serial, rows } of this.#pendingChunks.splice(0)) {
      const serials = serial === null ? [...stash.chunks.keys()] : [serial]
      for (const one of serials) {
        stash.chunks.set(one, withState(stash.chunks.get(one) ?? [null], [rows]))
      }
    }
  }

  /** The process that recovers from a crash crashes, too. */
  async #openUnderFaults(): Promise<void> {
    const { world } = this
    const { plan, text } = anyPlan(this.#random, this.#profile)
    this.#trace.push(`  opened meanwhile: ${text}`)
    world.arm(plan)
    const outcome = await world.outcomeOf(async () => {
      await this.#open()
      await readAll(world, this.#oracle)
    })
    const isUsable = outcome.kind === 'done' && !world.disk.isDown
    this.#trace.push(`  ${showOutcome(outcome)}`)
    if (isUsable && this.#random.once(2)) {
      world.disarm()
      this.#isOpen = await this.#takesWrites()
    }
    if (!this.#isOpen) await this.#endProcess(this.#random.once(2))
  }

  /** Whether no write of a job that an opening continues has failed: nobody is told of such a failure. */
  async #takesWrites(): Promise<boolean> {
    if (this.#jobs === null) return true
    const { kind } = await this.world.outcomeOf(() => this.world.kv.partition('').commit({}))
    return kind === 'done'
  }

  #damage(losesPower: boolean): void {
    const damage = this.#random.pick(SCHEDULED_DAMAGES)
    // A power cut may lose the record that shows that the end of the log is missing.
    if (damage === 'cutLog' && losesPower) return
    if (!this.world.disk.damage(damage)) return
    this.#trace.push(`  ${damage}`)
    this.world.excuses.damaged = true
  }

  async #end(): Promise<void> {
    const { world } = this
    if (this.#random.once(2)) await this.#readStashes()
    if (world.excuses.damaged || !this.#random.once(3)) return
    await this.#beside?.end()
    await checkNothingIsLeft(world, this.#oracle)
  }

  /** Creates a table from each stash, to see its content. */
  async #readStashes(): Promise<void> {
    for (const stash of this.#oracle.stashes.values()) {
      const operation = createTable(this.world, this.#oracle, { stash })
      this.#trace.push(`  ${operation.text}`)
      const outcome = await this.world.outcomeOf(() => operation.run(this.world))
      this.#widenStashes([operation])
      this.#settle([operation], [outcome])
    }
    await readAll(this.world, this.#oracle)
  }
}

/** A version up to which the key of a table is certainly its numbers; null: there may be none. */
function versionByNumbers({ possible }: ModelTable): number | null {
  const versions = possible.flatMap(({ state, pending }) => {
    return state?.key === 'n' && pending.length === 0 ? [state.version] : []
  })
  return versions.length === possible.length && versions.length > 0 ? Math.min(...versions) : null
}

function readObjects(operations: readonly SimOperation[]): boolean {
  return operations.some((one) => one.readsObjects)
}

/** An operation and its parts. A failed one may have affected some of them. */
function withParts(
  operation: SimOperation,
  outcome: Outcome,
): readonly Readonly<{ operation: SimOperation; outcome: Outcome }>[] {
  const own: Outcome = outcome.kind === 'failed' ? { kind: 'unknown' } : outcome
  const parts = operation.parts?.() ?? []
  return [{ operation, outcome }, ...parts.map((part) => ({ operation: part, outcome: own }))]
}

function showOutcome(outcome: Outcome): string {
  if (outcome.kind === 'unknown') return 'unknown'
  return show(outcome.kind === 'done' ? outcome.value : outcome.failure)
}

function anyOptions(random: Seeded): SimOptions {
  const store: StoreOptions = {
    inlineRowsMax: random.pick([0, 2, 1_000]),
    segmentRowsMax: random.pick([2, 65_536]),
    cacheBytesMax: random.pick([0, 16_777_216]),
    maintenance: { compactionRecordsMin: random.pick([1, 1, 3]) },
    overwrittenRowsTtlMs: random.pick([0, HOUR_MS]),
    overwrittenRowSetsMax: random.pick([0, 2]),
    orphanGraceMs: random.pick([0, 10 * MINUTE_MS]),
    stashTtlMs: random.pick([6 * HOUR_MS, 10 * DAY_MS]),
    fileRetentionMs: random.pick([DAY_MS, 7 * DAY_MS]),
    uploadTtlMs: DAY_MS,
    idempotencyTtlMs: 30 * DAY_MS,
  }
  return {
    store: {
      ...store,
      valueFilters: store.segmentRowsMax === 2,
      ...(store.cacheBytesMax === 0 && {
        ...SETTLES,
        maintenance: joinedMaintenance(store.maintenance, SETTLES.maintenance),
      }),
    },
    disk: {
      seed: random.below(2 ** 30),
      model: random.pick(['leveldb', 'prefix'] as const),
      logBytesMax: random.pick([100, 1_000, 100_000]),
      getSync: random.once(2),
    },
    kv: {
      commitRecordsMin: random.pick([1, 3, 65_536]),
      checkpointBatches: random.pick([1, 4, 1_024]),
      recordCacheBytes: random.pick([0, 400, 4_194_304]),
      durability: 'commit',
    },
    reopens: !random.once(3),
  }
}

/** A failed or damaged read may end a job for good, and its failure says nothing about later reads. */
const PROFILES_WITH_JOBS: readonly Profile[] = ['clean', 'slow', 'crash', 'io']

/** True for one history of three. The seed is separate, so that it changes no other choices. */
function mayHaveJobs(seed: number, profile: Profile): boolean {
  const { below } = seeded(seed ^ 0x1b873593)
  for (let i = 0; i < 4; i++) below(2)
  return below(3) === 0 && PROFILES_WITH_JOBS.includes(profile)
}

/** For one history of two. The seed is separate, so that it changes no other choices. */
function anyOfTwo(seed: number): Seeded | null {
  return anyOf(2, seed)
}

/** For one history in `count`. */
function anyOf(count: number, seed: number): Seeded | null {
  const random = seeded(seed)
  for (let i = 0; i < 4; i++) random.below(2)
  return random.once(count) ? random : null
}

/** With these salts no recorded seed makes the rarer choices, so recorded histories do not change. */
const RARE_SALT = 0x1f83d9fd
const WIPES_SALT = 0x510e5280

/**
 * A process looks for jobs once, when it opens the store. Operations without an answer by then are decided at the next
 * opening.
 */
function withJobs(options: SimOptions): SimOptions {
  const { store } = options
  const onBackgroundFailure = () => undefined // The next process continues the job.
  const maintenance = joinedMaintenance(store.maintenance, { jobIntervalMs: DAY_MS })
  const jobs = { maintenance, jobTtlMs: JOB_TTL_MS, onBackgroundFailure }
  return { ...options, store: { ...store, ...jobs }, reopens: false }
}

/** Drawn from a separate seed, so that it changes no other choices. */
function anyDurability(seed: number): Durability {
  const { below } = seeded(seed ^ 0x5f356495)
  for (let i = 0; i < 4; i++) below(2)
  return DURABILITIES[below(DURABILITIES.length)] ?? 'commit'
}

const DURABILITIES: readonly Durability[] = [
  ...Array<Durability>(4).fill('commit'),
  ...Array<Durability>(3).fill('interval'),
  'none',
]

function withDurability(options: SimOptions, durability: Durability): SimOptions {
  const { kv, disk, store } = options
  const relaxed = { ...options, kv: { ...kv, durability } }
  if (durability === 'commit') return relaxed
  // Lost commits are noticed only while their records are kept.
  if (durability === 'none') return { ...relaxed, kv: { ...relaxed.kv, commitRecordsMin: 65_536 } }
  const isHasty = store.orphanGraceMs === 0
  // In a hasty store, the commits that release objects may not be on the disk when two garbage collections are over.
  const flushBytes = isHasty ? 8_192 : 1_024
  return {
    ...relaxed,
    store: isHasty ? hasty(store) : store,
    kv: { ...relaxed.kv, flushBytes },
    // The database's log is twice as long as the data written before it is flushed.
    disk: { ...disk, logBytesMax: 2 * flushBytes },
  }
}

/** With these options a store releases and deletes objects as soon as it may. */
const HASTY = {
  overwrittenRowsTtlMs: 0,
  overwrittenRowSetsMax: 0,
  maintenance: { compactionRecordsMin: 1 },
  inlineRowsMax: 0,
} satisfies StoreOptions

function hasty(store: StoreOptions): StoreOptions {
  const maintenance = joinedMaintenance(store.maintenance, HASTY.maintenance)
  return { ...store, ...HASTY, maintenance }
}

const FITS: readonly Readonly<{ text: string; most: number; fits(step: PortStep): boolean }>[] = [
  { text: 'write', most: 5, fits: ({ operation }) => operation === 'write' },
  { text: 'write', most: 5, fits: ({ operation }) => operation === 'write' },
  { text: 'step', most: 40, fits: () => true },
  { text: 'step of the objects', most: 10, fits: ({ port }) => port === 'objects' },
]

const READS: readonly PortStep['operation'][] = ['read', 'iterate', 'get']

function anyPlan(random: Seeded, profile: Profile): { plan: FaultPlan; text: string } {
  const fault = anyFault(random, profile)
  if (fault.kind === 'flip' || fault.kind === 'misdirect') {
    const n = random.below(20)
    const fits = ({ operation }: PortStep): boolean => READS.includes(operation)
    return { plan: nthStep(n, fault, { fits }), text: `read ${n} meets ${fault.kind}` }
  }
  const { text, most, fits } = random.pick(FITS)
  const n = random.below(most)
  const lasting = fault.kind === 'fail' && random.once(3)
  const plan = nthStep(n, fault, { fits, lasting })
  return { plan, text: `${text} ${n} meets ${show(fault)}${lasting ? ' and so do all later' : ''}` }
}

function anyFault(random: Seeded, profile: Profile): Fault {
  if (profile === 'misread') return { kind: random.pick(['flip', 'misdirect'] as const) }
  if (profile === 'io') return { kind: random.pick(['fail', 'full', 'full', 'zombie'] as const) }
  if (random.once(8)) return { kind: 'delay', turns: 1 + random.below(60) }
  const side = random.pick(['before', 'after'] as const)
  return { kind: 'crash', side, of: random.pick(['process', 'machine'] as const) }
}
