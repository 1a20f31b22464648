// Deletes files that no row names. It can be repeated: after a crash at any point, the next garbage collection does the
// remaining work.
//
// Invariants:
// - A file that a row names is never deleted, even during concurrent writes. Markers are read first, then the rows, and
//   the commit that deletes checks the markers: a row written after the scan has changed its marker (file-markers.ts).
// - A file is never deleted before `fileRetentionMs`, at least 24 hours, after its completion.
// - The commit that deletes files checks their records and the files head, so the sum of the bytes stays exact. It
//   leaves their objects to the garbage collection of objects, which spares objects being read.
import { inBatches } from '../../base/batches.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { decodeFile, decodeFilesHeadOrEmpty, encodeFilesHead } from '../../format/file-records.js'
import {
  FILE_MARKERS_RANGE,
  FILES_HEAD_KEY,
  FILES_RANGE,
  type FileKey,
  fileKey,
  fileMarkerKey,
  fileOfKey,
  MANY_FILES_MARKER_KEY,
} from '../../format/keys.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KvCheck, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { REFUSED, tryToCommit } from '../commit/commit-until-accepted.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { StoreContext } from '../context/store-context.js'
import { collectUnreferenced, type FilePlace } from './file-marks.js'

type FileContext = Pick<StoreContext, 'options' | 'segments'>

/** The number of files that a garbage collection deleted. */
export type FilesCollected = Readonly<{ files: number }>

/** Limits of one garbage collection of a team. The next garbage collection continues where this one stopped. */
type CollectionLimits = Readonly<{
  /** Maximum number of files that one pass holds in memory and marks. */
  candidatesMax: number
  /** Maximum number of files that one pass scans in one view to find candidates. */
  lookedAtMax: number
  passesMax: number
}>

const LIMITS: CollectionLimits = { candidatesMax: 10_000, lookedAtMax: 200_000, passesMax: 10 }

/** Maximum number of files that one commit deletes, and of records that one query reads. */
const DELETE_COUNT = 200
const SCAN_COUNT = 1_000
/** Maximum number of attempts to commit while others add files, or rows that name files. */
const TRIES_MAX = 20

export class FileCollector {
  readonly #context: FileContext
  readonly #limits: CollectionLimits
  /** For each team whose garbage collection is unfinished, the key at which the next one continues. */
  readonly #starts = new Map<string, Bytes>()

  constructor(context: FileContext, limits = LIMITS) {
    this.#context = context
    this.#limits = limits
  }

