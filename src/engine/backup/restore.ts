// Restores a backup into an empty store.
//
// Invariants:
// - Every frame is checked against its checksum before it is used, and the whole backup against its digest at the end.
//   If the restore fails, the caller must discard the target.
// - No ETag, row ID or continuation token of the old store names other content in the new one: the new version base is
//   far above the versions that the old store may have reached after the backup.
import { type Bytes, fromUtf8, sameBytes } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { checkOptions, hasMethods, optionError, typeName } from '../../base/options.js'
import { openHash } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { type BackupFrame, type BackupStart, readBackup } from '../../format/backup.js'
import { checkCodecs } from '../../format/frame-codec.js'
import { CODECS_KEY, KEY_SPACE } from '../../format/keys.js'
import { decodeCodecs, decodeStashHead, encodeStashHead } from '../../format/records.js'
import type { KvStore } from '../../kv/kv.js'
import { RESTORED_VERSION_STEP } from '../../kv/version-base.js'
import type { ObjectStore } from '../../objects/objects.js'
import { checkPorts } from '../arguments/arguments.js'
import { versionBase } from '../context/public-versions.js'
import { checkPieces } from '../files/file-arguments.js'
import { storedLeaves } from '../files/file-content.js'
import { firstNumber, isWhole } from '../import/stash-records.js'
import { isOwnStash } from '../limits/team-limits.js'
import type { RestoreResult } from '../types/backup-types.js'

/** The empty ports into which a backup is restored. */
export type RestorePorts = Readonly<{ kv: KvStore; objects: ObjectStore }>

/** The target of a restore. */
export type RestoreTarget = Readonly<{
  /**
   * Opens the ports. Called once, after the header of the backup was checked. Both must be empty and not in use. The
   * caller closes them.
   * @param versionBase - The minimum version base of the key-value store, for the option `versionBaseMin` of
   *   `openLevelKv`.
   */
  open(versionBase: number): Promise<RestorePorts>
  /** Where the bytes of files are, if the backup only refers to them. Default: the files are in the backup. */
  files?: Pick<ObjectStore, 'stream'>
  /**
   * Whether stashes stay usable. This is for a move, where the store has not changed since the backup. Default: false,
   * because chunks may have been put after the backup.
   */
  keepStashes?: boolean
}>

/**
 * Restores a backup into an empty key-value store and an empty object store. If it fails, both may hold parts of the
 * backup and must be discarded. Open a store on them afterwards, and verify it before use.
 * @throws {StoreError} DATA_CORRUPT (the backup is damaged or truncated), FORMAT_UNKNOWN (no backup, or of an unknown
 *   version), OPTION_NOT_ALLOWED (the target is not empty, or the files are elsewhere), FILE_NOT_FOUND (a file is
 *   missing there), STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
 * @example
 * import { MemoryLevel } from 'memory-level'
 * import { memoryObjects, openLevelKv, openStore, restoreBackup } from 'rowstash'
 *
 * const open = async (versionBaseMin: number) => ({
 *   kv: await openLevelKv(new MemoryLevel(), { versionBaseMin }), objects: memoryObjects(),
 * })
 * console.log((await restoreBackup(store.backup(), { open })).objects) // 0
 */
export async function restoreBackup(
  source: AsyncIterable<Bytes>,
  target: RestoreTarget,
): Promise<RestoreResult> {
  checkPieces('A backup', source)
  if (!hasMethods(target, ['open'])) {
    throw optionError(
      'open',
      `must be a method of the restore target; the target is ${typeName(target)}`,
    )
  }
  const frames = readBackup(source)
  try {
    const start = await readStartFrame(frames)
    const versionBase = start.versionBase + RESTORED_VERSION_STEP
    const ports = await target.open(versionBase)
    checkOptions('The target of a restore', ports)
    checkPorts(ports.kv, ports.objects)
    await checkRestorePorts(ports, versionBase)
    const stashes = new RestoredStashes(start.versionBase, ports.kv, target.keepStashes === true)
    return await restoreFrames(frames, start, { ...ports, files: target.files, stashes })
  } finally {
    await frames.return()
  }
}

async function checkRestorePorts(
  { kv, objects }: RestorePorts,
  versionBase: number,
): Promise<void> {
  if ((kv.versionBase ?? 0) < versionBase) {
    const message = `The key-value store must have a version base of at least ${versionBase}`
    throw new StoreError('OPTION_NOT_ALLOWED', message)
  }
  const range = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 1 }
  const records = await kv.partition('').read((view) => view.scan(range))
  if (records.length === 0 && (await objects.list('')).length === 0) return
  throw new StoreError('OPTION_NOT_ALLOWED', 'A backup can only be restored into an empty store')
}

type Frames = AsyncGenerator<BackupFrame, void>

