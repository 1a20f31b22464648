// Checks the records of a store: lists its partitions, and verifies checksums.
import { type Bytes, concatBytes, fromUtf8, NO_BYTES } from '../../src/base/bytes.js'
import { isStoreError } from '../../src/base/store-error.js'
import { keyAfter } from '../../src/kv/key-range.js'
import type { KvCheckItem } from '../../src/kv/kv.js'
import { openValue } from '../../src/kv/record-envelope.js'
import { bytesOfCell, partitionNames } from './partition-names.js'
import type { ViewStatements, ViewTransaction } from './postgres-views.js'

const SCAN_COUNT = 1_000

/** A key above every key of a record. */
const LAST_KEY: Bytes = new Uint8Array(2_048).fill(0xff)

/** @param full - Check every record; otherwise only list the partitions. */
export async function* checkTables(
  transaction: ViewTransaction,
  statements: ViewStatements,
  full: boolean,
): AsyncGenerator<KvCheckItem, void> {
  let from: Bytes = NO_BYTES
  for (;;) {
    const [row] = await transaction.query(statements.nextPartition, [from])
    if (row === undefined) return
    const bytes = bytesOfCell(row[0])
    from = keyAfter(bytes)
    const partition = partitionName(bytes)
    if (partition === null) {
      yield { kind: 'unreadable', message: 'The name of a partition is not text' }
      continue
    }
    yield { kind: 'partition', partition }
    if (full) yield* checkPartition(transaction, statements, partition)
  }
}

async function* checkPartition(
  transaction: ViewTransaction,
  { scan }: ViewStatements,
  partition: string,
): AsyncGenerator<KvCheckItem, void> {
  const { bytes, prefix } = partitionNames(partition)
  let start: Bytes = NO_BYTES
  for (;;) {
    const rows = await transaction.query(scan, [bytes, start, LAST_KEY, SCAN_COUNT])
    for (const [cell, value] of rows) {
      const key = bytesOfCell(cell)
      start = keyAfter(key)
      const message = findDamage(concatBytes([prefix, key]), bytesOfCell(value))
      if (message !== null) yield { kind: 'record', message }
    }
    if (rows.length < SCAN_COUNT) return
  }
}

function partitionName(bytes: Bytes): string | null {
  try {
    return fromUtf8(bytes)
  } catch {
    return null // The bytes are not a name.
  }
}

function findDamage(key: Bytes, value: Bytes): string | null {
  try {
    openValue(key, value)
    return null
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    return failure.message
  }
}
