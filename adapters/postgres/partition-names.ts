// The names of a partition in the database and in checksums.
import { type Bytes, bytesOf, concatBytes, utf8 } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { byteText } from '../../src/base/platform.js'
import { encodePartitionPrefix, openValue } from '../../src/kv/record-envelope.js'
import type { Cell } from './connection/postgres-connection.js'
import type { RecordCache } from './record-cache.js'

export type PartitionNames = Readonly<{
  /** The column `p`. */
  bytes: Bytes
  /** The prefix that checksums cover before the key, as in LevelDB. */
  prefix: Bytes
  /** The prefix as text, to begin the key of a Map. */
  text: string
}>

export function partitionNames(name: string): PartitionNames {
  const prefix = encodePartitionPrefix(name)
  return { bytes: utf8(name), prefix, text: byteText(prefix) }
}

/** The payload of a stored value. @throws {StoreError} DATA_CORRUPT */
export function openCell(
  { prefix, text }: PartitionNames,
  key: Bytes,
  value: Cell | undefined,
  cache: RecordCache,
): Bytes {
  const payload = openValue(concatBytes([prefix, key]), bytesOfCell(value))
  return cache.same(text + byteText(key), payload)
}

export function bytesOfCell(cell: Cell | undefined): Bytes {
  const bytes = bytesOf(cell)
  invariant(bytes !== undefined, 'a column of type bytea comes as bytes')
  return bytes
}
