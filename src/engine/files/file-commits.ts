// Commits that add files to a team or delete them.
//
// Invariants:
// - Each commit checks the team's files head and writes the new counts. So the sum of the bytes is exact, and the sum
//   at the commit of a file decides whether the file is admitted.
// - In one process these commits run one after the other, because concurrent ones would conflict.
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
import type { ObjectId } from '../../objects/objects.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import { teamIsFull } from '../limits/file-claims.js'

export type FileDecision<T> = Readonly<{
  result: T
  /** The commit, to which the check of the head is added; null: there is nothing to write. */
  commit: KvCommit | null
  /** Objects that the commit is the first to name. */
  objects?: readonly ObjectId[]
}>

/**
 * Reads in one view, decides, and commits.
 * @param read - Reads the input of the decision.
 * @param decide - Called for each attempt. An error that it throws fails the operation.
 */
export function changeFiles<Found, T>(
  team: TeamContext,
  read: (view: KvView) => Promise<Found>,
  decide: (found: Found, head: FilesHead) => Promise<FileDecision<T>>,
): Promise<T> {
  return team.turns.run(`files ${team.teamId}`, () =>
    commitUntilAccepted('The files are too busy', team.options.random, async () => {
      const { headBytes, found } = await team.partition.read(async (view) => ({
        headBytes: await view.get(FILES_HEAD_KEY),
        found: await read(view),
      }))
      const {
        result,
        commit,
        objects = [],
      } = await decide(found, decodeFilesHeadOrEmpty(headBytes))
      if (commit === null) return result
      const checks = [{ key: FILES_HEAD_KEY, equals: headBytes }, ...(commit.checks ?? [])]
      const { ok } = await team.incarnation.commit(team, objects, { ...commit, checks })
      return ok ? result : REFUSED
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
 * Plans the commit that deletes a file and its marker, if the record of the file is unchanged. The caller adds the
 * check of the head. It also adds the check of the marker if a row that names the file must prevent the deletion.
 */
export function planFileDelete(head: FilesHead, key: FileKey, record: Bytes): KvCommit {
  const next = { files: head.files - 1, bytes: head.bytes - decodeFile(record).bytes }
  return {
    checks: [{ key: fileKey(key), equals: record }],
    puts: [[FILES_HEAD_KEY, encodeFilesHead(next)]],
    deletes: [fileKey(key), fileMarkerKey(key)],
  }
}

/** The error that refuses a file; null if the file is admitted. */
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
