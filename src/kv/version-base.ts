// The version base: a number that is added to every version that leaves a store, so that no version ever names two
// contents.
//
// If commits are lost, later commits would give out their versions again. So whenever commits may have been lost, the
// base grows by more than could be lost.
import type { LevelDatabase } from './level-database.js'
import { readRecords } from './level-database.js'
import { decodeUint64, VERSION_BASE_KEY } from './record-envelope.js'

/** More than the changes of one table that fit in the log of a database, or between two high-water marks. */
export const VERSION_STEP = 2 ** 20

/** How far a restore raises the version base: the backed-up store may have been used for years since. */
export const RESTORED_VERSION_STEP = 2 ** 32

/** The base that a database was given; 0: none. @throws {StoreError} DATA_CORRUPT */
export async function readVersionBase(database: LevelDatabase): Promise<number> {
  const [record = null] = await readRecords(database, [VERSION_BASE_KEY])
  return record === null ? 0 : decodeUint64(record, VERSION_BASE_KEY)
}
