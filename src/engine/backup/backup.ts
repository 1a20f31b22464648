// Writes a backup while the store is in use: all records of one moment, then the objects that they name.
//
// Invariants:
// - The records are read in one view of the whole store if the key-value store has such a view, otherwise in one view
//   per team.
// - Objects are held from before the view until the last object was read, so that no object is deleted meanwhile.
// - Every object is checked as it is read. A backup that would be damaged ends with an error.
// - Memory: one frame or one shared object, and the name of each object and of each segment in a shared object.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { type Emit, fromEmitter } from '../../base/from-emitter.js'
import { checkOptionNames, checkSignalOption, choiceOption } from '../../base/options.js'
import { openHash } from '../../base/platform.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { BACKUP_ID_BYTES, type BackupFrame, BackupWriter } from '../../format/backup.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { StoredContent } from '../../format/file-records.js'
import { ForwardMap } from '../../format/forward.js'
import { KEY_SPACE } from '../../format/keys.js'
import type { ForwardRef } from '../../format/records.js'
import { SHARED_OBJECT_BYTES_MAX } from '../../format/shared-objects.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import { type NamedObject, namedObjects, objectOf } from '../context/named-objects.js'
import { versionBase } from '../context/public-versions.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import { storedBytes, storedLeaves } from '../files/file-content.js'
import { outcomeKnown } from '../leases/lifecycle.js'
import { openSegment, type ReadObjects, readSegmentPieces } from '../segments/read-segment.js'
import type { BackupOptions } from '../types/backup-types.js'
import type { Problem } from '../types/verify-types.js'

/** Size at which a frame of records ends, in bytes. */
const RECORDS_BYTES = 256 * 1024
/**
 * Key spaces that are not in a backup: those of the processes that have the store open mean nothing in a restored
 * store.
 */
const NOT_KEPT: readonly number[] = [
  KEY_SPACE.incarnation,
  KEY_SPACE.writer,
  KEY_SPACE.duty,
  KEY_SPACE.workHint,
  KEY_SPACE.dueTeam,
]
const EVERY_KEY = { start: new Uint8Array(0), limit: Uint8Array.of(0xff) }

/** @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED, DATA_CORRUPT, STORAGE_UNAVAILABLE */
export async function* backupStore(
  context: StoreContext,
  options: BackupOptions,
): AsyncGenerator<Bytes, void> {
  const { files, signal } = resolveOptions(options)
  const { clock, random } = context.options
  const writer = new BackupWriter(random.bytes(BACKUP_ID_BYTES))
  const counts = { records: 0, objects: 0, objectBytes: 0 }
  const { ids, incarnation } = context
  const release = context.holds.hold()
  let heldAs: string | undefined
  try {
    await incarnation.publish()
    heldAs = ids.incarnation
    const start = {
      createdAt: clock.now(),
      versionBase: versionBase(context),
      filesByReference: files === 'reference',
    }
    yield writer.frame({ kind: 'start', start })
    const names: Names = new Map()
    for await (const frame of fromEmitter<BackupFrame>((emit) =>
      emitRecords(context, emit, names),
    )) {
      checkBackupGoesOn(context, signal)
      if (frame.kind === 'records') counts.records += frame.records.length
      yield writer.frame(frame)
    }
    for (const named of objectsInOrder(names)) {
      for await (const frame of objectFrames(context, named, files)) {
        checkBackupGoesOn(context, signal)
        if (frame.kind === 'object') counts.objects++
        if (frame.kind === 'bytes') counts.objectBytes += frame.bytes.length
        yield writer.frame(frame)
      }
    }
    yield writer.frame({ kind: 'end', end: counts })
    context.activity.ended('backup')
  } catch (failure) {
    throw (await lostHold(context, heldAs)) ?? outcomeKnown(failure)
  } finally {
    release()
  }
}

/**
 * The failure of a backup whose hold other processes have ended; undefined: the hold continues.
 * @param heldAs - The incarnation under which the hold began.
 */
