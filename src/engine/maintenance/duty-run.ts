// One run of a duty (garbage collection, compaction, recompression, garbage collection of files, deletion of objects)
// over the partitions of a store. On a shared store, a duty on a partition is done by the process that holds its lease.
//
// Invariants:
// - Every commit of a duty checks its lease (commit/lease). A lease is taken by a commit that checks the previous one,
//   and its bytes are never reused. So taking a lease at the wrong time can only cause double work, never harm data.
// - A lease lasts as long as the incarnation of its owner (leases/incarnation), whose record is renewed in any case. So
//   a process that continues its duties writes no lease, and a process that leaves the duties to others reads one
//   record per duty.
// - The record of an incarnation is durable before its first lease. An incarnation that has ended, or has no record,
//   never counts as living again.
// - A store that is not shared has no leases.
import { decodeDutyLease, encodeDutyLease, NO_INCARNATION } from '../../format/duty-records.js'
import { decodeIncarnation } from '../../format/incarnation-records.js'
import { type Duty, dutyKey, incarnationKey } from '../../format/keys.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { LeaseLost, underLease } from '../commit/lease.js'
import { type CheckGoesOn, stepwise } from '../commit/stepwise.js'
import type { StoreContext } from '../context/store-context.js'

type DutyContext = Pick<StoreContext, 'kv' | 'ids' | 'incarnation'>

/** A lease that this process holds. `isTaken`: whether this run took it. */
type Held = KvCheck & Readonly<{ isTaken: boolean }>

export class DutyRun {
  /** Whether to take leases from living processes too. This run returns them at its end. */
  readonly takesOver: boolean
  /** Called before each step. @throws the reason to end the run */
  readonly checkGoesOn: CheckGoesOn
  readonly #context: DutyContext
  /** Whether incarnations live, for those that this run has checked. */
  readonly #living = new Map<string, boolean>()

  constructor(context: DutyContext, takesOver: boolean, checkGoesOn: CheckGoesOn) {
    this.#context = context
    this.takesOver = takesOver
    this.checkGoesOn = checkGoesOn
  }

  /**
   * Does a duty on a partition, unless another process does it.
   * @param name - The name of the partition.
   * @param work - The work. It must commit only through the partition that it gets.
   * @returns undefined: another process does the duty, or has taken it over meanwhile.
   */
  async on<T>(
    duty: Duty,
    name: string,
    work: (partition: KvPartition) => Promise<T>,
  ): Promise<T | undefined> {
    const { kv } = this.#context
    const partition = kv.partition(name)
    this.checkGoesOn()
    if (!kv.shared) return work(stepwise(partition, this.checkGoesOn))
    const held = await this.#hold(partition, dutyKey(duty))
    if (held === null) return undefined
    try {
      return await work(stepwise(underLease(partition, held), this.checkGoesOn))
    } catch (failure) {
      if (failure instanceof LeaseLost) return undefined
      throw failure
    } finally {
      // If the lease cannot be returned, others take it when this process has ended.
      if (this.takesOver && held.isTaken) await giveBack(partition, held).catch(() => undefined)
    }
  }

  async #hold(partition: KvPartition, key: KvCheck['key']): Promise<Held | null> {
    const { ids, incarnation } = this.#context
    const bytes = await partition.read((view) => view.get(key))
    const there = bytes === null ? null : decodeDutyLease(bytes)
    if (bytes !== null && there?.owner === ids.incarnation) {
      return { key, equals: bytes, isTaken: false }
    }
    if (there !== null && !this.takesOver && (await this.#isLiving(there.owner))) return null
    await incarnation.ready()
    const next = encodeDutyLease({ owner: ids.incarnation, epoch: (there?.epoch ?? 0) + 1 })
    const { ok } = await partition.commit({
      checks: [{ key, equals: bytes }],
      puts: [[key, next]],
    })
    return ok ? { key, equals: next, isTaken: true } : null // null: another process was faster.
  }

  async #isLiving(name: string): Promise<boolean> {
    if (name === NO_INCARNATION) return false
    const known = this.#living.get(name)
    if (known !== undefined) return known
    const record = await this.#context.kv
      .partition('')
      .read((view) => view.get(incarnationKey(name)))
    const isLiving = record !== null && !decodeIncarnation(record).hasEnded
    this.#living.set(name, isLiving)
    return isLiving
  }
}

/** Changes a lease so that any process may take it. */
async function giveBack(partition: KvPartition, { key, equals }: KvCheck): Promise<void> {
  if (equals === null) return
  const { epoch } = decodeDutyLease(equals)
  await partition.commit({
    checks: [{ key, equals }],
    puts: [[key, encodeDutyLease({ owner: NO_INCARNATION, epoch })]],
  })
}
