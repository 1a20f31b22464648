// Restores a backup into an empty store.
//
// Invariants:
// - Everything that comes is held against its checksum before it is used, and the whole against its digest
//   at the end. Whoever calls this throws away what it wrote if it fails.
// - No ETag, row ID or continuation of the old store comes back with other content: versions go on far above
//   those that the old store may have reached after the backup, and so do those of all rows; and no row is
//   put into an extent in which the old store may have put one.
import { type Bytes, fromUtf8, sameBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { openHash } from '../base/platform.js'
import type { Random } from '../base/random.js'
import { systemRandom } from '../base/random.js'
import { StoreError } from '../base/store-error.js'
import { type BackupFrame, type BackupStart, readBackup } from '../format/backup.js'
import { TABLE_HEADS_RANGE, TEAM_ENTRIES_RANGE, tableOfKey } from '../format/keys.js'
import { decodeTableHead, encodeTableHead, type TableHead } from '../format/records.js'
import { keyAfter } from '../kv/key-range.js'
import type { KvPartition, KvStore, KvView } from '../kv/kv.js'
import type { ObjectStore } from '../objects/objects.js'
import type { Restored } from './backup-types.js'
import { appendEntries, closedEntry } from './extents.js'
import { scanBatches } from './stash-records.js'

/** How far versions jump: farther than a store that goes on after its backup can get. */
export const RESTORE_VERSION_JUMP = 2 ** 32

const HEADS_AT_ONCE = 200

/** Where a backup is restored to. */
export type RestoreTarget = Readonly<{
  /** Both are empty, and nobody else uses them. They stay the caller's, and open. */
  kv: KvStore
  objects: ObjectStore
  /** Where the bytes of files are, if the backup has them by reference. */
  files?: Pick<ObjectStore, 'stream'>
  /** The source of nonces. Default: the system's. */
  random?: Random
}>

/**
 * Restores a backup into an empty key-value store and an empty object store. When this fails, both hold
 * parts of it and must be thrown away. Open a store on them afterwards and verify it before it is used.
 * @throws {StoreError} DATA_CORRUPT: the backup is damaged or ends early; FORMAT_UNKNOWN: it is none, or of
 *   a version that is not known here; OPTION_NOT_ALLOWED: the target is not empty, or the files are
 *   elsewhere; FILE_NOT_FOUND: they are not there; STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
 */
export async function restoreBackup(
  source: AsyncIterable<Bytes>,
  target: RestoreTarget,
): Promise<Restored> {
  await checkEmpty(target)
  const frames = readBackup(source)
  try {
    const restored = await restoreFrames(frames, target)
    await jumpVersions(target.kv, target.random ?? systemRandom)
    return restored
  } finally {
    await frames.return()
  }
}

async function checkEmpty({ kv, objects }: RestoreTarget): Promise<void> {
  const range = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 1 }
  const records = await kv.partition('').read((view) => view.scan(range))
  if (records.length === 0 && (await objects.list('')).length === 0) return
  throw new StoreError('OPTION_NOT_ALLOWED', 'A backup is restored into an empty store only')
}

type Frames = AsyncGenerator<BackupFrame, void>

async function restoreFrames(frames: Frames, target: RestoreTarget): Promise<Restored> {
  const start = await readStart(frames)
  const found = { records: 0, objects: 0, objectBytes: 0 }
  for (;;) {
    const { value: frame, done } = await frames.next()
    if (done) throw misplaced('it has no end')
    if (frame.kind === 'records') {
      found.records += frame.records.length
      const { ok } = await target.kv.partition(frame.partition).commit({ puts: frame.records })
      invariant(ok, 'a commit without checks is not refused')
    } else if (frame.kind === 'object') {
      found.objects++
      found.objectBytes += frame.bytes
      await restoreObject(frames, frame, target)
    } else if (frame.kind === 'reference') {
      await fetchObject(frame, target)
    } else if (frame.kind === 'end') {
      const { end } = frame
      const isAll =
        end.records === found.records &&
        end.objects === found.objects &&
        end.objectBytes === found.objectBytes
      if (!isAll) throw misplaced('it holds more or less than its end says')
      const { records, objects, objectBytes: bytes } = found
      return { createdAt: start.createdAt, records, objects, bytes }
    } else {
      throw misplaced(`a frame of kind "${frame.kind}" is out of place`)
    }
  }
}

