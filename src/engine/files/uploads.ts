// Uploads: sessions that receive one file each, from clients without a key for the rest of the store.
//
//     created ──▶ received ──▶ completed        one record; each step is a commit that checks its bytes
//                  │    ▲
//                  └────┘ a second good PUT replaces the first; it ends one that is still running
//
// Invariants:
// - Bytes that did not arrive complete and correct are in no record, and leave no object.
// - The file takes over the object of the upload in the commit that completes it. A PUT that ends later finds the
//   record changed and is refused. So the bytes of a file never change.
// - Only a request with the signed location learns whether an upload exists. All other requests get the same refusal.
import type { Bytes } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { StoreError } from '../../base/store-error.js'
import { FILE_KEY_BYTES, parseUploadId, renderUploadId } from '../../format/file-id.js'
import {
  decodeUpload,
  encodeUpload,
  type StoredContent,
  type UploadRecord,
  type UploadTerms,
} from '../../format/file-records.js'
import { type FileKey, uploadKey } from '../../format/keys.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { hintOfLifetime } from '../commit/work-hints.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import { teamIsFull } from '../limits/file-claims.js'
import type { UploadsOfTeam } from '../limits/open-uploads.js'
import { endOfUpload } from '../limits/upload-life.js'
import { untilEnded } from '../limits/upload-puts.js'
import type { UploadRequest, UploadTicket } from '../types/file-types.js'
import type { CheckedDetails } from './file-arguments.js'
import { deleteEarly, fileTooLarge, giveUp, storeContent, wrongLength } from './file-content.js'
import { parseMediaType } from './media-type.js'
import { isSigned, keyIdOfQuery, renderTarget } from './upload-target.js'

export type UploadRequestOfTeam = CheckedDetails & Readonly<{ app: string; owner: string }>

export async function createUpload(
  team: TeamContext,
  about: UploadRequestOfTeam,
): Promise<UploadTicket> {
  const { options, ids, objects } = team
  const bytesMax = about.contentLength ?? options.fileBytesMax
  await checkUploadRoom(team, about.contentLength ?? 0)
  await team.ensureTeam()
  const alias = await team.aliases.make(team.teamId)
  const signingKey = await team.signingKeys.newest()
  const key = options.random.bytes(FILE_KEY_BYTES)
  const createdAt = await options.clock.stampMs()
  const ttlMs = Math.min(options.uploadUrlTtlMs, options.uploadTtlMs)
  const presigned = objects.presignPut === undefined ? null : ids.next()
  const times = { createdAt, expiresAt: createdAt + ttlMs }
  const terms: UploadTerms = { ...about, bytesMax, ...times, presigned }
  const upload: UploadRecord = { ...terms, state: 'created' }
  const uploadId = renderUploadId({ alias, key })
  await team.uploads.enter(team, key, upload)
  try {
    const target =
      presigned === null
        ? renderTarget(signingKey, uploadId, terms)
        : await objects.presignPut?.(presigned, { ...terms, ttlMs })
    invariant(target !== undefined, 'a store that signs gives a URL')
    const named = presigned === null ? [] : [presigned]
    const { ok } = await team.incarnation.commit(team, named, {
      checks: [{ key: uploadKey(key), equals: null }],
      puts: [[uploadKey(key), encodeUpload(upload)], ...hintOfEnd(team, key, upload)],
    })
    invariant(ok, 'the key of an upload is never drawn again')
    if (presigned !== null) ids.release([presigned])
    return { uploadId, target, expiresAt: terms.expiresAt }
  } catch (failure) {
    if (presigned !== null) ids.releaseAfter(failure, [presigned])
    await team.uploads.leave(team, key, upload)
    throw failure
  }
}

/** @throws {StoreError} FILE_TOO_LARGE for a file that exceeds the current limits. */
async function checkUploadRoom(team: TeamContext, bytes: number): Promise<void> {
  const { fileBytesMax, teamFileBytesMax } = team.options
  if (bytes > fileBytesMax) throw fileTooLarge(fileBytesMax)
  if (bytes > (await team.claims.open(team).room())) throw teamIsFull(teamFileBytesMax)
}

