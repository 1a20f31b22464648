// Encodes and decodes records of files and uploads. FORMAT.md section 4.
import { type Bytes, toHex } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { objectBytes } from './extent-page.js'
import { ALIAS_BYTES, FILE_KEY_BYTES } from './file-id.js'
import type { FileKey } from './keys.js'
import { newRecord, openRecord, RECORD_VERSION } from './record-frame.js'

/** The version of records with sealed content. */
const SEALED_VERSION = 2
const SHA256_BYTES = 32
const NONCE_BYTES = 8
const SECRET_BYTES = 32

/** Bytes stored as an object. */
export type StoredContent = Readonly<{
  object: ObjectId
  bytes: number
  sha256: Bytes
  /**
   * Whether the object has checksums between the bytes: see sealed-content. Objects of earlier versions have no
   * checksums.
   */
  sealed: boolean
}>

/** The parameters of an upload, which never change. */
export type UploadTerms = Readonly<{
  /** The ID of the app; empty: none. */
  app: string
  /** The owner; empty: uploads are not counted per owner. */
  owner: string
  /** The media type in canonical form, with its parameters. */
  contentType: string
  fileName: string
  /** The announced length; null: any length up to `bytesMax`. */
  contentLength: number | null
  bytesMax: number
  createdAt: number
  /** When the signed location expires. */
  expiresAt: number
  /** The object that a presigned location of the object store writes; null: the location is ours. */
  presigned: ObjectId | null
}>

/** An upload: its state changes from created to received to completed. A completed upload never changes. */
export type UploadRecord = UploadTerms &
  (
    | Readonly<{ state: 'created' }>
    | Readonly<{
        state: 'received'
        received: StoredContent
        /** When the bytes were received; null: an earlier version did not record it. */
        receivedAt: number | null
      }>
    | Readonly<{ state: 'completed'; received: StoredContent; file: FileKey }>
  )

export type FileRecord = StoredContent &
  Readonly<{ contentType: string; fileName: string; completedAt: number }>

/** The number and bytes of a team's files. Every commit that adds or deletes a file checks it. */
export type FilesHead = Readonly<{ files: number; bytes: number }>

export type SigningKey = Readonly<{ id: number; secret: Bytes; createdAt: number }>

/** The numbers of states of an upload. Written to disk: never change or reuse a number. */
const STATE = Object.freeze({ created: 0x01, received: 0x02, completed: 0x03, receivedAt: 0x04 })
const HAS_LENGTH = 0x01
const PRESIGNED = 0x02

export function encodeUpload(upload: UploadRecord): Bytes {
  const { contentLength, presigned } = upload
  const flags = (contentLength === null ? 0 : HAS_LENGTH) | (presigned === null ? 0 : PRESIGNED)
  const sealed = upload.state !== 'created' && upload.received.sealed
  const writer = contentRecord(256, sealed).u8(stateOf(upload))
  writer.text(upload.app).text(upload.owner).text(upload.contentType).text(upload.fileName)
  writer
    .u8(flags)
    .u48(contentLength ?? 0)
    .u48(upload.bytesMax)
  writer.u48(upload.createdAt).u48(upload.expiresAt)
  if (presigned !== null) writer.bytes(objectBytes(presigned))
  if (upload.state !== 'created') writeContent(writer, upload.received)
  if (upload.state === 'received' && upload.receivedAt !== null) writer.u48(upload.receivedAt)
  if (upload.state === 'completed') {
    invariant(upload.file.length === FILE_KEY_BYTES, 'a file key has 16 bytes')
    writer.bytes(upload.file)
  }
  return writer.finish()
}

function stateOf(upload: UploadRecord): number {
  const isNoted = upload.state === 'received' && upload.receivedAt !== null
  return isNoted ? STATE.receivedAt : STATE[upload.state]
}

export function decodeUpload(bytes: Bytes): UploadRecord {
  const { reader, sealed } = openContentRecord(bytes, 'upload')
  const state = reader.u8()
  const terms = readTerms(reader)
  const upload = readUploadState(reader, state, terms, sealed)
  reader.end()
  return upload
}

function readTerms(reader: ByteReader): UploadTerms {
  const texts = {
    app: reader.text(),
    owner: reader.text(),
    contentType: reader.text(),
    fileName: reader.text(),
  }
  const flags = reader.u8()
  const contentLength = reader.u48()
  const numbers = {
    contentLength: flags & HAS_LENGTH ? contentLength : null,
    bytesMax: reader.u48(),
    createdAt: reader.u48(),
    expiresAt: reader.u48(),
  }
  const presigned = flags & PRESIGNED ? toHex(reader.bytes(16)) : null
  return { ...texts, ...numbers, presigned }
}

function readUploadState(
  reader: ByteReader,
  state: number,
  terms: UploadTerms,
  sealed: boolean,
): UploadRecord {
  if (state === STATE.created) return { ...terms, state: 'created' }
  if (state < STATE.received || state > STATE.receivedAt) {
    throw reader.corrupt(`its state is ${state}`)
  }
  const received = readContentFields(reader, sealed)
  if (state === STATE.received) return { ...terms, state: 'received', received, receivedAt: null }
  if (state === STATE.receivedAt) {
    return { ...terms, state: 'received', received, receivedAt: reader.u48() }
  }
  return { ...terms, state: 'completed', received, file: reader.bytes(FILE_KEY_BYTES) }
}

