// The history of tables: the rows that each commit changed, and earlier states of rows. FORMAT.md sections 3 and 4.
import { type Bytes, concatBytes } from '../base/bytes.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { KEY_SPACE, type Position, type TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'
import { type Generation, readGeneration, writeGeneration } from './records.js'

/** Consecutive rows of one extent. */
export type SlotRun = Readonly<{ extent: number; slot: number; count: number }>

/** The changes of a table in one commit. The rows that it added follow from the generations before and after. */
export type ChangeRecord = Readonly<{
  /** When it was committed, in milliseconds since 1970 UTC. */
  at: number
  /** Every version after `since`, up to the version of this record, has a change record. */
  since: number
  /** The generation before the commit. */
  before: Generation
  changed: readonly SlotRun[]
  /** Removed rows: rows of earlier commits, and rows that this commit itself added. */
  removed: readonly SlotRun[]
}>

export const CHANGES_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.change))
export const ROWS_BEFORE_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.rowBefore))

/** The key of the record that says up to which version the history of a table was deleted. */
export function historyKey(table: TableKey): Bytes {
  return new ByteWriter(17).u8(KEY_SPACE.change).bytes(table).finish()
}

export function changeKey(table: TableKey, version: number): Bytes {
  return new ByteWriter(25).u8(KEY_SPACE.change).bytes(table).u64(version).finish()
}

/** The version in the key of a change; null: the key of a history. */
export function versionOfChangeKey(key: Bytes): number | null {
  if (key.length === 17) return null
  const reader = new ByteReader(key.subarray(17), 'change key')
  const version = reader.u64()
  reader.end()
  return version
}

/** The changes of a table that made versions from `from` on. */
export function changesRange(table: TableKey, from: number): KeyRange {
  return { start: changeKey(table, from), limit: prefixRange(historyKey(table)).limit }
}

/** The key of a row's state before a version. */
export function rowBeforeKey(table: TableKey, { extent, slot }: Position, version: number): Bytes {
  const writer = new ByteWriter(33).u8(KEY_SPACE.rowBefore).bytes(table)
  return writer.u48(extent).u16(slot).u64(version).finish()
}

export function decodeRowBeforeKey(key: Bytes): Readonly<{ position: Position; version: number }> {
  const reader = new ByteReader(key, 'key of a row before a change')
  reader.bytes(17)
  const position = { extent: reader.u48(), slot: reader.u16() }
  const version = reader.u64()
  reader.end()
  return { position, version }
}

/** Earlier states of the rows from one position to another (exclusive). */
export function rowsBeforeRange(table: TableKey, from: Position, limit: Position): KeyRange {
  return { start: rowBeforeKey(table, from, 0), limit: rowBeforeKey(table, limit, 0) }
}

/** @param since - The version up to which changes may have been deleted. */
export function encodeHistory(since: number): Bytes {
  return newRecord(9).u64(since).finish()
}

export function decodeHistory(bytes: Bytes): number {
  const reader = openRecord(bytes, 'history')
  const since = reader.u64()
  reader.end()
  return since
}

export function encodeChange({ at, since, before, changed, removed }: ChangeRecord): Bytes {
  const writer = newRecord(128).u48(at).u64(since)
  writeGeneration(writer, before)
  for (const runs of [changed, removed]) {
    writer.u32(runs.length)
    for (const { extent, slot, count } of runs) writer.u48(extent).u16(slot).u32(count)
  }
  return writer.finish()
}

/** The time and the `since` of a change. */
export function decodeChangeStart(bytes: Bytes): Pick<ChangeRecord, 'at' | 'since'> {
  const reader = openRecord(bytes, 'change')
  return { at: reader.u48(), since: reader.u64() }
}

export function decodeChange(bytes: Bytes): ChangeRecord {
  const reader = openRecord(bytes, 'change')
  const start = { at: reader.u48(), since: reader.u64() }
  const before = readGeneration(reader)
  const changed = readRuns(reader)
  const removed = readRuns(reader)
  reader.end()
  return { ...start, before, changed, removed }
}

function readRuns(reader: ByteReader): SlotRun[] {
  const runs: SlotRun[] = []
  for (let left = reader.u32(); left > 0; left--) {
    runs.push({ extent: reader.u48(), slot: reader.u16(), count: reader.u32() })
  }
  return runs
}

/** Joins ascending positions into runs. */
export function runsOfPositions(positions: readonly Position[]): SlotRun[] {
  const runs: { extent: number; slot: number; count: number }[] = []
  for (const { extent, slot } of positions) {
    const last = runs[runs.length - 1]
    if (last !== undefined && last.extent === extent && last.slot + last.count === slot) {
      last.count++
    } else runs.push({ extent, slot, count: 1 })
  }
  return runs
}

/** The positions of runs. */
export function* positionsOf(runs: readonly SlotRun[]): Generator<Position, void> {
  for (const { extent, slot, count } of runs) {
    for (let i = 0; i < count; i++) yield { extent, slot: slot + i }
  }
}

/** The records of a table in a key space. @param space - The first byte of the key space. */
export function tableRange(space: Bytes, table: TableKey): KeyRange {
  return prefixRange(concatBytes([space, table]))
}
