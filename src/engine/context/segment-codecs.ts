// Tracks the codecs of the frames in a store's segments. The codecs record lists them, so that a runtime without one of
// these codecs refuses to open the store, instead of failing in the middle of a read (FORMAT.md, section 4).
//
// Invariants:
// - The record names a codec before a commit names a segment with frames of this codec.
// - The record is complete. It is created only before the first segment of a store, or after every frame was checked.
//   If the record does not exist, the codecs are unknown.
import type { Bytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import type { Random } from '../../base/random.js'
import { isStoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { checkCodecs, codecBit, EVERY_CODEC, lacksCodec } from '../../format/frame-codec.js'
import { CODECS_KEY } from '../../format/keys.js'
import { decodeCodecs, encodeCodecs } from '../../format/records.js'
import { rangeInObject, storedIn } from '../../format/shared-objects.js'
import type { KvPartition, KvStore, KvView } from '../../kv/kv.js'
import type { ObjectStore } from '../../objects/objects.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import type { Background } from '../leases/background.js'
import { openSegment } from '../segments/read-segment.js'
import { namedObjects } from './named-objects.js'
import { readTeams } from './team-entries.js'

/** Maximum number of teams that are searched for segments. A store with more teams is assumed to have segments. */
const TEAMS_LOOKED_AT_MAX = 1_000

/**
 * Codecs found in frames. `isWhole`: all frames were seen. The search ends early at a codec that this runtime lacks.
 */
type Found = { codecs: number; segments: number; isWhole: boolean }

export class SegmentCodecs {
  readonly #kv: KvStore
  readonly #objects: ObjectStore
  readonly #system: KvPartition
  readonly #background: Pick<Background, 'report'>
  readonly #random: Random
  /** Codecs that the record lists. `any`: segments exist without a record. undefined: not known yet. */
  #noted: number | 'any' | undefined

  constructor(
    kv: KvStore,
    objects: ObjectStore,
    background: Pick<Background, 'report'>,
    random: Random,
  ) {
    this.#background = background
    this.#random = random
    this.#kv = kv
    this.#objects = objects
    this.#system = kv.partition('')
  }

  /**
   * Checks at open that this runtime can read all segments, and records the codecs it found. Ignores damage: readers of
   * the damaged data will report it.
   * @throws {StoreError} FORMAT_UNKNOWN if this runtime cannot read a segment
   */
  async checkReadable(): Promise<void> {
    const record = await this.#read().catch(ignoreDamage)
    if (record === undefined) return
    const noted = record === null ? null : decodeCodecs(record)
    if (noted !== null) this.#noted = noted
    if (!lacksCodec(noted ?? EVERY_CODEC)) return
    const found = await this.#lookAtAll()
    checkCodecs(found.codecs)
    const isNews = noted !== null || found.segments > 0
    if (!found.isWhole || !isNews) return
    try {
      await this.#put(record, found.codecs)
    } catch (failure) {
      this.#background.report('codecs', failure) // The next open checks again.
    }
  }

  /** Records the codecs of segments before a commit names them. undefined: no wait is needed. */
  note(codecs: number): Promise<void> | undefined {
    return this.#isNoted(codecs) ? undefined : this.#note(codecs)
  }

  #isNoted(codecs: number): boolean {
    const noted = this.#noted
    return noted === 'any' || (noted !== undefined && (noted & codecs) === codecs)
  }

  async #note(codecs: number): Promise<void> {
    await commitUntilAccepted('The codecs record is too busy', this.#random, async () => {
      await this.#extend(codecs)
      return this.#isNoted(codecs) || REFUSED
    })
  }

  /** Extends the record. Each call reads and commits by itself, so that no call waits for another. */
  async #extend(codecs: number): Promise<void> {
    const record = await this.#read()
    if (record === null && (await this.#hasSegments())) {
      // If the record is still missing, the segments have never had one, so their codecs are unknown. Otherwise another
      // call or process has just made the record, and then the segments.
      if ((await this.#read()) === null) this.#noted = 'any'
      return
    }
    const noted = record === null ? 0 : decodeCodecs(record)
    if (record !== null && (noted & codecs) === codecs) this.#noted = noted
    else await this.#put(record, noted | codecs)
  }

  async #put(record: Bytes | null, codecs: number): Promise<void> {
    const { ok } = await this.#system.commit({
      checks: [{ key: CODECS_KEY, equals: record }],
      puts: [[CODECS_KEY, encodeCodecs(codecs)]],
    })
    if (ok) this.#noted = codecs
  }

  #read(): Promise<Bytes | null> {
    return this.#system.read((view) => view.get(CODECS_KEY))
  }

  async #hasSegments(): Promise<boolean> {
    const teams = await this.#system.read(readTeams)
    if (teams.length > TEAMS_LOOKED_AT_MAX) return true
    for (const team of teams) {
      const first = await this.#kv.partition(team).read((view) => segmentsIn(view).next())
      if (!first.done) return true
    }
    return false
  }

  /** Checks the frames of all segments; stops at the first codec that this runtime lacks. */
  async #lookAtAll(): Promise<Found> {
    const found: Found = { codecs: 0, segments: 0, isWhole: true }
    const teams = await this.#system.read(readTeams).catch(ignoreDamage)
    if (teams === undefined) found.isWhole = false
    for (const team of teams ?? []) {
      const looking = this.#kv.partition(team).read(async (view) => {
        for await (const ref of segmentsIn(view)) {
          await this.#lookAt(ref, found)
          if (lacksCodec(found.codecs)) break
        }
        return true
      })
      if ((await looking.catch(ignoreDamage)) === undefined) found.isWhole = false
      if (lacksCodec(found.codecs)) break
    }
    return found
  }

  async #lookAt(ref: SegmentRef, found: Found): Promise<void> {
    await yieldToEventLoop()
    found.segments++
    const opened = await openSegment(this.#objects, ref)
    if ('kind' in opened) {
      found.isWhole = false
      return
    }
    for (const { offset } of opened.footer.frames) {
      const range = rangeInObject(ref, { start: offset, limit: offset + 1 })
      const byte = await this.#objects.get(storedIn(ref), range)
      if (byte?.[0] === undefined) found.isWhole = false
      else found.codecs |= codecBit(byte[0])
    }
  }
}

async function* segmentsIn(view: KvView): AsyncGenerator<SegmentRef, void> {
  for await (const named of namedObjects(view)) if (named.kind === 'segment') yield named.ref
}

/** Returns undefined for a failure because of damaged data; rethrows other failures. */
function ignoreDamage(failure: unknown): undefined {
  if (!isStoreError(failure) || failure.code !== 'DATA_CORRUPT') throw failure
}
