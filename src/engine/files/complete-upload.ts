// The last step of an upload: its bytes become a file, or are refused permanently.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import { FILE_KEY_BYTES, type FileName, parseUploadId } from '../../format/file-id.js'
import {
  decodeFile,
  decodeUpload,
  encodeUpload,
  type FileRecord,
  type FilesHead,
  objectsOfUpload,
  type StoredContent,
  type UploadRecord,
} from '../../format/file-records.js'
import { type FileKey, fileKey, uploadKey } from '../../format/keys.js'
import type { KvView } from '../../kv/kv.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import type { Claim } from '../limits/file-claims.js'
import { endOfUpload } from '../limits/upload-life.js'
import type { StoredFile } from '../types/file-types.js'
import { changeFiles, type FileDecision, putsOfFile, refusalOfFile } from './file-commits.js'
import { deleteEarly, giveUp, storeContent } from './file-content.js'
import { storedFile } from './stored-file.js'

/** POST /apps/{appID}/uploads/{uploadID}/complete */
export async function completeUpload(
  team: TeamContext,
  name: FileName,
  app: string,
): Promise<StoredFile> {
  const claim = team.claims.open(team)
  try {
    return await completeClaimed(team, name, app, claim)
  } finally {
    claim.release()
  }
}

async function completeClaimed(
  team: TeamContext,
  name: FileName,
  app: string,
  claim: Claim,
): Promise<StoredFile> {
  const key = uploadKey(name.key)
  const record = await team.partition.read((view) => view.get(key))
  const copy = await copyPresigned(team, await checkUpload(team, record, app), claim)
  const outcome = await changeFiles(
    team,
    (view) => readCompletion(view, key),
    (found, head) => decide(team, { ...found, head, key, app, copy }),
  ).catch(async (failure: unknown) => {
    if (copy !== null) await giveUp(team, failure, copy.object)
    throw failure
  })
  const { file, ended } = outcome
  const left = ended === null ? [] : objectsOfUpload(ended)
  if (copy !== null) team.ids.release([copy.object])
  const unnamed = copy === null ? left : [...left, copy.object]
  await deleteEarly(
    team,
    unnamed.filter((object) => object !== file?.record.object),
  )
  if (ended !== null) await team.uploads.leave(team, name.key, ended)
  if (file === null) throw outcome.refusal
  return storedFile({ alias: name.alias, key: file.key }, file.record)
}

type Completion = Readonly<{ record: Bytes | null; file: Bytes | null }>

async function readCompletion(view: KvView, key: Bytes): Promise<Completion> {
  const record = await view.get(key)
  const upload = record && decodeUpload(record)
  if (upload?.state !== 'completed') return { record, file: null }
  return { record, file: await view.get(fileKey(upload.file)) }
}

type Outcome = Readonly<{
  /** The record of the upload before this completion; null: the upload was completed earlier. */
  ended: UploadRecord | null
}> &
  (
    | Readonly<{ file: Readonly<{ key: FileKey; record: FileRecord }> }>
    | Readonly<{ file: null; refusal: StoreError }>
  )

async function decide(
  team: TeamContext,
  found: Completion &
    Readonly<{ head: FilesHead; key: Bytes; app: string; copy: StoredContent | null }>,
): Promise<FileDecision<Outcome>> {
  const { head, key, copy } = found
  const upload = await checkUpload(team, found.record, found.app)
  if (upload.state === 'completed') {
    if (found.file === null) throw uploadNotFound() // The file was deleted.
    const file = { key: upload.file, record: decodeFile(found.file) }
    return { result: { file, ended: null }, commit: null }
  }
  const received = upload.state === 'received' ? upload.received : copy
  if (received === null)
    throw new StoreError(
      'UPLOAD_INCOMPLETE',
      'No bytes were received yet; PUT them to the upload location first',
    )
  const checks = [{ key, equals: found.record }]
  const refusal = await refusalOfFile(team, head, received.bytes)
  if (refusal !== null) {
    return { result: { file: null, refusal, ended: upload }, commit: { checks, deletes: [key] } }
  }
  const { options } = team
  const file = options.random.bytes(FILE_KEY_BYTES)
  const { contentType, fileName } = upload
  const record = { ...received, contentType, fileName, completedAt: await options.clock.stampMs() }
  const next = encodeUpload({ ...upload, state: 'completed', received, file })
  return {
    result: { file: { key: file, record }, ended: upload },
    objects: copy !== null && received === copy ? [copy.object] : [],
    commit: {
      checks: [...checks, { key: fileKey(file), equals: null }],
      puts: [[key, next], ...putsOfFile(head, file, record)],
    },
  }
}

/**
 * Copies the object that a client put at a presigned URL: this object has no digest, and can change while the URL is
 * valid. null: nothing was put yet, or the upload has no presigned URL.
 */
async function copyPresigned(
  context: TeamContext,
  upload: UploadRecord,
  claim: Claim,
): Promise<StoredContent | null> {
  const { presigned, bytesMax, contentLength } = upload
  if (presigned === null || upload.state !== 'created') return null
  const content = await context.objects.stream(presigned)
  if (content === null) return null
  try {
    const rules = { bytesMax, contentLength, claim }
    return await context.transferLimit.run(context.teamId, () =>
      storeContent(context, content, rules),
    )
  } catch (failure) {
    if (isStoreError(failure) && BROKEN_RULES.has(failure.code)) {
      await deleteEarly(context, [presigned]) // Then the client may PUT another object.
    }
    throw failure
  }
}

const BROKEN_RULES: ReadonlySet<string> = new Set(['FILE_TOO_LARGE', 'CONTENT_LENGTH_MISMATCH'])

/** @throws {StoreError} UPLOAD_NOT_FOUND, also for an expired upload; APP_NOT_ALLOWED */
async function checkUpload(
  { options }: StoreContext,
  record: Bytes | null,
  app: string,
): Promise<UploadRecord> {
  if (record === null) throw uploadNotFound()
  const upload = decodeUpload(record)
  const isOver = (await options.clock.lifetimeMs()) >= endOfUpload(options, upload)
  if (upload.state !== 'completed' && isOver) throw uploadNotFound()
  if (upload.app !== app)
    throw new StoreError('APP_NOT_ALLOWED', 'The upload belongs to another app')
  return upload
}

/** @throws {StoreError} UPLOAD_NOT_FOUND, also for an upload of another team. */
export function parseOwnUpload(uploadId: string, alias: Bytes | null): FileName {
  const name = parseUploadId(uploadId)
  if (name !== null && alias !== null && sameBytes(name.alias, alias)) return name
  throw uploadNotFound()
}

function uploadNotFound(): StoreError {
  return new StoreError('UPLOAD_NOT_FOUND', 'Upload not found, or expired')
}