async function lostHold(
  { ids, incarnation }: StoreContext,
  heldAs: string | undefined,
): Promise<StoreError | undefined> {
  await incarnation.publish().catch(() => undefined) // Publishing shows whether the hold was lost.
  if (heldAs === undefined || heldAs === ids.incarnation) return undefined
  const message = 'The backup paused for so long that objects it needs were deleted; start it again'
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}

function resolveOptions(
  options: BackupOptions,
): Required<Pick<BackupOptions, 'files'>> & Pick<BackupOptions, 'signal'> {
  checkOptionNames('a backup', options, (name) => name === 'files' || name === 'signal')
  const { signal } = options
  checkSignalOption(signal)
  const files = choiceOption('files', options.files, ['include', 'reference'])
  return signal === undefined ? { files } : { files, signal }
}

function checkBackupGoesOn({ lifecycle }: StoreContext, signal: AbortSignal | undefined): void {
  lifecycle.checkOpen()
  checkNotAborted('backup', signal)
}

type EmitFrame = Emit<BackupFrame>

/** The segments in a shared object that records name, by the IDs of the segments. */
type SharedObject = Readonly<{
  kind: 'shared'
  object: ObjectId
  segments: Map<ObjectId, SegmentRef>
}>

type Names = Map<ObjectId, NamedObject | SharedObject>

async function emitRecords({ kv }: StoreContext, emit: EmitFrame, names: Names): Promise<void> {
  if (kv.readAll !== undefined) {
    await kv.readAll(async (viewOf) => {
      const system = viewOf('')
      await emitPartition('', system, emit, NOT_KEPT)
      for (const teamId of await readTeams(system)) {
        await emitTeam(teamId, viewOf(teamId), emit, names)
      }
    })
    return
  }
  const teams = await kv.partition('').read(async (view) => {
    // The codecs record is read later: the teams, which are read after this, may name codecs that it lacks now.
    await emitPartition('', view, emit, [...NOT_KEPT, KEY_SPACE.codecs])
    return readTeams(view)
  })
  for (const teamId of teams) {
    await kv.partition(teamId).read((view) => emitTeam(teamId, view, emit, names))
  }
}

async function emitTeam(
  teamId: string,
  view: KvView,
  emit: EmitFrame,
  names: Names,
): Promise<void> {
  await emitPartition(teamId, view, emit, NOT_KEPT)
  for await (const named of namedObjects(view)) noteName(names, named)
}

function noteName(names: Names, named: NamedObject): void {
  const object = objectOf(named)
  if (named.kind !== 'segment' || named.ref.shared === undefined) {
    names.set(object, named)
    return
  }
  const noted = names.get(object)
  const segments = noted?.kind === 'shared' ? noted.segments : new Map<ObjectId, SegmentRef>()
  names.set(object, { kind: 'shared', object, segments })
  segments.set(named.ref.object, named.ref)
}

async function emitPartition(
  partition: string,
  view: KvView,
  emit: EmitFrame,
  without: readonly number[],
): Promise<void> {
  let records: (readonly [Bytes, Bytes])[] = []
  let bytes = 0
  for await (const found of scanBatches(view, EVERY_KEY)) {
    for (const record of found) {
      if (without.some((space) => record[0][0] === space)) continue
      const size = record[0].length + record[1].length
      if (records.length > 0 && bytes + size > RECORDS_BYTES) {
        await emit({ kind: 'records', partition, records })
        records = []
        bytes = 0
      }
      records.push(record)
      bytes += size
    }
  }
  if (records.length > 0) await emit({ kind: 'records', partition, records })
}

/** The objects ordered by ID, which is roughly the order in which they were put. */
function* objectsInOrder(names: Names): Generator<NamedObject | SharedObject, void> {
  for (const object of [...names.keys()].sort()) {
    const named = names.get(object)
    if (named !== undefined) yield named
  }
}

