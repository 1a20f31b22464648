// Ends the incarnations whose processes have ended, so that garbage collection may delete their objects.
//
// Invariants:
// - An incarnation counts as ended when it says so, or when its record has not changed for `jobLeaseMs` while this
//   process watched: two clocks are never compared. One that lives all the same goes on as a new incarnation, and
//   loses what it had pending.
// - The order is: its record says that it has ended; its writer records are deleted in all teams that are listed after
//   that; its record is deleted. A crash in between leaves the rest to the next garbage collection, of any process.
// - One that died may have noted work for duties that it had not written (leases/due-teams): all teams are noted first.
// - Each process looks for itself: this is no duty with a lease (duty-run), as all such leases depend on it.
import { sameBytes } from '../../base/bytes.js'
import { monotonicMs } from '../../base/clock.js'
import { encodeIncarnation } from '../../format/incarnation-records.js'
import { DUTIES_RANGE, incarnationOfKey, WRITERS_RANGE } from '../../format/keys.js'
import { DUE_TEAMS_RANGE, WORK_HINTS_RANGE } from '../../format/work-records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanKeys } from '../../kv/scan-batches.js'
import { deleteKeys, deleteRanges, deleteUnchanged } from '../commit/delete-records.js'
import { type FoundIncarnation, readIncarnations } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'

type CollectionContext = Pick<StoreContext, 'kv' | 'ids' | 'options' | 'dueTeams'>

/** A record, and since when it is known to have these bytes, by a clock that nobody sets. */
type Seen = Pick<FoundIncarnation, 'bytes'> & Readonly<{ since: number }>

export class IncarnationCollector {
  readonly #context: CollectionContext
  #seen: ReadonlyMap<string, Seen> = new Map()
  /** Whether nothing is left of processes that shared the store before this opening. */
  #isAlone = false

  constructor(context: CollectionContext) {
    this.#context = context
  }

  /** @returns the number of incarnations that were ended. */
  async collect(): Promise<number> {
    const { kv, dueTeams } = this.#context
    const system = kv.partition('')
    if (!kv.shared && !this.#isAlone) await this.#deleteDuties()
    const over = this.#findOver(await system.read(readIncarnations))
    // Before they are marked, so that a crash in between leaves it to the next garbage collection.
    const hasDied = over.some(({ record }) => !record.hasEnded)
    if (kv.shared && hasDied) await dueTeams.noteAll(await system.read(readTeams))
    const ended: KvCheck[] = []
    const names = new Set<string>()
    for (const found of over) {
      const check = await this.#markEnded(system, found)
      if (check === null) continue
      ended.push(check)
      names.add(found.name)
    }
    if (ended.length === 0) return 0
    // Listed now: a writer record that is put from here on never counts.
    for (const teamId of await system.read(readTeams)) {
      await deleteWriters(kv.partition(teamId), names)
    }
    return deleteUnchanged(system, ended)
  }

  /** Deletes what only processes that share a store look at: leases of duties, and hints. */
  async #deleteDuties(): Promise<void> {
    const { kv } = this.#context
    const system = kv.partition('') // It has the times of the last garbage collections, but no hints.
    await deleteRanges(system, [DUTIES_RANGE, DUE_TEAMS_RANGE])
    for (const name of await system.read(readTeams)) {
      await deleteRanges(kv.partition(name), [DUTIES_RANGE, WORK_HINTS_RANGE])
    }
    this.#isAlone = true
  }

  #findOver(all: readonly FoundIncarnation[]): FoundIncarnation[] {
    const { kv, ids, options } = this.#context
    const now = monotonicMs()
    const seen = new Map<string, Seen>()
    const over: FoundIncarnation[] = []
    for (const found of all) {
      const { name, bytes, record } = found
      if (name === ids.incarnation) continue
      const before = this.#seen.get(name)
      const since = before !== undefined && sameBytes(before.bytes, bytes) ? before.since : now
      seen.set(name, { bytes, since })
      // If no other process can write, nobody else has this store open.
      const isOver = record.hasEnded || !kv.shared || now - since >= options.jobLeaseMs
      if (isOver) over.push(found)
    }
    this.#seen = seen
    return over
  }

  /** null: it has renewed its record meanwhile, or another garbage collection is at it. */
  async #markEnded(
    system: KvPartition,
    { key, bytes, record }: FoundIncarnation,
  ): Promise<KvCheck | null> {
    if (record.hasEnded) return { key, equals: bytes }
    const nothing = { holdsObjects: false, pinsAll: false, pinned: [] }
    const marked = encodeIncarnation({ ...record, ...nothing, hasEnded: true })
    const { ok } = await system.commit({
      checks: [{ key, equals: bytes }],
      puts: [[key, marked]],
    })
    return ok ? { key, equals: marked } : null
  }
}

/** Deletes the writer records of incarnations in a team. */
async function deleteWriters(
  partition: KvPartition,
  incarnations: ReadonlySet<string>,
): Promise<void> {
  const keys = await partition.read(async (view) => {
    const found: KvCheck['key'][] = []
    for await (const some of scanKeys(view, WRITERS_RANGE)) {
      for (const key of some) if (incarnations.has(incarnationOfKey(key))) found.push(key)
    }
    return found
  })
  await deleteKeys(partition, keys)
}
