// Deleting what nothing references and what has expired. Repeatable: a crash at any point leaves work
// for the next sweep, and nothing leaks for good.
//
// Invariants:
// - A record that makes others unreachable (a stash head, a retirement) is marked or deleted by a
//   commit before anything below it is deleted.
// - An object is deleted only if two marks, `graceMs` or more apart, found no record naming it, none
//   between them found one, and it was pending at neither: so no reader and no commit still uses it.
import type { Bytes } from '../base/bytes.js'
import { fromUtf8, toHex } from '../base/bytes.js'
import { decodeChunkObjects } from '../format/chunk-records.js'
import { decodeExtentPage } from '../format/extent-page.js'
import {
  CHUNKS_RANGE,
  chunksRange,
  columnListsRange,
  DEAD_STASHES_RANGE,
  EXTENT_PAGES_RANGE,
  extentPagesRange,
  nonceOfDeadStashKey,
  REPEATS_RANGE,
  RETIREMENTS_RANGE,
  retirementKey,
  rowsRange,
  SCHEMAS_RANGE,
  STASH_HEADS_RANGE,
  schemaKey,
  stashHeadKey,
  TABLE_HEADS_RANGE,
  type TableKey,
  TEAM_ENTRIES_RANGE,
  tableOfKey,
} from '../format/keys.js'
import {
  decodeRepeatRecord,
  decodeRetirement,
  decodeStashHead,
  decodeTableHead,
  encodeRetirement,
  encodeStashHead,
  type Generation,
  type Retirement,
} from '../format/records.js'
import type { KeyRange, KvCheck, KvPartition, KvView } from '../kv/kv.js'
import type { ObjectId } from '../objects/objects.js'
import { foldPartition } from './fold.js'
import { isRetained } from './generations.js'
import { isOver } from './repeats.js'
import { planDelete, scanBatches } from './stash-records.js'
import type { StoreContext } from './store-context.js'
import type { SweepReport } from './store-types.js'

/** Records deleted in one commit. */
const SWEEP_COUNT = 500