/** The objects that only this record names: the object of a completed upload belongs to the file. */
export function objectsOfUpload(upload: UploadRecord): readonly ObjectId[] {
  if (upload.state === 'completed') return []
  const received = upload.state === 'received' ? [upload.received.object] : []
  return upload.presigned === null ? received : [...received, upload.presigned]
}

export function encodeFile(file: FileRecord): Bytes {
  const writer = writeContent(contentRecord(160, file.sealed), file)
  return writer.text(file.contentType).text(file.fileName).u48(file.completedAt).finish()
}

export function decodeFile(bytes: Bytes): FileRecord {
  const { reader, sealed } = openContentRecord(bytes, 'file')
  const content = readContentFields(reader, sealed)
  const file = {
    ...content,
    contentType: reader.text(),
    fileName: reader.text(),
    completedAt: reader.u48(),
  }
  reader.end()
  return file
}

/** @param nonce - Random in every commit, so that checking the marker identifies the commit. */
export function encodeFileMarker(nonce: Bytes): Bytes {
  invariant(nonce.length === NONCE_BYTES, 'a nonce has 8 bytes')
  return newRecord(9).bytes(nonce).finish()
}

export function decodeFileMarker(bytes: Bytes): Bytes {
  const reader = openRecord(bytes, 'file marker')
  const nonce = reader.bytes(NONCE_BYTES)
  reader.end()
  return nonce
}

export function encodeFilesHead({ files, bytes }: FilesHead): Bytes {
  return newRecord(15).u48(files).u64(bytes).finish()
}

export function decodeFilesHead(bytes: Bytes): FilesHead {
  const reader = openRecord(bytes, 'files head')
  const head = { files: reader.u48(), bytes: reader.u64() }
  reader.end()
  return head
}

/** Encodes the record of an alias, which names its team. */
export function encodeAlias(teamId: string): Bytes {
  return newRecord(64).text(teamId).finish()
}

export function decodeAlias(bytes: Bytes): string {
  const reader = openRecord(bytes, 'alias')
  const teamId = reader.text()
  reader.end()
  return teamId
}

/** Encodes the record of a team's alias. */
export function encodeTeamAlias(alias: Bytes): Bytes {
  invariant(alias.length === ALIAS_BYTES, 'an alias has 8 bytes')
  return newRecord(9).bytes(alias).finish()
}

export function decodeTeamAlias(bytes: Bytes): Bytes {
  const reader = openRecord(bytes, 'alias of a team')
  const alias = reader.bytes(ALIAS_BYTES)
  reader.end()
  return alias
}

/** The maximum number of keys that are valid at the same time; the newest key signs. */
export const SIGNING_KEYS_MAX = 2

/** @param keys - The keys, newest first. */
export function encodeSigningKeys(keys: readonly SigningKey[]): Bytes {
  invariant(keys.length <= SIGNING_KEYS_MAX, 'two keys are good at one time')
  const writer = newRecord(90).u8(keys.length)
  for (const { id, secret, createdAt } of keys) {
    invariant(secret.length === SECRET_BYTES, 'a secret has 32 bytes')
    writer.u32(id).bytes(secret).u48(createdAt)
  }
  return writer.finish()
}

export function decodeSigningKeys(bytes: Bytes): SigningKey[] {
  const reader = openRecord(bytes, 'signing keys')
  const count = reader.u8()
  if (count > SIGNING_KEYS_MAX) throw reader.corrupt(`it has ${count} keys`)
  const keys: SigningKey[] = []
  for (let i = 0; i < count; i++) {
    keys.push({ id: reader.u32(), secret: reader.bytes(SECRET_BYTES), createdAt: reader.u48() })
  }
  reader.end()
  return keys
}

function writeContent(writer: ByteWriter, { object, bytes, sha256 }: StoredContent): ByteWriter {
  invariant(sha256.length === SHA256_BYTES, 'a sha256 has 32 bytes')
  return writer.bytes(objectBytes(object)).u48(bytes).bytes(sha256)
}

function readContentFields(reader: ByteReader, sealed: boolean): StoredContent {
  return {
    object: toHex(reader.bytes(16)),
    bytes: reader.u48(),
    sha256: reader.bytes(SHA256_BYTES),
    sealed,
  }
}

function contentRecord(capacity: number, sealed: boolean): ByteWriter {
  return new ByteWriter(capacity).u8(sealed ? SEALED_VERSION : RECORD_VERSION)
}

function openContentRecord(
  bytes: Bytes,
  what: string,
): Readonly<{ reader: ByteReader; sealed: boolean }> {
  const reader = new ByteReader(bytes, what)
  const version = reader.u8()
  if (version !== RECORD_VERSION && version !== SEALED_VERSION) {
    throw reader.corrupt(`record version ${version} is unknown`)
  }
  return { reader, sealed: version === SEALED_VERSION }
}
const NO_FILES: FilesHead = { files: 0, bytes: 0 }

/** Decodes the files head of a team. @param bytes - null: the team has never had a file. */
export function decodeFilesHeadOrEmpty(bytes: Bytes | null): FilesHead {
  return bytes === null ? NO_FILES : decodeFilesHead(bytes)
}
