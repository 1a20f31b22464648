// The lock of a directory. LevelDB's own lock is lost when this process closes any descriptor of kv/LOCK (LEVELDB.md,
// F19). So an owner record is created first, and only its owner touches LevelDB's file.
//
// Invariants:
// - Each opening creates a record, then looks for others, and owns the directory if all others are gone. Of two
//   concurrent openings, at least one sees the other, and the higher nonce yields (the one-bit algorithm of Burns and
//   Lynch).
// - The name of a record is used only once, so the record that is removed is the record that was judged.
// - A record counts as gone if it was released, if its process certainly does not run, or if its process does not have
//   the record open (then the worker thread that created it has ended). If none of these can be determined, the record
//   counts as gone if it misses all beats for SILENCE_MS and LevelDB's lock is free.
// - A paused process may lose its record. It checks the record before it acknowledges a commit (held-directory).
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../../src/base/clock.js'
import { StoreError } from '../../src/base/store-error.js'
import { isLocked } from '../leveldb/directory-level.js'
import {
  BEAT_MS,
  beatOf,
  type OwnerRecord,
  OwnRecord,
  ownerRecords,
  RELEASED_BEAT,
  removeUnnamed,
  shownHost,
} from './owner-record.js'
import { hasOwnTable, isRunning, thisProcess } from './process-life.js'

/** Time without a beat after which a record counts as gone, in milliseconds, if nothing else is known. */
const SILENCE_MS = 3 * BEAT_MS

/** How long an opening waits for another one to yield, in milliseconds. Yielding takes some milliseconds. */
const YIELD_MS_MAX = 1_000
const YIELD_PAUSE_MS = 5

const PAUSE_MS = 50

/** The clock and its pauses; tests replace them. */
export type Time = Readonly<{ nowMs(): number; pause(ms: number): Promise<unknown> }>

/**
 * Takes the lock of a directory.
 * @param path - The directory, without symbolic links.
 * @param waitMs - How long to wait for a live owner, in milliseconds.
 * @throws {StoreError} STORE_LOCKED, with the owner
 */
export async function lockDirectory(
  path: string,
  waitMs: number,
  time: Time = { nowMs: monotonicMs, pause },
): Promise<OwnRecord> {
  const began = time.nowMs()
  const { dev, ino } = await stat(path, { bigint: true })
  const self = { ...(await thisProcess()), device: String(dev), inode: String(ino) }
  const rivals = new Rivals(path, self, time)
  for (;;) {
    const found = await rivals.find()
    if (found.length === 0) {
      const nonce = randomBytes(8).toString('hex')
      const own = await OwnRecord.create(path, { ...self, nonce })
      if (own !== undefined && (await rivals.yieldTo(own))) {
        await removeUnnamed(path)
        return own
      }
      await own?.release()
      continue
    }
    const alive = found.find(({ state }) => state === 'alive')
    if (alive !== undefined && time.nowMs() - began >= waitMs) throw locked(path, alive, self)
    await time.pause(PAUSE_MS)
  }
}

/** The state of a record's owner. `silent`: no beat was seen yet. */
type State = 'gone' | 'silent' | 'alive'

type Rival = Readonly<{ record: OwnerRecord; state: Exclude<State, 'gone'> }>

type Self = Omit<OwnerRecord, 'nonce'>

/** The owner records of other openings of a directory. */
class Rivals {
  readonly #path: string
  readonly #self: Self
  readonly #time: Time
  /** Observed beats of records, by path. */
  readonly #watched = new Map<string, Readonly<{ beat: number; since: number; beats: boolean }>>()
  #looks = 0

  constructor(path: string, self: Self, time: Time) {
    this.#path = path
    this.#self = self
    this.#time = time
  }

