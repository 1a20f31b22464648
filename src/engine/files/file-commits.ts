// Commits that change which files a team has.
//
// Invariants:
// - Each of them checks the team's files head and writes what it counts afterwards. So the sum of the bytes
//   is exact, and a file is let in on the sum that there is at its commit.
// - In this process they take turns, as they would only refuse each other.
import type { Bytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import {
  decodeFile,
  decodeFilesHeadOrEmpty,
  encodeFile,
  encodeFilesHead,
  type FileRecord,
  type FilesHead,
} from '../../format/file-records.js'
import { FILES_HEAD_KEY, type FileKey, fileKey, fileMarkerKey } from '../../format/keys.js'
import type { KvCommit, KvView } from '../../kv/kv.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { teamIsFull } from '../context/file-claims.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'

export type FileDecision<T> = Readonly<{
  result: T
  /** Together with the check of the head; null: nothing is to be written. */
  commit: KvCommit | null
}>

/**
 * Decides on what one view shows, and commits.
 * @param read - Reads what the decision needs.
 * @param decide - Again for each try. What it throws is the failure of the whole.
 */
export function changeFiles<Found, T>(
  team: TeamContext,
  read: (view: KvView) => Promise<Found>,
  decide: (found: Found, head: FilesHead) => Promise<FileDecision<T>>,
): Promise<T> {
  return team.turns.run(`files ${team.teamId}`, () =>
    commitUntilAccepted('The files are too busy', async () => {
      const { headBytes, found } = await team.partition.read(async (view) => ({
        headBytes: await view.get(FILES_HEAD_KEY),
        found: await read(view),
      }))
      const { result, commit } = await decide(found, decodeFilesHeadOrEmpty(headBytes))
      if (commit === null) return result
      const checks = [{ key: FILES_HEAD_KEY, equals: headBytes }, ...(commit.checks ?? [])]
      return (await team.partition.commit({ ...commit, checks })).ok ? result : REFUSED
    }),
  )
}

/** The records that make a file exist. */
export function putsOfFile(
  head: FilesHead,
  key: FileKey,
  file: FileRecord,
): readonly (readonly [Bytes, Bytes])[] {
  const next = { files: head.files + 1, bytes: head.bytes + file.bytes }
  return [
    [fileKey(key), encodeFile(file)],
    [FILES_HEAD_KEY, encodeFilesHead(next)],
  ]
}

/**
 * The commit that deletes a file, as it was read, with its marker. It does not check the head: whoever
 * commits it adds that check, and the one of the marker if rows that refer to the file matter.
 */
export function planFileDelete(head: FilesHead, key: FileKey, record: Bytes): KvCommit {
  const next = { files: head.files - 1, bytes: head.bytes - decodeFile(record).bytes }
  return {
    checks: [{ key: fileKey(key), equals: record }],
    puts: [[FILES_HEAD_KEY, encodeFilesHead(next)]],
    deletes: [fileKey(key), fileMarkerKey(key)],
  }
}

/** Why a file may not come in; null: it may. */
export async function refusalOfFile(
  { options, teamId }: Pick<StoreContext, 'options'> & Readonly<{ teamId: string }>,
  head: FilesHead,
  bytes: number,
): Promise<StoreError | null> {
  const { teamFileBytesMax, quota } = options
  if (head.bytes + bytes > teamFileBytesMax) return teamIsFull(teamFileBytesMax)
  if (await quota({ teamId, bytes, teamBytes: head.bytes })) return null
  return new StoreError('PAYMENT_REQUIRED', 'The file would exceed the quota')
}