/** PUT {uploadLocation} */
export async function receiveUpload(context: StoreContext, request: UploadRequest): Promise<void> {
  const found = await findSigned(context, request)
  const { options, transferLimit: transfers, puts } = context
  const upload = decodeUpload(found.record)
  const isOver = (await options.clock.lifetimeMs()) >= endOfUpload(options, upload)
  if (isOver || options.clock.now() >= upload.expiresAt) throw expired()
  checkAnnounced(upload, request)
  await puts.run(found.key, (ended) =>
    transfers.run(found.teamId, () => takeBytes(context, found, request, ended), ended),
  )
}

async function takeBytes(
  context: StoreContext,
  found: FoundUpload,
  { body, contentLength, checksums = [] }: UploadRequest,
  ended: AbortSignal,
): Promise<void> {
  const terms = decodeUpload(found.record)
  const claim = context.claims.open(found)
  try {
    if ((contentLength ?? 0) > (await claim.room())) {
      throw teamIsFull(context.options.teamFileBytesMax)
    }
    const received = await storeContent(context, untilEnded(body, ended), {
      bytesMax: terms.bytesMax,
      contentLength: terms.contentLength ?? contentLength ?? null,
      checksums,
      claim,
    })
    try {
      ended.throwIfAborted()
      const { upload, replaced } = await commitReceived(context, found, received)
      context.ids.release([received.object])
      await context.uploads.receive(found, found.key, upload)
      if (replaced !== null) await deleteEarly(context, [replaced])
    } catch (failure) {
      await giveUp(context, failure, received.object)
      throw failure
    }
  } finally {
    claim.release()
  }
}

type FoundUpload = UploadsOfTeam & Readonly<{ key: FileKey; record: Bytes }>

/** The upload for which a location is signed. Every other location gets the same error, which reveals nothing. */
async function findSigned(context: StoreContext, request: UploadRequest): Promise<FoundUpload> {
  const { uploadId, query } = request
  const name = parseUploadId(uploadId)
  const keyId = keyIdOfQuery(query)
  if (name === null || keyId === null) throw notSigned()
  const teamId = await context.aliases.teamOf(name.alias)
  const signingKey = teamId === null ? null : await context.signingKeys.find(keyId)
  if (teamId === null || signingKey === null) throw notSigned()
  const partition = context.dueTeams.partition(teamId)
  const record = await partition.read((view) => view.get(uploadKey(name.key)))
  if (record === null) throw notSigned()
  const terms = decodeUpload(record)
  const isOurs = terms.presigned === null
  if (!isOurs || !isSigned(query, signingKey, uploadId, terms)) throw notSigned()
  return { teamId, partition, key: name.key, record }
}

/** Checks the headers of a request before its body is read. */
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
  if (contentLength > terms.bytesMax) throw fileTooLarge(terms.bytesMax)
}

type Received = Readonly<{
  upload: UploadRecord
  /** The object of an earlier PUT, which this PUT has replaced. */
  replaced: string | null
}>

async function commitReceived(
  context: StoreContext,
  found: FoundUpload,
  received: StoredContent,
): Promise<Received> {
  const { options, incarnation } = context
  const key = uploadKey(found.key)
  let record: Bytes | null = found.record
  return commitUntilAccepted('The upload is too busy', options.random, async () => {
    if (record === null) throw expired() // Garbage collection has ended the upload meanwhile.
    const upload = decodeUpload(record)
    if (upload.state === 'completed') throw completed()
    const next: UploadRecord = {
      ...upload,
      state: 'received',
      received,
      receivedAt: await options.clock.stampMs(),
    }
    const result = await incarnation.commit(found, [received.object], {
      checks: [{ key, equals: record }],
      puts: [[key, encodeUpload(next)], ...hintOfEnd(context, found.key, next)],
    })
    const replaced = upload.state === 'received' ? upload.received.object : null
    if (result.ok) return { upload: next, replaced }
    record = result.failed[0]?.value ?? null
    return REFUSED
  })
}

/** The hint that is due when the upload ends. */
function hintOfEnd(
  context: StoreContext,
  key: FileKey,
  upload: UploadRecord,
): ReturnType<typeof hintOfLifetime> {
  const due = endOfUpload(context.options, upload) + 1
  return hintOfLifetime(context, 'upload', key, due)
}

function notSigned(): StoreError {
  return new StoreError('UPLOAD_SIGNATURE_INVALID', 'The upload location is not valid')
}

function expired(): StoreError {
  return new StoreError('UPLOAD_EXPIRED', 'The upload location has expired')
}

function completed(): StoreError {
  return new StoreError('UPLOAD_ALREADY_COMPLETED', 'The upload was already completed')
}
