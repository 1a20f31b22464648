// Uploads: a session that brings in one file, from somebody who has no key for the rest of the store.
//
//     created ──▶ received ──▶ completed        one record; each step is a commit that checks its bytes
//                  │    ▲
//                  └────┘ a second good PUT replaces the first
//
// Invariants:
// - Bytes that did not arrive whole and right are in no record, and leave no object.
// - The file takes over the object of the upload in the commit that completes it; a PUT that comes to its
//   end later finds the record changed and is refused. So the bytes of a file never change.
// - Nobody but who holds the signed location learns whether there is an upload: all else is one refusal.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { isStoreError, StoreError } from '../base/store-error.js'
import { FILE_KEY_BYTES, parseUploadId, renderUploadId } from '../format/file-id.js'
import {
  decodeUpload,
  encodeUpload,
  type StoredContent,
  type UploadRecord,
  type UploadTerms,
} from '../format/file-records.js'
import { FILES_HEAD_KEY, uploadKey } from '../format/keys.js'
import type { KvPartition } from '../kv/kv.js'
import type { CheckedDetails } from './file-arguments.js'
import { decodeHead, teamIsFull } from './file-commits.js'
import { deleteEarly, giveUp, storeContent, tooLarge, wrongLength } from './file-content.js'
import type { UploadRequest, UploadTicket } from './file-types.js'
import { parseMediaType } from './media-type.js'
import type { OpenUploads } from './open-uploads.js'
import type { StoreContext, TeamContext } from './store-context.js'
import { isSigned, keyIdOfQuery, renderTarget } from './upload-target.js'

/** Parallel PUTs to one upload get so many tries. */
const RECEIVE_TRIES_MAX = 100

export type UploadRequestOfTeam = CheckedDetails & Readonly<{ app: string; owner: string }>

export async function createUpload(
  team: TeamContext,
  open: OpenUploads,
  about: UploadRequestOfTeam,
): Promise<UploadTicket> {
  const { options, ids, objects } = team
  const bytesMax = about.contentLength ?? options.fileBytesMax
  await checkRoom(team, about.contentLength ?? 0)
  await team.ensureTeam()
  const alias = await team.aliases.make(team.teamId)
  const signingKey = await team.signingKeys.newest()
  const key = options.random.bytes(FILE_KEY_BYTES)
  const createdAt = options.clock.now()
  const ttlMs = Math.min(options.uploadUrlTtlMs, options.uploadTtlMs)
  const presigned = objects.presignPut === undefined ? null : ids.next()
  const times = { createdAt, expiresAt: createdAt + ttlMs }
  const terms: UploadTerms = { ...about, bytesMax, ...times, presigned }
  const uploadId = renderUploadId({ alias, key })
  await open.enter(about.owner, key, createdAt)
  try {
    const target =
      presigned === null
        ? renderTarget(signingKey, uploadId, terms)
        : await objects.presignPut?.(presigned, { ...terms, ttlMs })
    invariant(target !== undefined, 'a store that signs gives a URL')
    const { ok } = await team.partition.commit({
      checks: [{ key: uploadKey(key), equals: null }],
      puts: [[uploadKey(key), encodeUpload({ ...terms, state: 'created' })]],
    })
    invariant(ok, 'the key of an upload is never drawn again')
    if (presigned !== null) ids.settle([presigned])
    return { uploadId, target, expiresAt: terms.expiresAt }
  } catch (failure) {
    if (presigned !== null) ids.settleAfter(failure, [presigned])
    await open.leave(about.owner, key)
    throw failure
  }
}

/** @throws {StoreError} FILE_TOO_LARGE for a file that cannot come in as things are. */
async function checkRoom({ options, partition }: TeamContext, bytes: number): Promise<void> {
  const { fileBytesMax, teamFileBytesMax } = options
  if (bytes > fileBytesMax) throw tooLarge(fileBytesMax)
  const head = decodeHead(await partition.read((view) => view.get(FILES_HEAD_KEY)))
  if (head.bytes + bytes > teamFileBytesMax) throw teamIsFull(teamFileBytesMax)
}

