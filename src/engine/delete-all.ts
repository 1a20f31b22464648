// Deletes everything of a team. Every step is a bounded commit and can be repeated. So after a crash, another call
// continues.
//
// Invariants:
// - Jobs are deleted before the data that they make. After that, no commit of their work succeeds, because it checks a
//   lease that is gone.
// - Data that others make meanwhile is either complete or deleted. So a pass deletes only results and markers that it
//   found before it looked for tables, and deletes uploads before files. Then it finds all tables and files to which
//   these records belong.

import { inBatches } from '../base/batches.js'
import { type Bytes, fromUtf8 } from '../base/bytes.js'
import { checkNotAborted } from '../base/signals.js'
import { isStoreError, withOutcome } from '../base/store-error.js'
import { decodeFile, encodeFilesHead } from '../format/file-records.js'
import {
  FILE_MARKERS_RANGE,
  FILES_HEAD_KEY,
  FILES_RANGE,
  fileMarkerKey,
  fileOfKey,
  IDEMPOTENCY_RANGE,
  JOBS_RANGE,
  jobOfKey,
  openJobKey,
  STASH_HEADS_RANGE,
  UPLOADS_RANGE,
} from '../format/keys.js'
import { parseTableId } from '../format/table-id.js'
import { keyAfter } from '../kv/key-range.js'
import type { KeyRange, KvCheck, KvPartition } from '../kv/kv.js'
import { scanBatches, scanKeys } from '../kv/scan-batches.js'
import { tooBusy } from './commit/commit-until-accepted.js'
import { deleteKeys, deleteUnchanged } from './commit/delete-records.js'
import { type CheckGoesOn, stepwise } from './commit/stepwise.js'
import type { TeamContext } from './context/store-context.js'
import { changeFiles } from './files/file-commits.js'
import { TeamStash } from './import/stash.js'
import { outcomeKnown } from './leases/lifecycle.js'
import { collectTeam } from './maintenance/maintainer.js'
import { readTableNames } from './read/table-infos.js'
import { deleteTable } from './table/table-life.js'

/** Maximum number of tables or stashes that are deleted concurrently. */
const AT_ONCE = 50

/** Maximum number of files that one commit deletes. */
const FILES_AT_ONCE = 200

/** Maximum number of passes over everything. All passes after the first delete what was made meanwhile. */
const PASSES_MAX = 10

/**
 * Maximum number of passes in all, including passes for results and markers that did not fit into the memory of one
 * pass.
 */
const ALL_PASSES_MAX = 10_000

/** Approximate maximum number of bytes of results and markers that one pass holds. */
const KNOWN_BYTES_MAX = 16 * 1024 * 1024

/** Approximate memory of a record besides its bytes, in bytes. */
const RECORD_BYTES = 200

/**
 * @param signal - Aborts the deletion between two steps.
 * @throws {StoreError} ABORTED; STORAGE_UNAVAILABLE if others keep adding data; after any failure of the storage the
 *   outcome is `unknown`
 */
export async function deleteAll(team: TeamContext, signal: AbortSignal | undefined): Promise<void> {
  const checkGoesOn = (): void => checkNotAborted('deletion', signal)
  // Deletions of tables use the team's own partition instead: the commit queues of tables keep what they are given.
  const partition = stepwise(team.partition, checkGoesOn)
  try {
    await deletePasses({ team, partition, checkGoesOn })
  } catch (failure) {
    const known = outcomeKnown(failure)
    // If one step has the outcome `unchanged`, earlier steps may still have changed something.
    throw isStoreError(known) && known.outcome === 'unchanged'
      ? withOutcome(known, 'unknown')
      : known
  }
}

async function deletePasses(deletion: Deletion): Promise<void> {
  const { team, partition, checkGoesOn } = deletion
  const { limits, teamId } = team
  let passes = 0
  for (let all = 0; passes < PASSES_MAX && all < ALL_PASSES_MAX; all++) {
    team.lifecycle.checkOpen()
    checkGoesOn()
    try {
      await deleteJobs(deletion)
      const known = await readFirstRecords(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])
      const found = [await deleteStashes(deletion), await deleteTables(deletion)]
      await deleteKeys(partition, await readRangeKeys(partition, UPLOADS_RANGE))
      found.push(await deleteAllFiles(deletion))
      const deleted = await deleteUnchanged(partition, known.records)
      await collectTeam(team, { teamId, partition, isFull: true, about: () => [] })
      if (known.isAll && !found.includes(true)) return
      if (known.isAll || deleted === 0) passes++
    } finally {
      limits.forget(teamId) // This is done even after a failure, because of the data that was deleted before it.
    }
  }
  throw tooBusy('Others keep adding data to the team')
}

