import type { WriterJob } from './writer-job.js'

export type FullDiskCase = Readonly<{
  /** `disk`: the bytes that stay free; `file`: the greatest size of a file. */
  limit: 'disk' | 'file'
  bytes: number
  job: Partial<WriterJob>
}>

export type FullDiskJob = Readonly<{ folder: string; cases: readonly FullDiskCase[] }>

export type FullDiskResult = Readonly<{
  /** Operations that failed while there was no space. */
  failures: number
  acknowledged: number
  /** From when there was space again until a change was taken in every lane. */
  recoveryMs: number
  wrong: readonly string[]
}>

export type PlainFullDiskCase = Readonly<{
  /** So many bytes stay free. */
  bytes: number
  valueBytes: number
}>

export type PlainFullDiskJob = Readonly<{ folder: string; cases: readonly PlainFullDiskCase[] }>

export type PlainFullDiskResult = Readonly<{
  /** Some write failed for want of space. */
  failed: boolean
  /** Writes that were acknowledged with sync when there was space again. */
  acknowledgedAfter: number
  /** Acknowledged writes that the next open does not show. */
  lost: number
}>