type Frames = AsyncGenerator<BackupFrame, void>

async function* objectFrames(
  context: StoreContext,
  named: NamedObject | SharedObject,
  files: 'include' | 'reference',
): Frames {
  if (named.kind === 'shared') yield* sharedFrames(context, named)
  else if (named.kind === 'segment') yield* segmentFrames(context, named.ref)
  else if (named.kind === 'forward') yield* forwardFrames(context, named.ref)
  else if (named.kind === 'content') {
    if (files === 'include') yield* contentFrames(context, named.content)
    else yield { kind: 'reference', content: named.content }
  }
  // Presigned content is not backed up: when its upload is completed, a copy of it becomes the file.
}

async function* segmentFrames({ objects }: StoreContext, ref: SegmentRef): Frames {
  const opened = await openSegment(objects, ref)
  if ('kind' in opened) throw damagedStore(opened)
  yield { kind: 'object', object: ref.object, bytes: ref.objectBytes }
  for await (const { bytes, problems } of readSegmentPieces(objects, ref, opened.footer)) {
    const [problem] = problems
    if (problem !== undefined) throw damagedStore(problem)
    yield { kind: 'bytes', bytes }
  }
  yield { kind: 'bytes', bytes: opened.bytes }
}

/** The frames of a whole shared object. Its segments that nothing names any longer are not checked. */
async function* sharedFrames(
  { objects }: StoreContext,
  { object, segments }: SharedObject,
): Frames {
  const bytes = await objects.get(object, { start: 0, limit: SHARED_OBJECT_BYTES_MAX + 1 })
  if (bytes === null || bytes.length > SHARED_OBJECT_BYTES_MAX) throw notWhole(object)
  const inMemory: ReadObjects = {
    get: (_, { start, limit } = EVERY_BYTE) => bytes.subarray(start, limit),
  }
  for (const ref of segments.values()) {
    const opened = await openSegment(inMemory, ref)
    if ('kind' in opened) throw damagedStore(opened)
    for await (const { problems } of readSegmentPieces(inMemory, ref, opened.footer)) {
      const [problem] = problems
      if (problem !== undefined) throw damagedStore(problem)
    }
  }
  yield { kind: 'object', object, bytes: bytes.length }
  yield { kind: 'bytes', bytes }
}

const EVERY_BYTE = { start: 0, limit: SHARED_OBJECT_BYTES_MAX }

async function* forwardFrames({ objects }: StoreContext, ref: ForwardRef): Frames {
  const { object, objectBytes } = ref
  const bytes = await objects.get(object)
  if (bytes === null || bytes.length !== objectBytes) throw notWhole(object)
  new ForwardMap(object, bytes) // The constructor checks the bytes.
  yield { kind: 'object', object, bytes: objectBytes }
  yield { kind: 'bytes', bytes }
}

async function* contentFrames({ objects }: StoreContext, content: StoredContent): Frames {
  const { object, bytes, sha256 } = content
  const read = await storedLeaves(objects, content, { start: 0, limit: bytes })
  if (read === null) throw notWhole(object)
  const objectBytes = storedBytes(content)
  yield { kind: 'object', object, bytes: objectBytes }
  const hash = openHash('sha256')
  let found = 0
  for await (const leaf of read.leaves) {
    found += leaf.stored.length
    hash.update(leaf.bytes)
    yield { kind: 'bytes', bytes: leaf.stored }
  }
  if (found !== objectBytes || !sameBytes(hash.digest(), sha256)) throw notWhole(object)
}

function notWhole(object: ObjectId): StoreError {
  return damagedStore({
    kind: 'file',
    message: `Object ${object} is missing, or differs from what was stored`,
  })
}

function damagedStore({ message, place }: Problem): StoreError {
  const where = place === undefined ? '' : ` (${place})`
  return new StoreError('DATA_CORRUPT', `The store cannot be backed up: ${message}${where}`)
}
