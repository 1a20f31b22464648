// The high-water mark: the last commit known to be on disk, stored beside the database. LevelDB opens without an error
// if its log was cut or deleted (LEVELDB.md, F4), and no record in the database shows that later ones are gone.
//
//     high_water := mark running
//     mark       := "RSHW" version:u8 (1) flags:u8 store:16 commit:u64 versionBase:u64 crc:u32
//     running    := commit:u64 crc:u32             // crc32 of the store, then of the commit
//
// Invariants:
// - Both parts name only commits that are on disk.
// - The mark is replaced atomically and durably. The running number is overwritten in place after every batch,
//   unflushed: it survives the end of the process, and usually a power cut half a minute later. If its checksum is
//   wrong, it is ignored.
import type { Bytes } from '../base/bytes.js'
import { concatBytes, putUint32, putUint64, sameBytes, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { crc32, every } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import { decodeUint64, encodeUint32, encodeUint64 } from './record-envelope.js'

/** A small file outside the database, on the same disk. */
export interface HighWaterFile {
  /**
   * The content of the file; null: there is none.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  read(): Promise<Bytes | null>
  /**
   * Replaces the content; on failure, it does not change. Durable when it resolves.
   * @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
   */
  replace(bytes: Bytes): Promise<void>
  /**
   * Overwrites a part of the content without waiting for the disk. The caller may reuse the bytes at once.
   */
  overwrite(at: number, bytes: Bytes): void
  /**
   * Checks that writes still reach the store's place, and that no other process writes there.
   * @param all - Whether to make all checks; otherwise it makes the cheap checks, and once a second all.
   * @throws {StoreError} DATA_LOSS (another process may have written, so writing must end), STORAGE_UNAVAILABLE
   */
  check(all: boolean): void
  /**
   * Checks that the disk has room to open the database.
   * @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
   */
  probe(): Promise<void>
  /**
   * Closes the file. No other call may follow.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  close(): Promise<void>
}

/** The place of a store's high-water mark. */
export type HighWaterPlace = Readonly<{
  /** The file with the mark, beside the database. */
  file: HighWaterFile
  /** 16 bytes that identify the store, so that another store's mark is rejected. */
  store: Bytes
}>

export type HighWater = Readonly<{
  /** All commits up to this one are on disk. */
  commit: number
  /** Whether the store was closed after that commit. */
  closed: boolean
  /** Whether later commits may have been acknowledged before they were on disk. */
  relaxed: boolean
  /** The offset of all versions that leave the store. */
  versionBase: number
}>

const MAGIC = utf8('RSHW')
const VERSION = 1
const FLAG = { closed: 0x01, relaxed: 0x02 } as const
const FLAGS_MASK = 0x03
export const STORE_BYTES = 16
const HEAD_BYTES = MAGIC.length + 2 + STORE_BYTES
const MARK_BYTES = HEAD_BYTES + 8 + 8 + 4
const RUNNING_BYTES = 8 + 4

export function encodeHighWater(store: Bytes, state: HighWater): Bytes {
  invariant(store.length === STORE_BYTES, 'the name of a store has 16 bytes')
  const flags = (state.closed ? FLAG.closed : 0) | (state.relaxed ? FLAG.relaxed : 0)
  const content = concatBytes([
    MAGIC,
    Uint8Array.of(VERSION, flags),
    store,
    encodeUint64(state.commit),
    encodeUint64(state.versionBase),
  ])
  return concatBytes([content, encodeUint32(crc32(content)), encodeRunning(store, state.commit)])
}

function encodeRunning(store: Bytes, commit: number): Bytes {
  const bytes = new Uint8Array(RUNNING_BYTES)
  putRunning(bytes, commit, crc32(store))
  return bytes
}

function putRunning(bytes: Bytes, commit: number, storeCrc: number): void {
  putUint64(bytes, 0, commit)
  putUint32(bytes, 8, crc32(bytes.subarray(0, 8), storeCrc))
}

/**
 * Decodes the file. The commit is the greater of the commit in the mark and the running number.
 * @throws {StoreError} DATA_CORRUPT: it is damaged, or belongs to another store.
 */
export function decodeHighWater(store: Bytes, bytes: Bytes): HighWater {
  const content = bytes.subarray(0, MARK_BYTES - 4)
  const crc = bytes.subarray(MARK_BYTES - 4, MARK_BYTES)
  const whole = bytes.length === MARK_BYTES + RUNNING_BYTES
  if (!whole || !sameBytes(crc, encodeUint32(crc32(content)))) throw damagedHighWater('is damaged')
  const [version, flags = 0] = content.subarray(MAGIC.length)
  const known = version === VERSION && (flags & ~FLAGS_MASK) === 0
  if (!known || !sameBytes(content.subarray(0, MAGIC.length), MAGIC)) {
    throw damagedHighWater('has an unknown format')
  }
  if (!sameBytes(content.subarray(MAGIC.length + 2, HEAD_BYTES), store)) {
    throw damagedHighWater('belongs to another store')
  }
  const marked = decodeUint64(content.subarray(HEAD_BYTES, HEAD_BYTES + 8), content)
  const running = decodeRunning(store, bytes.subarray(MARK_BYTES))
  return {
    commit: Math.max(marked, running ?? 0),
    closed: (flags & FLAG.closed) !== 0,
    relaxed: (flags & FLAG.relaxed) !== 0,
    versionBase: decodeUint64(content.subarray(HEAD_BYTES + 8), content),
  }
}

/** The running number; null: its checksum is wrong, as after an interrupted write. */
function decodeRunning(store: Bytes, bytes: Bytes): number | null {
  const content = bytes.subarray(0, 8)
  const crc = encodeUint32(crc32(content, crc32(store)))
  return sameBytes(bytes.subarray(8), crc) ? decodeUint64(content, bytes) : null
}

function damagedHighWater(problem: string): StoreError {
  return new StoreError('DATA_CORRUPT', `The high-water mark ${problem}; ${LOSS_REMEDY}`)
}

/** Advice in every report of lost commits. */
export const LOSS_REMEDY =
  'restore the store from a backup, or open it with the option acceptLoss, which continues with what is left'

/**
 * Reads the mark. null: there is none, and the store is new.
 * @throws {StoreError} DATA_LOSS: a store that was written to has no mark; DATA_CORRUPT
 */
export async function readHighWater(
  { file, store }: HighWaterPlace,
  written: boolean,
): Promise<HighWater | null> {
  const bytes = await file.read()
  if (bytes !== null) return decodeHighWater(store, bytes)
  if (!written) return null
  throw new StoreError('DATA_LOSS', `The store has lost its high-water mark; ${LOSS_REMEDY}`)
}

/** Writes the mark of a newly opened store before its first commit, and keeps it up to date. */
export async function startHighWater(
  place: HighWaterPlace,
  state: HighWater,
): Promise<HighWaterKeeper> {
  await place.file.replace(encodeHighWater(place.store, state))
  return new HighWaterKeeper(place, state)
}

/** Keeps the mark of a read-only store unchanged until `restart`. */
export async function keepHighWater(
  place: HighWaterPlace,
  state: HighWater,
): Promise<HighWaterKeeper> {
  return new HighWaterKeeper(place, state)
}

/** How far the mark may lag behind the last commit while a store is open, in milliseconds. */
const LAG_MS_MAX = 10_000

/** Keeps the mark of an open store up to date. */
export class HighWaterKeeper {
  readonly #place: HighWaterPlace
  /** The running number, in reused memory because every commit writes it. */
  readonly #running = new Uint8Array(RUNNING_BYTES)
  readonly #storeCrc: number
  readonly #stop: () => void
  #tellFailure: (failure: unknown) => void = () => undefined
  readonly #state: { -readonly [name in keyof HighWater]: HighWater[name] }
  /** The commit in the mark on disk. */
  #marked: number
  #saving: Promise<void> = Promise.resolve()

  constructor(place: HighWaterPlace, state: HighWater) {
    this.#place = place
    this.#storeCrc = crc32(place.store)
    this.#state = { ...state }
    this.#marked = state.commit
    this.#stop = every(LAG_MS_MAX, () => {
      this.#keepUp().catch((failure: unknown) => this.#tellFailure(failure))
    })
  }

  /** Sets the function that is called when the mark cannot be written: after that, nothing more may be written. */
  onFailure(tell: (failure: unknown) => void): void {
    this.#tellFailure = tell
  }

  /**
   * Must be called after each batch was written, before its commits are answered.
   * @throws {StoreError} The commits may be missing at the next open, so they must not be answered.
   */
  confirm(): void {
    this.#place.file.check(false)
  }

  /** Records that all commits up to this one are on disk. */
  note(commit: number): void {
    this.#state.commit = commit
    putRunning(this.#running, commit, this.#storeCrc)
    this.#place.file.overwrite(MARK_BYTES, this.#running)
  }

  /** Writes the mark of a reopened database. */
  restart(commit: number): Promise<void> {
    this.#state.commit = commit
    return this.#save()
  }

  /**
   * Writes the mark for the last time.
   * @param closed - Whether all acknowledged commits are on disk.
   * @throws {StoreError} The store's place has changed; everything is closed nevertheless.
   */
  async close(closed: boolean): Promise<void> {
    this.#stop()
    this.#state.closed = closed
    try {
      if (closed) await this.#save()
      else {
        await this.#saving.catch(() => undefined) // A failed save leaves the earlier mark.
        this.#place.file.check(true)
      }
    } finally {
      await this.#place.file.close()
    }
  }

  async #keepUp(): Promise<void> {
    this.#place.file.check(true)
    if (this.#marked === this.#state.commit) return
    await this.#save().catch((failure: unknown) => {
      // The save will be retried. Until then the mark lags behind, but is right.
      if (!wantsDescriptor(failure)) throw failure
    })
  }

  /** Saves run one after the other, each with the state at its beginning. */
  #save(): Promise<void> {
    const { file, store } = this.#place
    const save = async (): Promise<void> => {
      const { commit } = this.#state
      file.check(true)
      await file.replace(encodeHighWater(store, this.#state))
      this.#marked = commit
      // A number written meanwhile went to the replaced file.
      if (this.#state.commit > commit) this.note(this.#state.commit)
    }
    this.#saving = this.#saving.then(save, save)
    return this.#saving
  }
}

const TOO_MANY_CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

/** Whether a failure was caused only by too many open files. */
function wantsDescriptor(failure: unknown): boolean {
  const { cause } = failure as { cause?: { code?: unknown } }
  return TOO_MANY_CODES.has(cause?.code)
}
