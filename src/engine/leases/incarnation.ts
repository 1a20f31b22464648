// Represents this opening of the store to the other processes that have the store open. The record of the incarnation
// is renewed while the process lives. It tells the garbage collections of other processes what they must not delete. In
// each team the incarnation has a writer record, which commits that name new objects check. A store that is not shared
// has neither record, and its commits have no further check.
//
// Invariants:
// - The record is durable before the first object is put. So an incarnation without a record has no pending object.
// - A commit that names new objects checks the writer record of their incarnation. A process that ends an incarnation
//   first marks the record of the incarnation, then deletes its writer records, and only then its other data
//   (maintenance/collect-incarnations). So no later commit names an object of that incarnation.
// - A writer record counts only if, after it was put, the record was found not ended. So the process that ends an
//   incarnation finds every writer record that counts.
// - Once `publish` has resolved, others know what was held, pinned and settled when it was called. What is pending they
//   know from the beginning: every object that the record does not call settled.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { every } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { decodeIncarnation, encodeIncarnation } from '../../format/incarnation-records.js'
import { incarnationKey, writerKey } from '../../format/keys.js'
import { incarnationOf } from '../../format/object-id.js'
import { EMPTY_RECORD } from '../../format/records.js'
import type { KvCheck, KvCommit, KvCommitResult, KvPartition, KvStore } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { KeyedMutex } from '../commit/keyed-mutex.js'
import type { FailedChecks } from '../commit/shared-table-writer.js'
import type { ObjectIds } from '../ids/object-ids.js'
import type { Background } from './background.js'
import type { GenerationPins } from './generation-pins.js'
import type { ObjectHolds } from './object-holds.js'

/** Number of renewals of the record per duration of a lease. */
const RENEWALS = 3

/**
 * Maximum number of pending objects, and of pinned generations, in a record. With more, the record says that all are
 * pending, or pinned.
 */
const LISTED_MAX = 1_000

/** Maximum number of teams whose writer record is known to exist. For further teams, writer records are put again. */
const WRITERS_MAX = 10_000

const NO_CHECKS: readonly KvCheck[] = Object.freeze([])

type TeamPlace = Readonly<{ teamId: string; partition: KvPartition }>

type IncarnationParts = Readonly<{
  kv: KvStore
  ids: ObjectIds
  holds: ObjectHolds
  pins: GenerationPins
  options: Pick<ResolvedOptions, 'clock' | 'random' | 'jobLeaseMs'>
  background: Pick<Background, 'report'>
}>

export class Incarnation {
  readonly #parts: IncarnationParts
  readonly #system: KvPartition
  readonly #turns = new KeyedMutex()
  /** The record as it was last written; null: it was not written yet. */
  #record: Bytes | null = null
  #beat = 0
  /** A renewal that waits for its turn. */
  #waiting: Promise<void> | undefined
  #stopRenewing: (() => void) | undefined
  #hasEnded = false
  /** Teams in which the incarnation has a writer record, or is putting one. */
  readonly #writers = new Map<string, Promise<void> | true>()

  constructor(parts: IncarnationParts) {
    this.#parts = parts
    this.#system = parts.kv.partition('')
  }

