// Operations on uploads: created, put, completed, with every way to do it wrong.
import type { StoredFile, UploadTicket } from '../../../src/index.js'
import type { UploadRequest } from '../../../src/ports.js'
import { putTo } from '../../conformance/store/upload-request.js'
import { expectEqual, Mismatch, type Outcome, show } from '../model/operation.js'
import { CONTENT_BYTES, newContent } from './file-operations.js'
import {
  check,
  codeOf,
  expectCode,
  expectContent,
  expectDone,
  fileOf,
  type Operation,
  outcomeOf,
  type Place,
} from './operation.js'
import { type ModelUpload, type Oracle, placeOfFile } from './oracle.js'
import { keyOfId, readRaw } from './raw-state.js'
import { FILE_BYTES_MAX, piecesOf, UNWELCOME_BYTES, type World } from './world.js'

const CONTENT_TYPE = 'text/plain'

export function createUpload(
  oracle: Oracle,
  { hasLength, app }: Readonly<{ hasLength: boolean; app: string | null }>,
): Operation {
  const contentLength = hasLength ? CONTENT_BYTES : null
  const nothing = { received: [null], receivedAt: [null] }
  const base = { contentType: CONTENT_TYPE, contentLength, app, file: null, ...nothing }
  return {
    text: `create an upload ${app ?? ''}${hasLength ? ' of known length' : ''}`,
    places: [],
    readsRows: false,
    refused: 'nothing',
    run: (world, instance) =>
      world.team(instance).files.createUpload({
        fileName: `u${oracle.nextNumber()}.txt`,
        contentType: CONTENT_TYPE,
        ...(contentLength !== null && { contentLength }),
        ...(app !== null && { appId: app }),
      }),
    settle(outcome, { now }) {
      const { uploadId, target, expiresAt } = expectDone(outcome) as UploadTicket
      const times = { createdAt: now, expiresAt }
      oracle.uploads.push({ ...base, uploadId, target, ...times, record: 'there' })
    },
    async recover(world, _, { now }) {
      const known = new Set(oracle.uploads.map(({ uploadId }) => keyOfId(uploadId)))
      const [key] = (await readRaw(world)).uploads.filter((one) => !known.has(one))
      if (key === undefined) return
      const name = Buffer.concat([Buffer.alloc(8), Buffer.from(key, 'hex')]).toString('base64url')
      const times = { createdAt: now, expiresAt: now }
      oracle.uploads.push({
        ...base,
        uploadId: `rsu-${name}`,
        target: null,
        ...times,
        record: 'there',
      })
    },
  }
}

export type ReceiveFault =
  | 'none'
  | 'unannounced'
  | 'short'
  | 'long'
  | 'type'
  | 'broken'
  | 'tampered'
  | 'large'
  | 'unwelcome'

const SIZES: Partial<Record<ReceiveFault, number>> = {
  large: FILE_BYTES_MAX + 1,
  unwelcome: UNWELCOME_BYTES,
}

const ENDED: Parameters<typeof expectCode>[1][] = ['UPLOAD_EXPIRED', 'UPLOAD_SIGNATURE_INVALID']

/** The codes with which a PUT may fail; none: it must succeed. */
function refusalsOfReceive(
  oracle: Oracle,
  upload: ModelUpload,
  fault: ReceiveFault,
  now: number,
): Parameters<typeof expectCode>[1][] {
  if (fault === 'tampered' || upload.record === 'gone') return ['UPLOAD_SIGNATURE_INVALID']
  if (now >= upload.expiresAt) {
    // Old signing keys are forgotten.
    const isYoung = now - upload.createdAt < 30 * 24 * 3_600_000 && upload.record === 'there'
    return isYoung ? ['UPLOAD_EXPIRED'] : ['UPLOAD_EXPIRED', 'UPLOAD_SIGNATURE_INVALID']
  }
  if (upload.file !== null) return ['UPLOAD_ALREADY_COMPLETED']
  if (oracle.endsOfUpload(upload).every((end) => now >= end)) return ENDED
  if (fault === 'type') return ['CONTENT_TYPE_MISMATCH']
  const isOtherLength = upload.contentLength !== null && fault in SIZES
  if (fault === 'short' || fault === 'long' || isOtherLength) return ['CONTENT_LENGTH_MISMATCH']
  if (fault === 'large') return ['FILE_TOO_LARGE']
  return fault === 'broken' ? ['ABORTED'] : []
}

export function receive(oracle: Oracle, upload: ModelUpload, fault: ReceiveFault): Operation {
  const content = newContent(oracle, SIZES[fault] ?? CONTENT_BYTES)
  return {
    text: `put ${content} to the upload ${upload.uploadId}, ${fault}`,
    places: [`upload ${upload.uploadId}`],
    readsRows: false,
    refused: 'nothing',
    run: (world, instance) => world.store(instance).files.receive(putOf(upload, fault, content)),
    settle(outcome, { now }) {
      const refusals = refusalsOfReceive(oracle, upload, fault, now)
      const mayBeOver = oracle.endsOfUpload(upload).some((end) => now >= end)
      if (mayBeOver && 'failure' in outcome) return void expectCode(outcome, ...refusals, ...ENDED)
      if (refusals.length > 0) return void expectCode(outcome, ...refusals)
      expectDone(outcome)
      Object.assign(upload, { received: [content], receivedAt: [now], record: 'there' })
    },
    async recover(_world, _instance, { now }) {
      if (refusalsOfReceive(oracle, upload, fault, now).length > 0) return
      upload.received = [...upload.received, content]
      upload.receivedAt = [...upload.receivedAt, now]
    },
  }
}

