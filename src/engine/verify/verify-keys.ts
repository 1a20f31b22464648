// Checks the key of a table: no two rows have the same key, and the index leads to every row.
import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import {
  decodeKeyBucket,
  decodeKeyEntry,
  hashOfEntryKey,
  rangesOfIndex,
} from '../../format/key-index.js'
import { type Position, type TableKey, tableHeadKey } from '../../format/keys.js'
import { decodeTableHead, type Generation, type TableHead } from '../../format/records.js'
import { renderTableId } from '../../format/table-id.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { SegmentPuts } from '../context/segment-puts.js'
import type { TablePlace } from '../context/store-context.js'
import { resolveKeyColumns } from '../keys/key-columns.js'
import { readKeyIndex } from '../keys/key-index.js'
import type { KeyedRows } from '../keys/keyed-rows.js'
import { KEYED_ROWS_MAX } from '../keys/keyed-rows-max.js'
import { keysOfTable } from '../keys/table-keys.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import type { VerifyContext } from './verify-extents.js'

/** Maximum number of attempts to check a table that changes meanwhile. After that the key is not checked. */
const TRIES_MAX = 3

/** Approximate number of rows that a pass checks: those whose hashes are in one part of all hashes. */
const ROWS_OF_A_PASS = KEYED_ROWS_MAX / 2

/** Checks the key of a table. Does nothing if the table has no key. */
export async function verifyKeys(
  verifying: VerifyContext,
  table: TableKey,
  where: VerifyPlace,
): Promise<void> {
  const { findings } = verifying
  await findings.step(where, async () => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = await readTableHead(verifying, table)
      const keyIndex = before?.generation.keyIndex ?? null
      if (before === null || keyIndex === null) return
      const found = findKeyProblems(verifying, table, before.generation, keyIndex)
      // If the table changes, records may be gone before they are read.
      const [ended] = await Promise.allSettled([found])
      const after = await readTableHead(verifying, table)
      if (after === null || !sameBytes(after.commitNonce, before.commitNonce)) continue
      if (ended.status === 'rejected') throw ended.reason
      findings.addAll(ended.value, where)
      return
    }
  })
}

async function readTableHead(
  { partition }: VerifyContext,
  table: TableKey,
): Promise<TableHead | null> {
  const bytes = await partition.read((view) => view.get(tableHeadKey(table)))
  return bytes === null ? null : decodeTableHead(bytes)
}

async function findKeyProblems(
  { context, findings, partition, teamId }: VerifyContext,
  table: TableKey,
  generation: Generation,
  keyIndex: Bytes,
): Promise<readonly Problem[]> {
  const columns = await partition.read(async (view) => {
    const read = (key: Bytes) => view.get(key)
    const { record } = await readKeyIndex(table, keyIndex, read)
    const schema = await context.schemas.get(table, generation.schemaNumber, read)
    return resolveKeyColumns(record.columns, schema.columns)
  })
  const segmentPuts = new SegmentPuts(context)
  const team = { ...context, teamId, partition, segmentPuts, ensureTeam: async () => undefined }
  const place: TablePlace = { team, table, tableId: renderTableId(table) }
  const passes = Math.ceil(Math.max(1, generation.liveRows) / ROWS_OF_A_PASS)
  const problems: Problem[] = []
  for (let pass = 0; pass < passes; pass++) {
    findings.checkGoesOn()
    const isOfPass = (hash: Bytes): boolean => {
      return (((hash[0] ?? 0) << 8) | (hash[1] ?? 0)) % passes === pass
    }
    const keys = await keysOfTable(place, generation, columns, { wants: isOfPass })
    if (keys === null) return problems
    const twice = await team.slices.begin().run(keys.firstTwice())
    if (twice >= 0) {
      const [one, other] = [keys.positionAt(twice - 1), keys.positionAt(twice)]
      const message = `Rows at ${shownPosition(one)} and ${shownPosition(other)} have the same key`
      problems.push({ kind: 'record-mismatch', message })
    }
    const missing = await missingIn(partition, { table, index: keyIndex }, keys)
    if (missing !== null) {
      const message = `The key index does not lead to the row at ${shownPosition(missing)}`
      problems.push({ kind: 'record-missing', message })
    }
  }
  return problems
}

function shownPosition({ extent, slot }: Position): string {
  return `slot ${slot} of extent ${extent}`
}

/** The position of a row to which no entry of the index leads; null: there is none. */
async function missingIn(
  partition: VerifyContext['partition'],
  place: Readonly<{ table: TableKey; index: Bytes }>,
  keys: KeyedRows,
): Promise<Position | null> {
  const found = new Uint8Array(keys.count)
  const note = (hash: Bytes, position: Position): void => {
    const at = keys.find(hash)
    if (at >= 0 && shownPosition(keys.positionAt(at)) === shownPosition(position)) found[at] = 1
  }
  const [entries, index] = rangesOfIndex(place)
  await partition.read(async (view) => {
    if (entries === undefined || index === undefined) return
    for await (const batch of scanBatches(view, entries)) {
      for (const [key, record] of batch) note(hashOfEntryKey(key), decodeKeyEntry(record))
    }
    const head = toHex(index.start)
    for await (const batch of scanBatches(view, index)) {
      for (const [key, record] of batch) {
        if (toHex(key) === head) continue
        const { hashes, positions } = decodeKeyBucket(record)
        for (const [at, hash] of hashes.entries())
          note(hash, positions[at] ?? { extent: 0, slot: 0 })
      }
    }
  })
  const missing = found.indexOf(0)
  return missing < 0 ? null : keys.positionAt(missing)
}
