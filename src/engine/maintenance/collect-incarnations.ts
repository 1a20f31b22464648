// Ends the incarnations of processes that have ended, so that garbage collection may delete their objects.
//
// Invariants:
// - An incarnation has ended when its record says so, or when its record has not changed for `jobLeaseMs` while this
//   process watched. So two clocks are never compared. If the process lives nevertheless, it continues as a new
//   incarnation, and loses its pending work.
// - The order is: first, the record of the incarnation is marked as ended; then its writer records are deleted in all
//   teams, which are listed after the mark; then its record is deleted. After a crash in between, the next garbage
//   collection of any process does the rest.
// - A process that died may have had unwritten notes of due teams (leases/due-teams), so all teams are noted first.
// - Each process ends incarnations by itself, not as a duty with a lease (duty-run), because all such leases depend on
//   this work.
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

/** The bytes of a record, and the monotonic time at which they were first seen. */
type Seen = Pick<FoundIncarnation, 'bytes'> & Readonly<{ since: number }>

export class IncarnationCollector {
  readonly #context: CollectionContext
  #seen: ReadonlyMap<string, Seen> = new Map()
  /** Whether nothing is left of other processes that shared the store. */
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
    // The teams are noted before the marks, so that after a crash in between the next garbage collection notes them.
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
    // The teams are listed after the marks: a writer record that is put from now on has no effect.
    for (const teamId of await system.read(readTeams)) {
      await deleteWriters(kv.partition(teamId), names)
    }
    return deleteUnchanged(system, ended)
  }

  /** Deletes what only a shared store needs: leases of duties, and hints. */
  async #deleteDuties(): Promise<void> {
    const { kv } = this.#context
    const system = kv.partition('') // This partition has the times of garbage collections, but no hints.
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
      // If no other process can write, no other process has the store open.
      const isOver = record.hasEnded || !kv.shared || now - since >= options.jobLeaseMs
      if (isOver) over.push(found)
    }
    this.#seen = seen
    return over
  }

  /** null: the incarnation has renewed its record meanwhile, or another garbage collection has marked it. */
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
