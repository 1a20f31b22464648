import type { WriterJob } from './writer-job.js'

export type FullDiskCase = Readonly<{
  /** `disk`: bytes that stay free; `file`: maximum size of a file. */
  limit: 'disk' | 'file'
  bytes: number
  job: Partial<WriterJob>
}>

export type FullDiskJob = Readonly<{ folder: string; cases: readonly FullDiskCase[] }>

export type FullDiskResult = Readonly<{
  /** Operations that failed while there was no space. */
  failures: number
  acknowledged: number
  /** From the moment when there was space until every lane had a change accepted. */
  recoveryMs: number
  wrong: readonly string[]
}>

export type PlainFullDiskCase = Readonly<{
  /** Bytes that stay free. */
  bytes: number
  valueBytes: number
}>

export type PlainFullDiskJob = Readonly<{ folder: string; cases: readonly PlainFullDiskCase[] }>

export type PlainFullDiskResult = Readonly<{
  /** Whether a write failed for lack of space. */
  failed: boolean
  /** Writes that were acknowledged with sync after there was space. */
  acknowledgedAfter: number
  /** Acknowledged writes that are missing after the next open. */
  lost: number
}>
