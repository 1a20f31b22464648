// Checks the logs that LevelDB will replay when it opens a database.
//
// LevelDB replays any log with a high enough number, in numeric order, whatever it contains. An old log brings back old
// values; a log that repeats changes, or contains anything but batches, ends the process (LEVELDB.md, F16, F17).
//
// Invariants:
// - The sequence numbers of all batches that LevelDB would replay are dense, also across logs.
// - Only the end of the last log may be damaged, as after a power cut; nothing follows the damage.
// - The last batch, if any, contains the last commit of the database, which is at least the mark.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreError } from '../../src/base/store-error.js'
import { LOSS_REMEDY } from '../../src/kv/high-water.js'
import {
  decodeCommitKey,
  isOwnCommit,
  LevelSpace,
  payloadOf,
} from '../../src/kv/record-envelope.js'
import { Cursor, Malformed } from './leveldb-codec.js'
import { FILE_NUMBER_MAX, fileName, readDatabaseFile } from './leveldb-file.js'
import { type LogVisitor, readLog } from './leveldb-log.js'
import type { Manifest } from './leveldb-manifest.js'

const BATCH_HEAD_BYTES = 12
const COMMIT_KEY_BYTES = 9
const OPERATION = { deletion: 0, value: 1 } as const

/** The required content of the logs. */
export type Expected = Readonly<{
  /** A commit that the database must contain. null: commits may be missing, as far as LevelDB accepts the logs. */
  atLeast: number | null
  /** CRC-32 of the name of the store that wrote the logs. */
  storeCrc: number
}>

/** @throws {StoreError} DATA_CORRUPT; DATA_LOSS */
export async function checkLogs(
  folder: string,
  manifest: Manifest,
  { atLeast, storeCrc }: Expected,
): Promise<void> {
  const logs = await replayedLogs(folder, manifest)
  const replay = new ReplayCheck(manifest.lastSequence + 1, atLeast === null, storeCrc)
  const isFirstLost = atLeast === null && !logs.includes(manifest.log)
  for (const number of logs) {
    const path = join(folder, fileName(number, 'log'))
    replay.begin(path, number === manifest.log || isFirstLost)
    await readDatabaseFile(path, (handle) => readLog(handle, replay))
  }
  const { lastCommit } = replay
  if (atLeast === null || lastCommit === undefined || lastCommit >= atLeast) return
  throw lost(
    `The logs in ${folder} end with commit ${lastCommit}, but commit ${atLeast} was acknowledged`,
  )
}

/** Numbers of the logs that LevelDB replays, in its order. */
async function replayedLogs(folder: string, { log }: Manifest): Promise<number[]> {
  const numbers: number[] = []
  for (const name of await readdir(folder)) {
    const [, digits] = /^(\d+)\.log$/.exec(name) ?? []
    if (digits === undefined) continue
    const number = Number(digits)
    if (number < log && number !== 0) continue
    // LevelDB treats 0 as the number of the previous log, and opens every other log by the name that it would give it.
    if (number === 0 || number > FILE_NUMBER_MAX || name !== fileName(number, 'log')) {
      await readDatabaseFile(join(folder, name), () => {
        throw new Malformed('its name is not that of a log')
      })
    }
    numbers.push(number)
  }
  return numbers.sort((left, right) => left - right)
}

class ReplayCheck implements LogVisitor {
  readonly #toleratesLoss: boolean
  readonly #storeCrc: number
  /** The commit of the last batch. */
  lastCommit: number | undefined
  /** The next expected sequence number. */
  #next: number
  /** Whether a lower sequence number than `#next` is also accepted. */
  #mayBeLower = false
  #path = ''
  #damage: string | undefined

  constructor(next: number, toleratesLoss: boolean, storeCrc: number) {
    this.#next = next
    this.#storeCrc = storeCrc
    this.#toleratesLoss = toleratesLoss
  }

  /**
   * @param isCurrent - Whether LevelDB was writing to this log at the last edit of the manifest. Then the edit may name
   *   a later change than the first of the log.
   */
  begin(path: string, isCurrent: boolean): void {
    this.#path = path
    this.#mayBeLower = isCurrent && this.lastCommit === undefined
  }

  record(bytes: Buffer): void {
    const { sequence, count, commit } = readBatch(bytes, this.#storeCrc)
    if (this.#damage !== undefined) throw lost(this.#damage)
    if (sequence > this.#next && !this.#toleratesLoss) {
      throw lost(`Changes ${this.#next} to ${sequence - 1} are missing before ${this.#path}`)
    }
    if (sequence < this.#next && !this.#mayBeLower) {
      throw new Malformed(`it repeats earlier changes, such as ${sequence}`)
    }
    this.#mayBeLower = false
    this.#next = sequence + count
    this.lastCommit = commit
  }

  damage(at: number): void {
    if (!this.#toleratesLoss) this.#damage ??= `${this.#path} is damaged at byte ${at}`
  }
}

function lost(what: string): StoreError {
  return new StoreError('DATA_LOSS', `${what}: acknowledged changes are missing; ${LOSS_REMEDY}`)
}

type Batch = Readonly<{ sequence: number; count: number; commit: number }>

/** @throws {Malformed} if the bytes are not a batch, or not of this store. */
function readBatch(bytes: Buffer, storeCrc: number): Batch {
  if (bytes.length < BATCH_HEAD_BYTES) throw new Malformed('a batch is too short')
  const sequence = Number(bytes.readBigUInt64LE(0))
  if (sequence > FILE_NUMBER_MAX) throw new Malformed('its numbers are too high')
  const count = bytes.readUInt32LE(8)
  const cursor = new Cursor(bytes, BATCH_HEAD_BYTES)
  let found = 0
  let commit: number | undefined
  for (; cursor.left > 0; found++) {
    const type = cursor.byte()
    const key = cursor.text()
    if (type === OPERATION.value) {
      const value = cursor.text()
      if (key[0] !== LevelSpace.Commit || key.length !== COMMIT_KEY_BYTES) continue
      if (!isOwnCommit(payloadOf(value), storeCrc))
        throw new Malformed('a batch belongs to another store')
      commit = decodeCommitKey(key)
    } else if (type !== OPERATION.deletion)
      throw new Malformed('a batch has an entry of an unknown kind')
  }
  if (found !== count) throw new Malformed(`a batch has ${found} operations instead of ${count}`)
  if (commit === undefined) throw new Malformed('a batch has no commit record')
  return { sequence, count, commit }
}
