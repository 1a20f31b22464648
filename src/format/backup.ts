// A backup: the snapshot of a store, as one sequence of bytes. FORMAT.md section 9; its version is independent of the
// store's.
//
// Invariants:
// - Every frame has a crc over the backup's ID, the frame's number and its bytes. The crc detects frames that are
//   changed, missing, repeated, moved or taken from another backup.
// - The last frame has the SHA-256 of all bytes before it, and nothing follows it. So a truncated backup, or one with
//   bytes after its end, is rejected.
import { type Bytes, bytesOf, sameBytes, toHex, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { typeName } from '../base/options.js'
import { crc32, type Hash, openHash } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { objectBytes } from './extent-page.js'
import type { StoredContent } from './file-records.js'

export const BACKUP_ID_BYTES = 16
const MAGIC = utf8('RSBK')
const BACKUP_VERSION = 1
const HEADER_BYTES = 4 + 4 + BACKUP_ID_BYTES
const FRAME_HEAD_BYTES = 1 + 4
const CRC_BYTES = 4
const SHA256_BYTES = 32

/** Kinds of frames. Written to disk: never change or reuse a number. */
const FRAME = Object.freeze({
  start: 0x01,
  records: 0x02,
  object: 0x03,
  bytes: 0x04,
  reference: 0x05,
  end: 0xff,
})

/** The maximum number of bytes of a frame, which may contain the largest possible row record. */
const FRAME_BYTES_MAX = 128 * 1024 * 1024

/** The description of a backup. */
export type BackupStart = Readonly<{
  /** When the backup began, in milliseconds since 1970 UTC. */
  createdAt: number
  /** The version base of the records. */
  versionBase: number
  /** Whether the bytes of files are left out. */
  filesByReference: boolean
}>

export type BackupEnd = Readonly<{ records: number; objects: number; objectBytes: number }>

export type BackupFrame =
  | Readonly<{ kind: 'start'; start: BackupStart }>
  | Readonly<{
      kind: 'records'
      partition: string
      records: readonly (readonly [key: Bytes, value: Bytes])[]
    }>
  /** An object, followed by frames with its bytes. */
  | Readonly<{ kind: 'object'; object: ObjectId; bytes: number }>
  | Readonly<{ kind: 'bytes'; bytes: Bytes }>
  /** An object that is stored elsewhere, not in the backup. */
  | Readonly<{ kind: 'reference'; content: StoredContent }>
  | Readonly<{ kind: 'end'; end: BackupEnd }>

/** The store format of the records and objects in a backup. */
const STORE_FORMAT = 1

const BY_REFERENCE = 0x01
const SEALED = 0x01

/** Makes the bytes of a backup, frame by frame. */
export class BackupWriter {
  readonly #id: Bytes
  readonly #sha256: Hash = openHash('sha256')
  #frames = 0
  #begun = false

  /** @param id - The ID of the backup: random bytes. */
  constructor(id: Bytes) {
    invariant(id.length === BACKUP_ID_BYTES, 'a backup is named by 16 bytes')
    this.#id = id
  }

  /** The bytes of the next frame; the first frame includes the header. */
  frame(frame: BackupFrame): Bytes {
    const writer = new ByteWriter(bytesOfFrame(frame))
    if (!this.#begun) {
      writer.bytes(MAGIC).u8(BACKUP_VERSION).bytes(new Uint8Array(3)).bytes(this.#id)
      this.#begun = true
    }
    const start = writer.length
    writer.u8(FRAME[frame.kind]).u32(0)
    writePayload(writer, frame, () => this.#sha256.digest())
    const length = writer.length - start - FRAME_HEAD_BYTES
    invariant(length <= FRAME_BYTES_MAX, 'a frame of a backup has a bounded size')
    const bytes = writer.written(0)
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(start + 1, length)
    writer.u32(frameCrc(this.#id, this.#frames++, bytes.subarray(start)))
    const whole = writer.finish()
    if (frame.kind !== 'end') this.#sha256.update(whole)
    return whole
  }
}

function bytesOfFrame(frame: BackupFrame): number {
  return frame.kind === 'bytes' ? frame.bytes.length + 64 : 512
}

function writePayload(writer: ByteWriter, frame: BackupFrame, sha256: () => Bytes): void {
  switch (frame.kind) {
    case 'start':
      writer.u16(STORE_FORMAT).u48(frame.start.createdAt).u64(frame.start.versionBase)
      writer.u8(frame.start.filesByReference ? BY_REFERENCE : 0)
      return
    case 'records':
      writer.text(frame.partition)
      for (const [key, value] of frame.records) {
        writer.u32(key.length).bytes(key).u32(value.length).bytes(value)
      }
      return
    case 'object':
      writer.bytes(objectBytes(frame.object)).u48(frame.bytes)
      return
    case 'bytes':
      writer.bytes(frame.bytes)
      return
    case 'reference': {
      const { object, bytes, sha256, sealed } = frame.content
      writer.bytes(objectBytes(object)).u48(bytes).bytes(sha256)
      writer.u8(sealed ? SEALED : 0)
      return
    }
    case 'end':
      writer.u64(frame.end.records).u64(frame.end.objects).u64(frame.end.objectBytes)
      writer.bytes(sha256())
  }
}

/** @param bytes - The frame without its crc. */
function frameCrc(id: Bytes, number: number, bytes: Bytes): number {
  return crc32(bytes, crc32(new ByteWriter(8).u64(number).finish(), crc32(id)))
}

/**
 * The frames of a backup, each as soon as it is verified; the last frame only after the whole backup was verified.
 * @throws {StoreError} DATA_CORRUPT, with the place; FORMAT_UNKNOWN if the bytes are no backup, or one of an unknown
 *   version
 */
export async function* readBackup(source: AsyncIterable<Bytes>): AsyncGenerator<BackupFrame, void> {
  const reader = new PieceReader(source)
  try {
    const sha256 = openHash('sha256')
    const header = await reader.take(HEADER_BYTES)
    checkHeader(header)
    sha256.update(header)
    const id = Uint8Array.from(header.subarray(HEADER_BYTES - BACKUP_ID_BYTES))
    for (let number = 0; ; number++) {
      const at = reader.takenBytes
      const head = Uint8Array.from(await reader.take(FRAME_HEAD_BYTES))
      const length = new DataView(head.buffer).getUint32(1)
      if (length > FRAME_BYTES_MAX)
        throw damagedBackup(`frame ${number} at byte ${at} has an impossible size`)
      const rest = await reader.take(length + CRC_BYTES)
      const payload = rest.subarray(0, length)
      const crc = crc32(payload, frameCrc(id, number, head))
      if (new ByteReader(rest.subarray(length), 'frame').u32() !== crc) {
        throw damagedBackup(`the checksum of frame ${number} at byte ${at} is wrong`)
      }
      const isEnd = head[0] === FRAME.end
      if (isEnd) checkDigest(payload, sha256.digest())
      if (isEnd && !(await reader.isDone())) throw damagedBackup('there are bytes after its end')
      yield decodeBackupFrame(head[0] ?? 0, payload, number)
      if (isEnd) return
      sha256.update(head)
      sha256.update(rest)
    }
  } finally {
    await reader.close()
  }
}

function checkHeader(header: Bytes): void {
  if (!sameBytes(header.subarray(0, 4), MAGIC)) {
    throw new StoreError('FORMAT_UNKNOWN', 'This is not a backup of a rowstash store')
  }
  const version = header[4] ?? 0
  if (version === BACKUP_VERSION) {
    if (sameBytes(header.subarray(5, 8), new Uint8Array(3))) return
    throw damagedBackup('its header is not that of a backup')
  }
  const message = `This backup is of version ${version}; this package reads version ${BACKUP_VERSION}`
  throw new StoreError('FORMAT_UNKNOWN', message)
}

function checkDigest(payload: Bytes, digest: Bytes): void {
  if (sameBytes(payload.subarray(-SHA256_BYTES), digest)) return
  throw damagedBackup('its SHA-256 does not match')
}

function decodeBackupFrame(kind: number, payload: Bytes, number: number): BackupFrame {
  const reader = new ByteReader(payload, `frame ${number} of the backup`)
  const frame = decodePayload(kind, reader)
  reader.end()
  return frame
}

function decodePayload(kind: number, reader: ByteReader): BackupFrame {
  switch (kind) {
    case FRAME.start:
      return { kind: 'start', start: readStart(reader) }
    case FRAME.records:
      return { kind: 'records', partition: reader.text(), records: readRecordPairs(reader) }
    case FRAME.object:
      return { kind: 'object', object: toHex(reader.bytes(16)), bytes: reader.u48() }
    case FRAME.bytes:
      return { kind: 'bytes', bytes: reader.bytes(reader.left) }
    case FRAME.reference: {
      const named = { object: toHex(reader.bytes(16)), bytes: reader.u48() }
      const sha256 = reader.bytes(SHA256_BYTES)
      const sealed = (reader.u8() & SEALED) !== 0
      return { kind: 'reference', content: { ...named, sha256, sealed } }
    }
    case FRAME.end: {
      const counts = { records: reader.u64(), objects: reader.u64(), objectBytes: reader.u64() }
      reader.bytes(SHA256_BYTES)
      return { kind: 'end', end: counts }
    }
    default:
      throw reader.corrupt(`its kind ${kind} is unknown`)
  }
}

function readStart(reader: ByteReader): BackupStart {
  const format = reader.u16()
  if (format !== STORE_FORMAT) {
    const message = `The backup is of a store of format ${format}; this version reads ${STORE_FORMAT}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  const [createdAt, versionBase] = [reader.u48(), reader.u64()]
  return { createdAt, versionBase, filesByReference: (reader.u8() & BY_REFERENCE) !== 0 }
}

function readRecordPairs(reader: ByteReader): [Bytes, Bytes][] {
  const records: [Bytes, Bytes][] = []
  while (reader.left > 0) {
    const key = reader.bytes(reader.u32())
    records.push([key, reader.bytes(reader.u32())])
  }
  return records
}

/** Reads runs of bytes from pieces of any size. */
class PieceReader {
  readonly #pieces: AsyncIterator<Bytes>
  #held: Bytes[] = []
  #heldBytes = 0
  #taken = 0

  constructor(source: AsyncIterable<Bytes>) {
    this.#pieces = source[Symbol.asyncIterator]()
  }

  get takenBytes(): number {
    return this.#taken
  }

  /** Reads exactly this many bytes. @throws {StoreError} DATA_CORRUPT if there are fewer. */
  async take(count: number): Promise<Bytes> {
    while (this.#heldBytes < count) {
      if (!(await this.#more()))
        throw damagedBackup(`it ends early, at byte ${this.#taken + this.#heldBytes}`)
    }
    const [first] = this.#held
    const whole = this.#held.length === 1 && first !== undefined ? first : concat(this.#held)
    const rest = whole.subarray(count)
    this.#held = rest.length === 0 ? [] : [rest]
    this.#heldBytes -= count
    this.#taken += count
    return whole.subarray(0, count)
  }

  /** Whether the source has ended. */
  async isDone(): Promise<boolean> {
    while (this.#heldBytes === 0) if (!(await this.#more())) return true
    return false
  }

  /** Ends the reading of the source, also after a bad frame. */
  async close(): Promise<void> {
    await this.#pieces.return?.()
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next()
    if (done) return false
    const bytes = bytesOf(value)
    if (bytes === undefined) {
      const message = `A backup must be read as pieces of bytes, not ${typeName(value)}`
      throw new StoreError('REQUEST_VALIDATION_ERROR', message)
    }
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    return true
  }
}

function concat(pieces: readonly Bytes[]): Bytes {
  const writer = new ByteWriter(pieces.reduce((sum, { length }) => sum + length, 0))
  for (const piece of pieces) writer.bytes(piece)
  return writer.finish()
}

function damagedBackup(problem: string): StoreError {
  return new StoreError('DATA_CORRUPT', `The backup is damaged: ${problem}`)
}