type Target = RestorePorts & Readonly<{ files: RestoreTarget['files']; stashes: RestoredStashes }>

async function restoreFrames(
  frames: Frames,
  start: BackupStart,
  target: Target,
): Promise<RestoreResult> {
  const found = { records: 0, objects: 0, objectBytes: 0 }
  for (;;) {
    const { value: frame, done } = await frames.next()
    if (done) throw misplaced('its end frame is missing')
    if (frame.kind === 'records') {
      found.records += frame.records.length
      checkRecordCodecs(frame)
      const puts = target.stashes.restored(frame)
      const { ok } = await target.kv.partition(frame.partition).commit({ puts })
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
      if (!isAll) throw misplaced('its contents do not match the counts in its end frame')
      const { records, objects, objectBytes: bytes } = found
      const { unusable: unusableStashes } = target.stashes
      return { createdAt: start.createdAt, records, objects, bytes, unusableStashes }
    } else {
      throw misplaced(`a frame of kind "${frame.kind}" is out of place`)
    }
  }
}

type Records = Extract<BackupFrame, { kind: 'records' }>

/** The stashes of callers. They are either kept usable, or listed as unusable. */
class RestoredStashes {
  readonly unusable: RestoreResult['unusableStashes'][number][] = []
  readonly #baseBefore: number
  readonly #base: number
  readonly #isKept: boolean

  constructor(baseBefore: number, kv: KvStore, isKept: boolean) {
    this.#baseBefore = baseBefore
    this.#base = versionBase({ kv })
    this.#isKept = isKept
  }

  /** The records of a frame, in the form of the restored store. */
  restored({ partition, records }: Records): Records['records'] {
    return records.map(([key, record]) => {
      const isStash = partition !== '' && key[0] === KEY_SPACE.stashHead
      return [key, isStash ? this.#head(partition, key, record) : record]
    })
  }

  #head(teamId: string, key: Bytes, record: Bytes): Bytes {
    const stashId = fromUtf8(key.subarray(1))
    const head = decodeStashHead(record)
    if (isOwnStash(stashId) || !isWhole(head, this.#baseBefore)) return record
    if (!this.#isKept) {
      this.unusable.push({ teamId, stashId })
      return record
    }
    const raised = firstNumber(this.#base) - firstNumber(this.#baseBefore)
    return encodeStashHead({ ...head, number: head.number + raised })
  }
}

/**
 * Checks that this runtime has the codecs of the backup. So a long restore does not end in a store that cannot be
 * opened.
 */
function checkRecordCodecs({ partition, records }: Records): void {
  if (partition !== '') return
  for (const [key, record] of records) {
    if (sameBytes(key, CODECS_KEY)) checkCodecs(decodeCodecs(record))
  }
}

async function readStartFrame(frames: Frames): Promise<BackupStart> {
  const { value: frame, done } = await frames.next()
  if (done || frame.kind !== 'start') throw misplaced('its start frame is missing')
  return frame.start
}

async function restoreObject(
  frames: Frames,
  { object, bytes }: Extract<BackupFrame, { kind: 'object' }>,
  { objects }: Target,
): Promise<void> {
  async function* pieces(): AsyncGenerator<Bytes, void> {
    let left = bytes
    while (left > 0) {
      const { value: frame, done } = await frames.next()
      if (done || frame.kind !== 'bytes' || frame.bytes.length > left) {
        throw misplaced(`object ${object} does not have ${bytes} bytes`)
      }
      left -= frame.bytes.length
      yield frame.bytes
    }
  }
  await objects.put(object, pieces())
}

/** Copies an object to which the backup only refers, from `files`. */
async function fetchObject(
  { content }: Extract<BackupFrame, { kind: 'reference' }>,
  { objects, files }: Target,
): Promise<void> {
  if (files === undefined) {
    const message =
      'The backup does not contain the bytes of its files: set filesFrom to the directory that has them'
    throw new StoreError('OPTION_NOT_ALLOWED', message)
  }
  const { object, bytes, sha256 } = content
  const read = await storedLeaves(files, content, { start: 0, limit: bytes })
  if (read === null) {
    throw new StoreError('FILE_NOT_FOUND', `The file of object ${object} is missing`)
  }
  const { leaves } = read
  async function* checked(): AsyncGenerator<Bytes, void> {
    const hash = openHash('sha256')
    for await (const leaf of leaves) {
      hash.update(leaf.bytes)
      yield leaf.stored
    }
    if (sameBytes(hash.digest(), sha256)) return
    throw new StoreError('DATA_CORRUPT', `The file of object ${object} does not match the backup`)
  }
  await objects.put(object, checked())
}

function misplaced(problem: string): StoreError {
  return new StoreError('DATA_CORRUPT', `The backup is damaged: ${problem}`)
}
