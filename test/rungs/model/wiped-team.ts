// What may be left of a team of which everything was deleted: counts that go on, and records of processes.
import { decodeFilesHead } from '../../../src/format/file-records.js'
import { decodeOpenJobKey, KEY_SPACE, OPEN_JOBS_RANGE } from '../../../src/format/keys.js'
import type { KvStore } from '../../../src/ports.js'

const EVERYTHING = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }

const { teamHead, filesHead, writer, duty, workHint } = KEY_SPACE
const KEPT: ReadonlySet<number | undefined> = new Set([teamHead, filesHead, writer, duty, workHint])

const NAMES = new Map<number | undefined, string>(
  Object.entries(KEY_SPACE).map(([name, space]) => [space, name]),
)

/** The records that should be gone, by the names of their key spaces; files that the head of the files counts, too. */
export async function leftRecords(kv: KvStore, teamId: string): Promise<readonly string[]> {
  const records = await kv.partition(teamId).read((view) => view.scan(EVERYTHING))
  return records.flatMap(([key, value]) => {
    if (key[0] === filesHead) return isEmptyHead(value) ? [] : ['a count of files']
    return KEPT.has(key[0]) ? [] : [NAMES.get(key[0]) ?? String(key[0])]
  })
}

/**
 * The jobs of a team in the list of open ones. One that a crash has left there without its job is deleted when it was
 * seen for a while.
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
