// LevelDB that acknowledges writes wrongly. A rung that does not detect this detects nothing.
import { DirectoryLevel } from '../../../adapters/leveldb/directory-level.js'

/** `unsynced`: no write waits for the disk. `early`: a write is acknowledged before it is made. */
export type Lie = 'unsynced' | 'early'

/** Makes every database of this process lie from here on. */
export function letLie(lie: Lie): void {
  const level = DirectoryLevel.prototype
  const { writeSmall, writeLarge } = level
  const syncs = lie !== 'unsynced'
  const answer = async (written: Promise<void>): Promise<void> => {
    if (lie === 'early') written.catch(() => undefined)
    else await written
  }
  level.writeSmall = function (operations, sync) {
    return answer(writeSmall.call(this, operations, sync && syncs))
  }
  level.writeLarge = function (operations, sync) {
    return answer(writeLarge.call(this, operations, sync && syncs))
  }
}