async function readStart(frames: Frames): Promise<BackupStart> {
  const { value: frame, done } = await frames.next()
  if (done || frame.kind !== 'start') throw misplaced('it has no start')
  return frame.start
}

async function restoreObject(
  frames: Frames,
  { object, bytes }: Extract<BackupFrame, { kind: 'object' }>,
  { objects }: RestoreTarget,
): Promise<void> {
  async function* pieces(): AsyncGenerator<Bytes, void> {
    let left = bytes
    while (left > 0) {
      const { value: frame, done } = await frames.next()
      if (done || frame.kind !== 'bytes' || frame.bytes.length > left) {
        throw misplaced(`object ${object} has not its ${bytes} bytes`)
      }
      left -= frame.bytes.length
      yield frame.bytes
    }
  }
  await objects.put(object, pieces())
}

/** Copies an object that is not in the backup from where it is. */
async function fetchObject(
  { object, bytes, sha256 }: Extract<BackupFrame, { kind: 'reference' }>,
  { objects, files }: RestoreTarget,
): Promise<void> {
  if (files === undefined) {
    const message = 'The backup has its files by reference: say where they are'
    throw new StoreError('OPTION_NOT_ALLOWED', message)
  }
  const stored = await files.stream(object, { start: 0, limit: bytes + 1 })
  if (stored === null) {
    throw new StoreError('FILE_NOT_FOUND', `The file in object ${object} is not where files are`)
  }
  async function* checked(pieces: AsyncIterable<Bytes>): AsyncGenerator<Bytes, void> {
    const hash = openHash('sha256')
    let found = 0
    for await (const piece of pieces) {
      found += piece.length
      hash.update(piece)
      yield piece
    }
    if (found === bytes && sameBytes(hash.digest(), sha256)) return
    throw new StoreError(
      'DATA_CORRUPT',
      `The file in object ${object} is not the one of the backup`,
    )
  }
  await objects.put(object, checked(stored))
}

function misplaced(problem: string): StoreError {
  return new StoreError('DATA_CORRUPT', `The backup is damaged: ${problem}`)
}

/** Raises the versions of all tables. */
async function jumpVersions(kv: KvStore, random: Random): Promise<void> {
  const teams = await kv.partition('').read(async (view) => {
    const found: string[] = []
    for await (const entries of scanBatches(view, TEAM_ENTRIES_RANGE)) {
      for (const [key] of entries) found.push(fromUtf8(key.subarray(1)))
    }
    return found
  })
  for (const teamId of teams) await jumpTeam(kv.partition(teamId), random)
}

async function jumpTeam(partition: KvPartition, random: Random): Promise<void> {
  let { start } = TABLE_HEADS_RANGE
  for (;;) {
    const from = start
    const { puts, next } = await partition.read((view) => planJumps(view, from, random))
    if (puts.length > 0) await partition.commit({ puts })
    if (next === null) return
    start = next
  }
}

type Jumps = Readonly<{ puts: readonly (readonly [Bytes, Bytes])[]; next: Bytes | null }>

async function planJumps(view: KvView, start: Bytes, random: Random): Promise<Jumps> {
  const scan = { start, limit: TABLE_HEADS_RANGE.limit, count: HEADS_AT_ONCE }
  const heads = await view.scan(scan)
  const puts: (readonly [Bytes, Bytes])[] = []
  for (const [key, bytes] of heads) {
    const head = decodeTableHead(bytes)
    puts.push([key, encodeTableHead(afterJump(head, random))])
    const { open } = head.generation
    if (open === null) continue
    // The old store may have put further rows into it: ours get IDs of another extent.
    const read = (record: Bytes): Promise<Bytes | null> => view.get(record)
    const entries = [closedEntry(open, head.version)]
    puts.push(...(await appendEntries(read, tableOfKey(key), open.extent, entries)).puts)
  }
  const last = heads[heads.length - 1]?.[0]
  return { puts, next: last === undefined || heads.length < HEADS_AT_ONCE ? null : keyAfter(last) }
}

/** Every row changes with the jump, as it does when a column is widened: see `Generation.widenedAt`. */
function afterJump(head: TableHead, random: Random): TableHead {
  const version = head.version + RESTORE_VERSION_JUMP
  const generation = { ...head.generation, open: null, widenedAt: version }
  return { ...head, version, commitNonce: random.bytes(8), generation }
}