type Deletion = Readonly<{
  team: TeamContext
  /** The partition that the steps of the deletion itself use. */
  partition: KvPartition
  /** @throws {StoreError} ABORTED */
  checkGoesOn: CheckGoesOn
}>

async function deleteJobs({ team, partition, checkGoesOn }: Deletion): Promise<void> {
  const { kv, teamId } = team
  const keys = await readRangeKeys(partition, JOBS_RANGE)
  await deleteKeys(partition, keys)
  const jobs = keys.flatMap((key) => jobOfKey(key) ?? [])
  await deleteKeys(
    stepwise(kv.partition(''), checkGoesOn),
    jobs.map((job) => openJobKey(job, teamId)),
  )
}

/** @returns whether there was a stash */
async function deleteStashes({ team, partition, checkGoesOn }: Deletion): Promise<boolean> {
  const keys = await readRangeKeys(partition, STASH_HEADS_RANGE)
  for (const some of inBatches(keys, AT_ONCE)) {
    checkGoesOn()
    const ids = some.map((key) => fromUtf8(key.subarray(1)))
    await Promise.all(ids.map((id) => new TeamStash(team, id).delete()))
  }
  return keys.length > 0
}

/** @returns whether there was a table */
async function deleteTables({ team, checkGoesOn }: Deletion): Promise<boolean> {
  const tables = await readTableNames(team, null)
  for (const some of inBatches(tables, AT_ONCE)) {
    checkGoesOn()
    await Promise.all(some.map(({ id }) => deleteIfThere(team, id)))
  }
  return tables.length > 0
}

async function deleteIfThere(team: TeamContext, tableId: string): Promise<void> {
  const table = parseTableId(tableId)
  if (table === null) return
  try {
    await deleteTable({ team, table, tableId }, undefined)
  } catch (failure) {
    if (!isStoreError(failure) || failure.code !== 'TABLE_NOT_FOUND') throw failure
  }
}

/** @returns whether there was a file */
async function deleteAllFiles({ team, checkGoesOn }: Deletion): Promise<boolean> {
  let hadFiles = false
  for (let start: Bytes | null = FILES_RANGE.start; ; hadFiles = true) {
    checkGoesOn()
    start = await deleteSomeFiles(team, start)
    if (start === null) return hadFiles
  }
}

/** @returns where the remaining files begin; null: no file is left */
function deleteSomeFiles(team: TeamContext, start: Bytes): Promise<Bytes | null> {
  return changeFiles(
    team,
    (view) => view.scan({ ...FILES_RANGE, start, count: FILES_AT_ONCE }),
    async (found, head) => {
      const last = found.at(-1)
      if (last === undefined) return { result: null, commit: null }
      const bytes = found.reduce((sum, [, record]) => sum + decodeFile(record).bytes, 0)
      const next = { files: head.files - found.length, bytes: head.bytes - bytes }
      return {
        result: keyAfter(last[0]),
        commit: {
          checks: found.map(([key, equals]) => ({ key, equals })),
          puts: [[FILES_HEAD_KEY, encodeFilesHead(next)]],
          deletes: found.flatMap(([key]) => [key, fileMarkerKey(fileOfKey(key))]),
        },
      }
    },
  )
}

/** The first records of some ranges: as many as one pass may hold. */
async function readFirstRecords(
  partition: KvPartition,
  ranges: readonly KeyRange[],
): Promise<Readonly<{ records: readonly KvCheck[]; isAll: boolean }>> {
  return partition.read(async (view) => {
    const records: KvCheck[] = []
    let bytes = 0
    for (const range of ranges) {
      for await (const entries of scanBatches(view, range)) {
        for (const [key, equals] of entries) {
          records.push({ key, equals })
          bytes += key.length + equals.length + RECORD_BYTES
        }
        if (bytes > KNOWN_BYTES_MAX) return { records, isAll: false }
      }
    }
    return { records, isAll: true }
  })
}

async function readRangeKeys(partition: KvPartition, range: KeyRange): Promise<Bytes[]> {
  return partition.read(async (view) => {
    const found: Bytes[] = []
    for await (const keys of scanKeys(view, range)) found.push(...keys)
    return found
  })
}
