// What may remain of a team after everything was deleted: counters that continue, and records of processes.
import { decodeFilesHead } from '../../../src/format/file-records.js'
import { decodeOpenJobKey, KEY_SPACE, OPEN_JOBS_RANGE } from '../../../src/format/keys.js'
import type { KvStore } from '../../../src/ports.js'

const EVERYTHING = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }

const { teamHead, filesHead, writer, duty, workHint } = KEY_SPACE
const KEPT: ReadonlySet<number | undefined> = new Set([teamHead, filesHead, writer, duty, workHint])

const NAMES = new Map<number | undefined, string>(
  Object.entries(KEY_SPACE).map(([name, space]) => [space, name]),
)

/** The records that should be gone, by key space; and files that the head of the files still counts. */
export async function leftRecords(kv: KvStore, teamId: string): Promise<readonly string[]> {
  const records = await kv.partition(teamId).read((view) => view.scan(EVERYTHING))
  return records.flatMap(([key, value]) => {
    if (key[0] === filesHead) return isEmptyHead(value) ? [] : ['a count of files']
    return KEPT.has(key[0]) ? [] : [NAMES.get(key[0]) ?? String(key[0])]
  })
}

/**
 * The jobs in a team's list of open ones. A crash may leave one in the list without its job; it is deleted some time
 * after it was first seen.
 */
export async function leftOpenJobs(kv: KvStore, teamId: string): Promise<number> {
  const open = await kv.partition('').read((view) => {
    return view.scan({ ...OPEN_JOBS_RANGE, count: EVERYTHING.count })
  })
  return open.filter(([key]) => decodeOpenJobKey(key).teamId === teamId).length
}

function isEmptyHead(record: Uint8Array): boolean {
  const { files, bytes } = decodeFilesHead(record)
  return files === 0 && bytes === 0
}
