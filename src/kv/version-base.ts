// The version base: the offset of every version that leaves a store, so that no version ever denotes two contents.
//
// After a loss of commits, later commits would reuse their versions. So whenever commits may have been lost, the base
// grows by more than could be lost.
import type { LevelDatabase } from './level-database.js'
import { readRecords } from './level-database.js'
import { decodeUint64, VERSION_BASE_KEY } from './record-envelope.js'

/** How far the base grows: more than the changes of one table that fit in a log, or between two high-water marks. */
export const VERSION_STEP = 2 ** 20

/** How far a restore raises the version base: the original store may have been used for years since the backup. */
export const RESTORED_VERSION_STEP = 2 ** 32

/** The stored version base of a database; 0: none. @throws {StoreError} DATA_CORRUPT */
export async function readVersionBase(database: LevelDatabase): Promise<number> {
  const [record = null] = await readRecords(database, [VERSION_BASE_KEY])
  return record === null ? 0 : decodeUint64(record, VERSION_BASE_KEY)
}