function putOf(upload: ModelUpload, fault: ReceiveFault, content: string): UploadRequest {
  const target = upload.target ?? ''
  const more = { short: -1, long: 1 }[fault as string] ?? 0
  const isUnannounced = fault === 'unannounced'
  return putTo(fault === 'tampered' ? target.replace('expires=', 'expires=1') : target, [], {
    contentType: fault === 'type' ? 'image/png' : CONTENT_TYPE,
    contentLength: isUnannounced ? undefined : content.length + more,
    body: piecesOf(content, fault === 'broken' ? new Error('The connection ended') : undefined),
  })
}

export function complete(upload: ModelUpload, app: string | null): Operation {
  const run = (world: World, instance: number): Promise<StoredFile> =>
    world.team(instance).files.completeUpload(upload.uploadId, app === null ? {} : { appId: app })
  return {
    text: `complete the upload ${upload.uploadId} ${app ?? ''}`,
    places: [
      `upload ${upload.uploadId}`,
      ...(upload.file === null ? [] : [placeOfFile(upload.file.id)]),
    ],
    readsRows: false,
    refused: upload.received.some((content) => content?.length === UNWELCOME_BYTES)
      ? 'never'
      : 'nothing',
    run,
    settle: (outcome, place) => settleComplete(upload, app, outcome, place),
    async recover(world, instance, place) {
      const isUnwelcome = upload.received.some((content) => content?.length === UNWELCOME_BYTES)
      const outcome = await outcomeOf(() => run(world, instance))
      if (isUnwelcome && codeOf(outcome) === 'UPLOAD_NOT_FOUND') upload.record = 'gone'
      else settleComplete(upload, app, outcome, place)
    },
  }
}

function settleComplete(
  upload: ModelUpload,
  app: string | null,
  outcome: Outcome,
  place: Place,
): void {
  const { oracle, now } = place
  const late = upload.file === null ? oracle.endsOfUpload(upload).map((end) => now >= end) : []
  const isLate = late.length > 0 && !late.includes(false)
  if (upload.record === 'gone' || isLate) return void expectCode(outcome, 'UPLOAD_NOT_FOUND')
  const mayBeGone = upload.record === 'maybe' || late.includes(true)
  if (mayBeGone && codeOf(outcome) === 'UPLOAD_NOT_FOUND') return
  if (upload.app !== app) return void expectCode(outcome, 'APP_NOT_ALLOWED')
  if (upload.file !== null) settleRepeat(upload.file, outcome, place)
  else settleFirst(upload, outcome, oracle)
}

function settleRepeat(
  first: StoredFile,
  outcome: Outcome,
  { oracle, now, isMaintained: isSwept }: Place,
): void {
  const file = oracle.files.get(first.id)
  const isNotFound = codeOf(outcome) === 'UPLOAD_NOT_FOUND'
  if (file !== undefined && isSwept && oracle.isOld(file, now) && isNotFound) return
  if (file === undefined) return void expectCode(outcome, 'UPLOAD_NOT_FOUND')
  expectEqual('the file of a repeated completion', expectDone(outcome), first)
}

function settleFirst(upload: ModelUpload, outcome: Outcome, oracle: Oracle): void {
  const contents = upload.received.filter((content) => content !== null)
  const unwelcome = contents.filter(({ length }) => length === UNWELCOME_BYTES)
  const code = codeOf(outcome)
  if (code === 'UPLOAD_INCOMPLETE' && upload.received.includes(null)) {
    Object.assign(upload, { received: [null], receivedAt: [null] })
  } else if (code === 'PAYMENT_REQUIRED' && unwelcome.length > 0) {
    upload.record = 'gone'
  } else {
    check(contents.length > 0, () => `an upload without bytes gave ${show(outcome)}`)
    const stored = fileOf(outcome)
    const content = expectContent(
      stored,
      contents.filter((one) => !unwelcome.includes(one)),
    )
    check(!oracle.files.has(stored.id), () => `${stored.id} must be a new file`)
    upload.file = stored
    upload.received = [content]
    oracle.addFile(stored, content)
  }
}

/** Concurrent PUTs and completions of one upload: some order of them must explain the answers. */
export function settleUploadRace(
  oracle: Oracle,
  upload: ModelUpload,
  receives: readonly Readonly<{ content: string; outcome: Outcome }>[],
  completes: readonly Outcome[],
  now: number,
): void {
  const stored = completes.flatMap((outcome) => ('value' in outcome ? [fileOf(outcome)] : []))
  const [file] = stored
  const taken = receives.filter(({ outcome }) => 'value' in outcome)
  for (const { outcome } of receives) {
    if ('value' in outcome) continue
    const code = expectCode(outcome, 'UPLOAD_ALREADY_COMPLETED', 'UPLOAD_SUPERSEDED')
    const isSuperseded = code === 'UPLOAD_SUPERSEDED' && receives.length > 1
    check(isSuperseded || file !== undefined, () => 'only a completed upload refuses bytes')
  }
  for (const outcome of completes) {
    if ('value' in outcome) expectEqual('the file of one upload', outcome.value, file)
    else expectCode(outcome, 'UPLOAD_INCOMPLETE')
  }
  const before = upload.received
  const isEarly = completes.some((outcome) => 'failure' in outcome)
  if (isEarly && !before.includes(null)) throw new Mismatch('the bytes were there before')
  const contents = [...before.filter((one) => one !== null), ...taken.map(({ content }) => content)]
  if (file === undefined) {
    if (taken.length === 0) return
    upload.received = taken.map(({ content }) => content)
    upload.receivedAt = taken.map(() => now)
    return
  }
  upload.file = file
  upload.received = [expectContent(file, contents)]
  oracle.addFile(file, upload.received[0] ?? '')
}

export function putInRace(upload: ModelUpload, content: string): UploadRequest {
  return putOf(upload, 'none', content)
}