  /** Finds records that are not gone, and removes records that are gone. @param own - The nonce of our own record. */
  async find(own?: string): Promise<readonly Rival[]> {
    const rivals: Rival[] = []
    this.#looks++
    for (const [name, record] of await ownerRecords(this.#path)) {
      if (record.nonce === own) continue
      const path = join(this.#path, name)
      const beat = await beatOf(path)
      const state = beat === undefined ? 'gone' : await this.#stateOf(path, record, beat)
      if (state === 'gone') await rm(path, { force: true })
      else rivals.push({ record, state })
    }
    return rivals
  }

  /** Waits until there is no other record. @returns false: another opening has precedence. */
  async yieldTo(own: OwnRecord): Promise<boolean> {
    const began = this.#time.nowMs()
    for (;;) {
      const found = await this.find(own.nonce)
      if (!own.isThere) return false
      if (found.length === 0) return true
      const isLower = found.some(({ record }) => record.nonce < own.nonce)
      if (isLower || this.#time.nowMs() - began > YIELD_MS_MAX) return false
      await this.#time.pause(YIELD_PAUSE_MS)
    }
  }

  async #stateOf(path: string, record: OwnerRecord, beat: number): Promise<State> {
    if (beat === RELEASED_BEAT) return 'gone'
    const self = this.#self
    const isSameBoot = record.boot === self.boot
    // A device number is valid during one boot: another machine has another number for a file system that both share.
    const isOnOther = isSameBoot && record.device !== self.device
    const isCopy = isOnOther || record.inode !== self.inode
    const isHere = record.host === shownHost(self.host)
    const isOtherBoot = record.boot !== self.boot && record.boot !== '' && self.boot !== ''
    if (isCopy || (isHere && isOtherBoot)) return this.#unlessLocked()
    const isSeen = isSameBoot && record.namespace === self.namespace
    if (!isSeen || (self.boot === '' && !isHere)) return this.#watch(path, beat)
    if (!(await isRunning(record))) return 'gone'
    return isOpenIn(record.pid, path) ? 'alive' : 'gone'
  }

  async #watch(path: string, beat: number): Promise<State> {
    const now = this.#time.nowMs()
    const seen = this.#watched.get(path)
    if (seen === undefined || seen.beat !== beat) {
      // A record that is new since the first look is alive too.
      const beats = seen !== undefined || this.#looks > 1
      this.#watched.set(path, { beat, since: now, beats })
      return beats ? 'alive' : 'silent'
    }
    if (now - seen.since >= SILENCE_MS) return this.#unlessLocked()
    return seen.beats ? 'alive' : 'silent'
  }

  /** Decides by LevelDB's lock alone. */
  async #unlessLocked(): Promise<State> {
    return (await isLocked(join(this.#path, 'kv'))) ? 'alive' : 'gone'
  }
}

/**
 * Whether a process of this system has a file open. The system closes the files of a worker thread that ends. If it is
 * unknown, the file counts as open.
 */
function isOpenIn(pid: number, path: string): boolean {
  const isOurs = pid === process.pid
  const folder = process.platform === 'linux' ? `/proc/${isOurs ? 'self' : pid}/fd` : '/dev/fd'
  let probe: number | undefined
  try {
    if (!isOurs && !hasOwnTable()) return true
    probe = openSync(path, 'r')
    const { dev, ino } = fstatSync(probe)
    const isSame = (name: string): boolean => {
      const found = statSync(join(folder, name), { throwIfNoEntry: false })
      return found?.dev === dev && found.ino === ino
    }
    // If the process is our own, one descriptor is the probe. If the probe is not found, the result is unknown.
    return readdirSync(folder).filter(isSame).length !== (isOurs ? 1 : 0)
  } catch {
    return true
  } finally {
    if (probe !== undefined) closeSync(probe)
  }
}

function locked(path: string, { record }: Rival, self: Self): StoreError {
  const { pid, start, host } = record
  const isOurs = pid === self.pid && start === self.start && record.namespace === self.namespace
  const who = isOurs ? 'This process already has' : `Another process (${pid} on ${host}) has`
  return new StoreError('STORE_LOCKED', `${who} the directory ${path} open`)
}
