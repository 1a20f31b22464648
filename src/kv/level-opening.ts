// Opens a database and checks that it contains every acknowledged commit.
import { hasMethods, typeName } from '../base/options.js'
import { isStoreError, StoreError } from '../base/store-error.js'
import type { Durability } from './batch-writer.js'
import type { CommitLog } from './commit-log.js'
import { readCommitLog, restartCommitLog } from './commit-log.js'
import { withSnapshots } from './emulated-snapshots.js'
import { type HighWater, type HighWaterPlace, readHighWater } from './high-water.js'
import type { LevelDatabase } from './level-database.js'
import { storageError } from './level-database.js'
import type { ResolvedLevelOptions } from './level-options.js'
import { readVersionBase, VERSION_STEP } from './version-base.js'

/** A database, or a function that makes a new database at each call, so that it can be reopened after a failure. */
export type LevelSource = LevelDatabase | (() => LevelDatabase)

export type OpenedDatabase = Readonly<{
  database: LevelDatabase
  log: CommitLog
  versionBase: number
}>

type Expected = Readonly<{
  written: boolean
  atLeast: number
  acceptLoss: boolean
  durability: Durability
  storeCrc: number | undefined
  /** The version base in the high-water mark, or before a reopen. If the database has a lower one, this one counts. */
  versionBaseKnown: number
  /** The version base is at least this number from now on. */
  versionBaseMin: number
  /** Whether commits may be missing without a trace. */
  isUnsure: boolean
  /** Whether to write nothing: the next opening makes the usual changes. */
  readOnly?: boolean
}>

/**
 * Opens the database of a source. On failure, closes a database made by the source.
 * @throws {StoreError} OPTION_NOT_ALLOWED, DATA_LOSS, DATA_CORRUPT, STORE_LOCKED, STORE_CLOSED, STORAGE_UNAVAILABLE,
 *   INSUFFICIENT_STORAGE
 */
export async function openDatabase(
  source: LevelSource,
  expected: Expected,
): Promise<OpenedDatabase> {
  const made = typeof source === 'function' ? source() : source
  if (!hasMethods(made, ['open', 'close', 'getMany', 'batch', 'iterator', 'keys'])) {
    const message = `openLevelKv takes an abstract-level database, or a function that makes one, not ${typeName(made)}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', message)
  }
  const database = withSnapshots(made)
  try {
    if (expected.durability === 'interval' && database.compactRange === undefined) {
      const problem = 'The durability `interval` needs a database that can be flushed'
      throw new StoreError('OPTION_NOT_ALLOWED', problem)
    }
    // A database that is opened in the turn of its construction reveals why it cannot be opened.
    if (database.status === 'opening') await database.open()
    if (database.status !== 'open') throw new StoreError('STORE_CLOSED', 'The store was closed')
    await database.lock?.()
    return { database, ...(await findLog(database, expected)) }
  } catch (failure) {
    if (typeof source === 'function') await closeAfter(database)
    else database.unlock?.()
    throw storageError(failure, 'The database cannot be opened')
  }
}

async function findLog(
  database: LevelDatabase,
  expected: Expected,
): Promise<Omit<OpenedDatabase, 'database'>> {
  let stored = 0
  let isLost = expected.isUnsure
  let log: CommitLog | undefined
  try {
    stored = await readVersionBase(database)
    log = await readCommitLog(database, expected)
  } catch (failure) {
    if (!expected.acceptLoss || expected.readOnly || !isDamage(failure)) throw failure
    isLost = true
  }
  const { atLeast, storeCrc, versionBaseKnown, versionBaseMin } = expected
  const known = Math.max(stored, versionBaseKnown)
  const versionBase = Math.max(isLost ? known + VERSION_STEP : known, versionBaseMin)
  const isFine = versionBase === stored || expected.readOnly
  if (log !== undefined && isFine) return { log, versionBase }
  return { log: await restartCommitLog(database, atLeast, versionBase, storeCrc), versionBase }
}

/**
 * The commits that the mark requires; null: the store is new, or its mark is missing or damaged and `acceptLoss` is
 * set.
 */
export async function findHighWater(
  place: HighWaterPlace,
  { written, acceptLoss }: ResolvedLevelOptions,
): Promise<HighWater | null> {
  try {
    return await readHighWater(place, written)
  } catch (failure) {
    if (!acceptLoss || !isDamage(failure)) throw failure
    return null
  }
}

function isDamage(failure: unknown): boolean {
  return isStoreError(failure) && (failure.code === 'DATA_LOSS' || failure.code === 'DATA_CORRUPT')
}

/** Closes a database after a failure. The caller gets that failure, not one of the close. */
export async function closeAfter(database: LevelDatabase): Promise<void> {
  await database.close().catch((failure: unknown) => failure)
}
