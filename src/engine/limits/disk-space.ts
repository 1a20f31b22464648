// Refuses changes before the disk is full. No data is lost if the disk is full. But a database without room for its log
// must be reopened, and other programs fail too.
//
// Invariants:
// - Free space is measured at most once per second, and only before a write.
// - Deletions, garbage collections and reads are never refused: they free space or need none.
import { monotonicMs } from '../../base/clock.js'
import { StoreError } from '../../base/store-error.js'
import type { ObjectStore } from '../../objects/objects.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { withCheckedPuts } from './checked-puts.js'

/** How long a measurement is valid, in milliseconds. */
const MEASURED_MS = 1_000

export class DiskSpace {
  readonly #measure: (() => Promise<number>) | undefined
  readonly #bytesMin: number
  #freeBytes = Number.POSITIVE_INFINITY
  #measuredAt = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | undefined

  constructor(
    objects: Pick<ObjectStore, 'freeBytes'>,
    { freeDiskBytesMin }: Pick<ResolvedOptions, 'freeDiskBytesMin'>,
  ) {
    const isOff = freeDiskBytesMin === 0 || objects.freeBytes === undefined
    this.#measure = isOff ? undefined : async () => (await objects.freeBytes?.()) ?? Number.NaN
    this.#bytesMin = freeDiskBytesMin
  }

  /** Whether disk space is checked. */
  get isChecked(): boolean {
    return this.#measure !== undefined
  }

  /**
   * Whether writes are refused, by the last measurement. If that is outdated, a new one is begun, for the next call.
   */
  get isLow(): boolean {
    if (this.#isStale()) void this.#measured()
    return this.#freeBytes < this.#bytesMin
  }

  /**
   * Checks that there is space for a write.
   * @returns undefined: no wait is needed
   * @throws {StoreError} INSUFFICIENT_STORAGE, at once or as a rejection
   */
  check(): Promise<void> | undefined {
    if (this.#measure === undefined) return undefined
    if (this.#isStale()) return this.#measured()?.then(() => this.#refuseIfLow())
    this.#refuseIfLow()
    return undefined
  }

  #isStale(): boolean {
    return this.#measure !== undefined && monotonicMs() - this.#measuredAt >= MEASURED_MS
  }

  #refuseIfLow(): void {
    if (!(this.#freeBytes < this.#bytesMin)) return
    const message = `The disk has ${this.#freeBytes} bytes free, fewer than the ${this.#bytesMin} of freeDiskBytesMin; free some space`
    throw new StoreError('INSUFFICIENT_STORAGE', message, { outcome: 'unchanged' })
  }

  /** Never fails: if the space cannot be measured, writes are not refused. */
  #measured(): Promise<void> | undefined {
    this.#measuring ??= this.#measure?.()
      .catch(() => Number.POSITIVE_INFINITY)
      .then((bytes) => {
        this.#freeBytes = bytes
        this.#measuredAt = monotonicMs()
        this.#measuring = undefined
      })
    return this.#measuring
  }
}

/** The objects, with a check of the space before each put. */
export function withDiskSpace(objects: ObjectStore, disk: DiskSpace): ObjectStore {
  return disk.isChecked ? withCheckedPuts(objects, () => disk.check()) : objects
}
