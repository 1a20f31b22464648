// The version byte at the beginning of every control record. FORMAT.md, section 4.
import type { Bytes } from '../base/bytes.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'

/** The version byte of records. Other numbers are rejected, except for record types that define them. */
export const RECORD_VERSION = 1

/** @param capacity - Approximate size of the record in bytes. */
export function newRecord(capacity: number): ByteWriter {
  return new ByteWriter(capacity).u8(RECORD_VERSION)
}

/**
 * @param what - Name of the record in errors.
 * @throws {StoreError} DATA_CORRUPT
 */
export function openRecord(bytes: Bytes, what: string): ByteReader {
  const reader = new ByteReader(bytes, what)
  reader.recordVersion()
  return reader
}