export class Sweeper {
  readonly #context: StoreContext
  /** Objects that the marks so far found unnamed, with the time of the first such mark. */
  readonly #unnamed = new Map<ObjectId, number>()
  #running: Promise<SweepReport> | undefined
  #folding: Promise<number> | undefined

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** One sweep over the whole store; calls meanwhile share it. */
  sweep(): Promise<SweepReport> {
    this.#running ??= this.#sweepAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Folds the row records of all teams; calls meanwhile share it. */
  fold(): Promise<number> {
    this.#folding ??= this.#foldAll().finally(() => {
      this.#folding = undefined
    })
    return this.#folding
  }

  async #foldAll(): Promise<number> {
    let folds = 0
    for (const partition of await this.#teamPartitions()) {
      folds += await foldPartition(this.#context, partition)
    }
    return folds
  }

  async #sweepAll(): Promise<SweepReport> {
    let stashes = 0
    let generations = 0
    const folds = await this.fold()
    const partitions = await this.#teamPartitions()
    for (const partition of partitions) {
      generations += await sweepGenerations(this.#context, partition)
      await sweepSchemas(partition)
      stashes += await expireStashes(this.#context, partition)
      await sweepDeadStashes(partition)
      await sweepRepeats(this.#context, partition)
    }
    const objects = await this.#sweepObjects(partitions)
    await this.#context.kv.reclaim?.()
    return { folds, stashes, generations, objects }
  }

  async #teamPartitions(): Promise<KvPartition[]> {
    const { kv } = this.#context
    return kv.partition('').read(async (view) => {
      const partitions: KvPartition[] = []
      for await (const entries of scanBatches(view, TEAM_ENTRIES_RANGE)) {
        for (const [key] of entries) partitions.push(kv.partition(fromUtf8(key.subarray(1))))
      }
      return partitions
    })
  }

  async #sweepObjects(partitions: readonly KvPartition[]): Promise<number> {
    const { objects, ids, options, kv } = this.#context
    const { incarnation } = ids
    // A store that stopped writing may hold commits whose outcome is unknown: nothing is deleted then.
    await kv.partition('').commit({})
    // What was listed before the mark and is named by none of it is garbage or pending. On a shared
    // store other incarnations have pending objects that only they know: those are theirs to sweep.
    const listed = await listAll(this.#context, kv.shared ? incarnation : '')
    const pending = new Set(listed.filter((id) => ids.isPending(id)))
    const named = await markAll(partitions)
    const now = options.clock.now()
    const unnamed = listed.filter((id) => !named.has(id) && !pending.has(id))
    const due = unnamed.filter((id) => now - (this.#unnamed.get(id) ?? now) >= options.graceMs)
    const doomed = due.filter((id) => this.#unnamed.has(id) && !ids.isPending(id))
    const before = new Map(this.#unnamed)
    this.#unnamed.clear()
    for (const id of unnamed) this.#unnamed.set(id, before.get(id) ?? now)
    await objects.delete(doomed)
    for (const id of doomed) this.#unnamed.delete(id)
    return doomed.length
  }
}

async function listAll({ objects }: StoreContext, prefix: string): Promise<ObjectId[]> {
  const listed: ObjectId[] = []
  let after: ObjectId | undefined
  for (;;) {
    const ids = await objects.list(prefix, after)
    if (ids.length === 0) return listed
    for (const id of ids) listed.push(id)
    after = ids[ids.length - 1]
  }
}

/** Every object that a record names: one view for each team. */
async function markAll(partitions: readonly KvPartition[]): Promise<Set<ObjectId>> {
  const named = new Set<ObjectId>()
  for (const partition of partitions) {
    await partition.read(async (view) => {
      for (const generation of await generationsOf(view)) {
        if (generation.forward !== null) named.add(generation.forward.object)
      }
      for await (const entries of scanBatches(view, EXTENT_PAGES_RANGE)) {
        for (const [, page] of entries) {
          for (const { segment } of decodeExtentPage(page)) {
            if (segment !== null) named.add(segment.object)
          }
        }
      }
      for await (const entries of scanBatches(view, CHUNKS_RANGE)) {
        for (const [, reference] of entries) {
          for (const object of decodeChunkObjects(reference).objects) named.add(object)
        }
      }
    })
  }
  return named
}

type Retired = Readonly<{ table: TableKey; bytes: Bytes; retirement: Retirement }>

async function sweepGenerations(context: StoreContext, partition: KvPartition): Promise<number> {
  const dropped = await partition.read((view) => findDropped(context, view))
  for (const retired of dropped) await dropGeneration(partition, retired)
  return dropped.length
}

/** Retired generations that are past retention and that no scan of this process reads. */
async function findDropped({ options, pins }: StoreContext, view: KvView): Promise<Retired[]> {
  const dropped: Retired[] = []
  const newer = new Map<string, { count: number; bytes: number }>()
  const all: Retired[] = []
  for await (const entries of scanBatches(view, RETIREMENTS_RANGE)) {
    for (const [key, bytes] of entries) {
      all.push({ table: tableOfKey(key), bytes, retirement: decodeRetirement(bytes) })
    }
  }
  const now = options.clock.now()
  for (const retired of all.reverse()) {
    const { table, retirement } = retired
    const name = table.join('.')
    const { count, bytes } = newer.get(name) ?? { count: 0, bytes: 0 }
    const total = bytes + (await segmentBytes(view, table, retirement.generation))
    newer.set(name, { count: count + 1, bytes: total })
    const isWithin = isRetained(retirement, count, options, now) && total <= options.retiredBytesMax
    const isKept = isWithin || pins.has(retirement.generation.nonce)
    if (retirement.dropping || !isKept) dropped.push(retired)
  }
  return dropped
}

async function segmentBytes(
  view: KvView,
  table: TableKey,
  { firstExtent, nextExtent }: Generation,
): Promise<number> {
  let bytes = 0
  const pages = extentPagesRange(table, firstExtent, nextExtent)
  for await (const entries of scanBatches(view, pages)) {
    for (const [, page] of entries) {
      for (const { segment } of decodeExtentPage(page)) bytes += segment?.objectBytes ?? 0
    }
  }
  return bytes
}

async function dropGeneration(
  partition: KvPartition,
  { table, bytes, retirement }: Retired,
): Promise<void> {
  const { firstExtent, nextExtent } = retirement.generation
  const key = retirementKey(table, firstExtent)
  const marked = encodeRetirement({ ...retirement, dropping: true })
  const mark = { checks: [{ key, equals: bytes }], puts: [[key, marked] as const] }
  if (!(await partition.commit(mark)).ok) return // Another sweep is at it.
  await sweepRange(partition, rowsRange(table, { extent: firstExtent, slot: 0 }, nextExtent))
  await sweepRange(partition, extentPagesRange(table, firstExtent, nextExtent))
  await partition.commit({ checks: [{ key, equals: marked }], deletes: [key] })
}

/**
 * Deletes the schemas that neither their table nor a retired generation has. A number that is out of
 * use stays so: the next schema of a table gets the next number.
 */
async function sweepSchemas(partition: KvPartition): Promise<void> {
  const unused = await partition.read(async (view) => {
    const used = await usedSchemas(view)
    const keys: Bytes[] = []
    for await (const entries of scanBatches(view, SCHEMAS_RANGE)) {
      for (const [key] of entries) if (!used.has(toHex(key))) keys.push(key)
    }
    return keys
  })
  for (let i = 0; i < unused.length; i += SWEEP_COUNT) {
    await partition.commit({ deletes: unused.slice(i, i + SWEEP_COUNT) })
  }
}

async function usedSchemas(view: KvView): Promise<Set<string>> {
  const generations = await generationsOf(view)
  return new Set(
    generations.map(({ table, schemaNumber }) => toHex(schemaKey(table, schemaNumber))),
  )
}

/** Every generation that can be read: those of the tables, and the retired ones. */
async function generationsOf(view: KvView): Promise<(Generation & { readonly table: TableKey })[]> {
  const generations: (Generation & { readonly table: TableKey })[] = []
  for await (const entries of scanBatches(view, TABLE_HEADS_RANGE)) {
    for (const [key, head] of entries) {
      generations.push({ ...decodeTableHead(head).generation, table: tableOfKey(key) })
    }
  }
  for await (const entries of scanBatches(view, RETIREMENTS_RANGE)) {
    for (const [key, retirement] of entries) {
      generations.push({ ...decodeRetirement(retirement).generation, table: tableOfKey(key) })
    }
  }
  return generations
}

/**
 * Ends stashes whose last chunk is older than their lifetime. First the head is marked in a commit,
 * which a put would take back; then the chunks are looked at once more; then the stash is deleted.
 */
async function expireStashes({ options }: StoreContext, partition: KvPartition): Promise<number> {
  const oldest = options.clock.now() - options.stashTtlMs
  const candidates = await partition.read((view) => findExpired(view, oldest))
  let ended = 0
  for (const { stashId, bytes } of candidates) {
    const key = stashHeadKey(stashId)
    const head = decodeStashHead(bytes)
    const marked = encodeStashHead({ ...head, number: head.number + 1, expiring: true })
    const mark = { checks: [{ key, equals: bytes }], puts: [[key, marked] as const] }
    if (!(await partition.commit(mark)).ok) continue
    const isExpired = await partition.read((view) =>
      isPast(view, head.nonce, head.createdAt, oldest),
    )
    if (isExpired && (await partition.commit(planDelete(stashId, marked))).ok) ended++
  }
  return ended
}

async function findExpired(
  view: KvView,
  oldest: number,
): Promise<{ stashId: string; bytes: Bytes }[]> {
  const expired: { stashId: string; bytes: Bytes }[] = []
  for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
    for (const [key, bytes] of entries) {
      const { nonce, createdAt } = decodeStashHead(bytes)
      if (!(await isPast(view, nonce, createdAt, oldest))) continue
      expired.push({ stashId: fromUtf8(key.subarray(1)), bytes })
    }
  }
  return expired
}

async function isPast(
  view: KvView,
  nonce: Bytes,
  createdAt: number,
  oldest: number,
): Promise<boolean> {
  if (createdAt > oldest) return false
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    if (entries.some(([, reference]) => decodeChunkObjects(reference).putAt > oldest)) return false
  }
  return true
}

async function sweepDeadStashes(partition: KvPartition): Promise<void> {
  const dead = await partition.read(async (view) => {
    const keys: Bytes[] = []
    for await (const entries of scanBatches(view, DEAD_STASHES_RANGE)) {
      for (const [key] of entries) keys.push(key)
    }
    return keys
  })
  for (const key of dead) {
    const nonce = nonceOfDeadStashKey(key)
    await sweepRange(partition, chunksRange(nonce))
    await sweepRange(partition, columnListsRange(nonce))
    await partition.commit({ deletes: [key] })
  }
}

/** Deletes the results that no repeat is answered with any more, unless one was replaced meanwhile. */
async function sweepRepeats({ options }: StoreContext, partition: KvPartition): Promise<void> {
  const over = await partition.read(async (view) => {
    const found: KvCheck[] = []
    for await (const entries of scanBatches(view, REPEATS_RANGE)) {
      for (const [key, equals] of entries) {
        if (isOver(options, decodeRepeatRecord(equals))) found.push({ key, equals })
      }
    }
    return found
  })
  for (let i = 0; i < over.length; i += SWEEP_COUNT) {
    const checks = over.slice(i, i + SWEEP_COUNT)
    await partition.commit({ checks, deletes: checks.map(({ key }) => key) })
  }
}

async function sweepRange(partition: KvPartition, range: KeyRange): Promise<void> {
  while ((await partition.sweep(range, SWEEP_COUNT)) === SWEEP_COUNT);
}