  /** Resolves when the others know what is held, pinned and settled now. Waiting calls share a commit. */
  publish(): Promise<void> {
    if (!this.#parts.kv.shared) return Promise.resolve()
    this.#waiting ??= this.#turns.run('', () => {
      this.#waiting = undefined
      return this.#write()
    })
    return this.#waiting
  }

  /** Called before an object is put. undefined: the object may be put at once. */
  ready(): Promise<void> | undefined {
    return this.#record !== null || !this.#parts.kv.shared ? undefined : this.publish()
  }

  /**
   * The checks of a commit that names new objects in a team.
   * @throws {StoreError} STORAGE_UNAVAILABLE, at once or as a rejection: if other processes have ended the incarnation
   *   of an object
   */
  checksFor(team: TeamPlace, objects: readonly ObjectId[]): Awaitable<readonly KvCheck[]> {
    if (!this.#parts.kv.shared || objects.length === 0) return NO_CHECKS
    this.#checkOwn(objects)
    const writer = this.#writers.get(team.teamId)
    return chain(writer === true ? undefined : (writer ?? this.#enter(team)), () => {
      this.#checkOwn(objects)
      return [{ key: writerKey(this.#parts.ids.incarnation), equals: EMPTY_RECORD }]
    })
  }

  /** Makes a commit that names new objects in a team. @throws {StoreError} as `checksFor` */
  commit(team: TeamPlace, objects: readonly ObjectId[], commit: KvCommit): Promise<KvCommitResult> {
    if (!this.#parts.kv.shared || objects.length === 0) return team.partition.commit(commit)
    return this.#commitChecked(team, objects, commit)
  }

  async #commitChecked(
    team: TeamPlace,
    objects: readonly ObjectId[],
    commit: KvCommit,
  ): Promise<KvCommitResult> {
    const checks = await this.checksFor(team, objects)
    const all = [...(commit.checks ?? []), ...checks]
    const result = await team.partition.commit({ ...commit, checks: all })
    if (!result.ok) {
      this.noteRefused(result.failed)
      this.#checkOwn(objects)
    }
    return result
  }

  /**
   * Notes the checks that refused a commit. A missing writer record means that another process has ended the
   * incarnation.
   */
  readonly noteRefused = (failed: FailedChecks): void => {
    const key = writerKey(this.#parts.ids.incarnation)
    if (failed.some((check) => sameBytes(check.key, key))) this.#lose()
  }

  /** Tells other processes that this opening has ended. It must be called when no operation is in progress. */
  async end(): Promise<void> {
    this.#stopRenewing?.()
    await this.#turns.run('', async () => {
      this.#hasEnded = true
      if (this.#record !== null) await this.#write()
    })
  }

  async #write(): Promise<void> {
    const { random } = this.#parts.options
    await commitUntilAccepted('The record of this process is too busy', random, async () => {
      const key = incarnationKey(this.#parts.ids.incarnation)
      const next = this.#next()
      const result = await this.#system.commit({
        checks: [{ key, equals: this.#record }],
        puts: [[key, next]],
      })
      if (result.ok) {
        this.#record = next
        this.#renew()
        return
      }
      const there = result.failed[0]?.value ?? null
      // A renewal whose outcome was unknown may have been written.
      if (there !== null && !decodeIncarnation(there).hasEnded) this.#record = there
      else if (this.#hasEnded) return
      else this.#lose()
      return REFUSED
    })
  }

  #next(): Bytes {
    const { ids, holds, pins, options } = this.#parts
    const pinned = this.#hasEnded ? [] : pins.list(LISTED_MAX)
    return encodeIncarnation({
      hasEnded: this.#hasEnded,
      holdsObjects: !this.#hasEnded && holds.isHeld,
      pinsAll: pinned === null,
      beat: ++this.#beat,
      until: options.clock.now() + options.jobLeaseMs,
      ...ids.pendingCounters(LISTED_MAX),
      pinned: pinned ?? [],
    })
  }

  #renew(): void {
    const { options, background } = this.#parts
    if (this.#hasEnded) return
    this.#stopRenewing ??= every(Math.ceil(options.jobLeaseMs / RENEWALS), () => {
      this.publish().catch((failure: unknown) => background.report('lease', failure))
    })
  }

  /** Enters the incarnation among the writers of a team. */
  #enter({ teamId }: TeamPlace): Promise<void> {
    if (this.#writers.size >= WRITERS_MAX) this.#writers.clear()
    const entering = this.#putWriter(this.#parts.kv.partition(teamId)) // Has no check of a lease, so calls share it.
    this.#writers.set(teamId, entering)
    // This is false after the incarnation was lost.
    const isLatest = (): boolean => this.#writers.get(teamId) === entering
    entering.then(
      () => isLatest() && this.#writers.set(teamId, true),
      () => isLatest() && this.#writers.delete(teamId),
    )
    return entering
  }

  async #putWriter(partition: KvPartition): Promise<void> {
    await this.ready()
    const { incarnation } = this.#parts.ids
    await partition.commit({ puts: [[writerKey(incarnation), EMPTY_RECORD]] })
    const record = await this.#system.read((view) => view.get(incarnationKey(incarnation)))
    if (record !== null && !decodeIncarnation(record).hasEnded) return
    if (this.#parts.ids.incarnation === incarnation) this.#lose()
    // This record may have been put after the other writer records were deleted.
    await partition.commit({ deletes: [writerKey(incarnation)] })
    throw takenForEnded(this.#parts.options)
  }

  /** Continues as a new incarnation, because another process has ended this one. */
  #lose(): void {
    this.#parts.ids.beginAnew()
    this.#record = null
    this.#writers.clear()
  }

  #checkOwn(objects: readonly ObjectId[]): void {
    const { incarnation } = this.#parts.ids
    if (objects.some((id) => incarnationOf(id) !== incarnation)) {
      throw takenForEnded(this.#parts.options)
    }
  }
}

function takenForEnded({ jobLeaseMs }: Pick<ResolvedOptions, 'jobLeaseMs'>): StoreError {
  const message = `Other processes considered this one ended, because it did not renew its lease for ${jobLeaseMs} ms; try again`
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}
