// The records of a job: its request and result, its lease, and the row IDs that it made. FORMAT.md section 4.
import type { Bytes } from '../base/bytes.js'
import type { ByteReader } from './byte-reader.js'
import type { TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

export type JobKind = 'create' | 'overwrite' | 'import'

/** The state of a job. */
export type JobState =
  | Readonly<{
      name: 'running'
      /** The request, as JSON. */
      request: string
    }>
  | Readonly<{ name: 'succeeded'; endedAt: number; version: number; parts: number }>
  | Readonly<{
      name: 'failed'
      endedAt: number
      /** The failure, as JSON. */
      error: string
    }>

export type JobRecord = Readonly<{
  kind: JobKind
  createdAt: number
  /** The table that the job creates or changes. */
  table: TableKey
  /** The caller's note. */
  note: string
  state: JobState
}>

/** The holder of a job. The bytes of a lease never recur: epochs grow, and `beat` grows within an epoch. */
export type JobLease = Readonly<{
  /** The 16 random bytes of an opening of a store; all zero: the lease was returned. */
  owner: Bytes
  /** A number that grows by one with each owner. */
  epoch: number
  /** When the owner will consider the lease lost, by its own clock. For people: no process compares it. */
  until: number
  /** A number that grows by one with each renewal. */
  beat: number
  /** Number of rows, and of bytes, read so far. */
  rows: number
  bytes: number
}>

/** Consecutive row IDs. */
export type ResultRun = Readonly<{ nonce: Bytes; extent: number; firstSlot: number; count: number }>

/** The numbers of kinds of jobs. Written to disk: never change or reuse a number. */
const JOB_KIND = Object.freeze({ create: 1, overwrite: 2, import: 3 })
const JOB_STATE = Object.freeze({ running: 0, succeeded: 1, failed: 2 })

export const OWNER_BYTES = 16
const RUN_BYTES = 20

/** The maximum number of runs in one record of a result: a million rows with preserved IDs may be a million runs. */
export const RESULT_RUNS_MAX = 50_000

export function encodeJob({ kind, createdAt, table, note, state }: JobRecord): Bytes {
  const writer = newRecord(64).u8(JOB_KIND[kind]).u8(JOB_STATE[state.name])
  writer.u48(createdAt).bytes(table).text(note)
  if (state.name === 'running') return writer.text(state.request).finish()
  writer.u48(state.endedAt)
  if (state.name === 'failed') return writer.text(state.error).finish()
  return writer.u64(state.version).u32(state.parts).finish()
}

export function decodeJob(bytes: Bytes): JobRecord {
  const reader = openRecord(bytes, 'job')
  const kind = readKind(reader)
  const stateNumber = reader.u8()
  const [createdAt, table, note] = [reader.u48(), reader.bytes(16), reader.text()]
  const state = readJobState(reader, stateNumber)
  reader.end()
  return { kind, createdAt, table, note, state }
}

function readKind(reader: ByteReader): JobKind {
  const number = reader.u8()
  if (number === JOB_KIND.create) return 'create'
  if (number === JOB_KIND.overwrite) return 'overwrite'
  if (number === JOB_KIND.import) return 'import'
  throw reader.corrupt(`its kind is ${number}`)
}

function readJobState(reader: ByteReader, number: number): JobState {
  switch (number) {
    case JOB_STATE.running:
      return { name: 'running', request: reader.text() }
    case JOB_STATE.succeeded:
      return {
        name: 'succeeded',
        endedAt: reader.u48(),
        version: reader.u64(),
        parts: reader.u32(),
      }
    case JOB_STATE.failed:
      return { name: 'failed', endedAt: reader.u48(), error: reader.text() }
    default:
      throw reader.corrupt(`its state is ${number}`)
  }
}

export function encodeLease({ owner, epoch, until, beat, rows, bytes }: JobLease): Bytes {
  const writer = newRecord(64).bytes(owner).u48(epoch).u48(until)
  return writer.u48(beat).u48(rows).u48(bytes).finish()
}

export function decodeLease(bytes: Bytes): JobLease {
  const reader = openRecord(bytes, 'job lease')
  const lease = {
    owner: reader.bytes(OWNER_BYTES),
    epoch: reader.u48(),
    until: reader.u48(),
    beat: reader.u48(),
    rows: reader.u48(),
    bytes: reader.u48(),
  }
  reader.end()
  return lease
}

export function encodeResult(runs: readonly ResultRun[]): Bytes {
  const writer = newRecord(8 + RUN_BYTES * runs.length)
  for (const { nonce, extent, firstSlot, count } of runs) {
    writer.bytes(nonce).u48(extent).u16(firstSlot).u32(count)
  }
  return writer.finish()
}

export function decodeResult(bytes: Bytes): ResultRun[] {
  const reader = openRecord(bytes, 'job result')
  const runs: ResultRun[] = []
  while (reader.left > 0) {
    const [nonce, extent] = [reader.bytes(8), reader.u48()]
    runs.push({ nonce, extent, firstSlot: reader.u16(), count: reader.u32() })
  }
  return runs
}