  /** @param checkGoesOn - Called before each segment is read, besides the checks of `partition`. */
  async collect(
    teamId: string,
    partition: KvPartition,
    checkGoesOn: CheckGoesOn = () => undefined,
  ): Promise<FilesCollected> {
    const place = { partition, checkGoesOn }
    let files = 0
    for (let passes = 0; passes < this.#limits.passesMax; passes++) {
      const start = this.#starts.get(teamId) ?? FILES_RANGE.start
      const pass = await collectPass(this.#context, this.#limits, place, start)
      files += pass.files
      if (pass.next === null) this.#starts.delete(teamId)
      else this.#starts.set(teamId, pass.next)
      if (pass.next === null) break
    }
    await collectMarkers(partition)
    return { files }
  }
}

/** A file that is old enough to be deleted, with its records in the view. */
type Candidate = Readonly<{ file: FileKey; record: Bytes; marker: Bytes | null }>

type Candidates = Readonly<{
  candidates: readonly Candidate[]
  /** The marker that stands for all files. */
  manyMarker: Bytes | null
  /** The key at which the next pass begins; null: there are no more files. */
  next: Bytes | null
}>

type Pass = Readonly<{ files: number; next: Bytes | null }>

async function collectPass(
  context: FileContext,
  limits: CollectionLimits,
  place: FilePlace,
  start: Bytes,
): Promise<Pass> {
  const { partition } = place
  const { candidates, manyMarker, next } = await partition.read((view) =>
    findOldFiles(view, context.options, limits, start),
  )
  if (candidates.length === 0) return { files: 0, next }
  const byFile = new Map(candidates.map((candidate) => [candidate.file, candidate]))
  const doomed = await collectUnreferenced(context, place, [...byFile.keys()])
  if (doomed === null) return { files: 0, next }
  let files = 0
  for (const batch of inBatches(doomed, DELETE_COUNT)) {
    const some = batch.flatMap((file) => byFile.get(file) ?? [])
    files += await deleteCandidates(context.options, partition, some, manyMarker)
  }
  return { files, next }
}

async function findOldFiles(
  view: KvView,
  { clock, fileRetentionMs }: ResolvedOptions,
  { candidatesMax, lookedAtMax }: CollectionLimits,
  start: Bytes,
): Promise<Candidates> {
  const manyMarker = await view.get(MANY_FILES_MARKER_KEY)
  const now = await clock.lifetimeMs()
  const candidates: Candidate[] = []
  let lookedAt = 0
  for await (const entries of scanBatches(view, { ...FILES_RANGE, start })) {
    const old = entries.filter(([, file]) => now - decodeFile(file).completedAt > fileRetentionMs)
    const markers = await view.getMany(old.map(([key]) => fileMarkerKey(fileOfKey(key))))
    old.forEach(([key, record], i) => {
      candidates.push({ file: fileOfKey(key), record, marker: markers[i] ?? null })
    })
    lookedAt += entries.length
    const last = entries[entries.length - 1]?.[0]
    const isFull = candidates.length > candidatesMax - SCAN_COUNT || lookedAt >= lookedAtMax
    if (isFull && last !== undefined) return { candidates, manyMarker, next: keyAfter(last) }
  }
  return { candidates, manyMarker, next: null }
}

/** Deletes the candidates that have not changed since the scan. @returns how many files were deleted */
async function deleteCandidates(
  { random }: Pick<ResolvedOptions, 'random'>,
  partition: KvPartition,
  doomed: readonly Candidate[],
  manyMarker: Bytes | null,
): Promise<number> {
  let left = doomed
  const decideAndCommit = async (): Promise<number | typeof REFUSED> => {
    const { headBytes, records } = await partition.read(async (view) => ({
      headBytes: await view.get(FILES_HEAD_KEY),
      records: await view.getMany(left.map(({ file }) => fileKey(file))),
    }))
    left = left.filter((_, i) => records[i] !== null) // Another process has deleted the others: the head lacks them.
    if (left.length === 0) return 0
    const result = await partition.commit({
      checks: [
        { key: FILES_HEAD_KEY, equals: headBytes },
        { key: MANY_FILES_MARKER_KEY, equals: manyMarker },
        ...left.flatMap(checksOfCandidate),
      ],
      puts: [[FILES_HEAD_KEY, headWithout(headBytes, left)]],
      deletes: left.flatMap(({ file }) => [fileKey(file), fileMarkerKey(file)]),
    })
    if (result.ok) return left.length
    const changed = new Set(result.failed.map(({ key }) => toHex(key)))
    if (changed.has(toHex(MANY_FILES_MARKER_KEY))) return 0 // Rows may now name any of the files.
    left = left.filter((one) => !checksOfCandidate(one).some(({ key }) => changed.has(toHex(key))))
    return REFUSED
  }
  return tryToCommit(random, decideAndCommit, TRIES_MAX, () => 0)
}

function checksOfCandidate({ file, record, marker }: Candidate): KvCheck[] {
  return [
    { key: fileKey(file), equals: record },
    { key: fileMarkerKey(file), equals: marker },
  ]
}

function headWithout(headBytes: Bytes | null, gone: readonly Candidate[]): Bytes {
  const { files, bytes } = decodeFilesHeadOrEmpty(headBytes)
  const goneBytes = gone.reduce((sum, { record }) => sum + decodeFile(record).bytes, 0)
  return encodeFilesHead({ files: files - gone.length, bytes: bytes - goneBytes })
}

/**
 * Deletes markers of deleted files. A marker without a file remains if a commit puts it while its file is being
 * deleted.
 */
async function collectMarkers(partition: KvPartition): Promise<void> {
  let start = keyAfter(MANY_FILES_MARKER_KEY)
  for (;;) {
    const from = start
    const { stale, next } = await partition.read((view) => findStaleMarkers(view, from))
    await deleteUnchanged(partition, stale)
    if (next === null) return
    start = next
  }
}

async function findStaleMarkers(
  view: KvView,
  start: Bytes,
): Promise<{ stale: KvCheck[]; next: Bytes | null }> {
  const entries = await view.scan({ ...FILE_MARKERS_RANGE, start, count: SCAN_COUNT })
  const files = await view.getMany(entries.map(([key]) => fileKey(fileOfKey(key))))
  const stale = entries
    .filter((_, i) => files[i] === null)
    .map(([key, equals]) => ({ key, equals }))
  const last = entries[entries.length - 1]?.[0]
  return { stale, next: entries.length < SCAN_COUNT || last === undefined ? null : keyAfter(last) }
}