/** PUT {uploadLocation} */
export async function receiveUpload(context: StoreContext, request: UploadRequest): Promise<void> {
  const { partition, key, record } = await findSigned(context, request)
  const terms = decodeUpload(record)
  if (context.options.clock.now() >= terms.expiresAt) throw expired()
  checkAnnounced(terms, request)
  await context.transfers.run(async () => {
    const received = await storeContent(context, untilBroken(request.body), {
      bytesMax: terms.bytesMax,
      contentLength: terms.contentLength ?? request.contentLength ?? null,
      checksums: request.checksums ?? [],
    })
    try {
      const replaced = await commitReceived(partition, key, record, received)
      context.ids.settle([received.object])
      if (replaced !== null) await deleteEarly(context, [replaced])
    } catch (failure) {
      await giveUp(context, failure, received.object)
      throw failure
    }
  })
}

type FoundUpload = Readonly<{ partition: KvPartition; key: Bytes; record: Bytes }>

/** The upload that a location is signed for. What is wrong with another one is nobody's business. */
async function findSigned(context: StoreContext, request: UploadRequest): Promise<FoundUpload> {
  const { uploadId, query } = request
  const name = parseUploadId(uploadId)
  const keyId = keyIdOfQuery(query)
  if (name === null || keyId === null) throw notSigned()
  const teamId = await context.aliases.teamOf(name.alias)
  const signingKey = teamId === null ? null : await context.signingKeys.find(keyId)
  if (teamId === null || signingKey === null) throw notSigned()
  const partition = context.kv.partition(teamId)
  const key = uploadKey(name.key)
  const record = await partition.read((view) => view.get(key))
  if (record === null) throw notSigned()
  const terms = decodeUpload(record)
  const isOurs = terms.presigned === null
  if (!isOurs || !isSigned(query, signingKey, uploadId, terms)) throw notSigned()
  return { partition, key, record }
}

/** Refuses by what a request says about itself, before a byte of its body is read. */
function checkAnnounced(terms: UploadRecord, { contentType, contentLength }: UploadRequest): void {
  if (terms.state === 'completed') throw completed()
  const given = contentType === undefined ? undefined : parseMediaType(contentType)
  if (given?.canonical !== terms.contentType) {
    const message = `The Content-Type must be ${terms.contentType}`
    throw new StoreError('CONTENT_TYPE_MISMATCH', message)
  }
  if (contentLength === undefined) return
  if (terms.contentLength !== null && contentLength !== terms.contentLength) {
    throw wrongLength(terms.contentLength)
  }
  if (contentLength > terms.bytesMax) throw tooLarge(terms.bytesMax)
}

/** A body that breaks off is the client's failure, and no answer reaches it anyway. */
async function* untilBroken(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes, void> {
  try {
    yield* body
  } catch (cause) {
    if (isStoreError(cause)) throw cause
    throw new StoreError('ABORTED', 'The body ended too early', { cause })
  }
}

/** @returns the object of an earlier PUT that this one replaced. */
async function commitReceived(
  partition: KvPartition,
  key: Bytes,
  known: Bytes,
  received: StoredContent,
): Promise<string | null> {
  let record: Bytes | null = known
  for (let tries = 0; tries < RECEIVE_TRIES_MAX; tries++) {
    if (record === null) throw expired() // The sweep ended the upload meanwhile.
    const upload = decodeUpload(record)
    if (upload.state === 'completed') throw completed()
    const next = encodeUpload({ ...upload, state: 'received', received })
    const result = await partition.commit({
      checks: [{ key, equals: record }],
      puts: [[key, next]],
    })
    if (result.ok) return upload.state === 'received' ? upload.received.object : null
    record = result.failed[0]?.value ?? null
  }
  throw new StoreError('STORAGE_UNAVAILABLE', 'The upload is too busy; try again', {
    outcome: 'unchanged',
  })
}

function notSigned(): StoreError {
  return new StoreError('UPLOAD_SIGNATURE_INVALID', 'The location is not one that was given out')
}

function expired(): StoreError {
  return new StoreError('UPLOAD_EXPIRED', 'The location has expired')
}

function completed(): StoreError {
  return new StoreError('UPLOAD_ALREADY_COMPLETED', 'The upload is completed')
}
