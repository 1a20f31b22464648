// Receipts: each that a table lists is there, and no other.
import { sameBytes, toHex } from '../../base/bytes.js'
import { deadTableKey } from '../../format/dead-table.js'
import {
  RECEIPTS_RANGE,
  receiptKey,
  receiptListKey,
  receiptsRange,
  type TableKey,
  tableHeadKey,
  tableOfKey,
} from '../../format/keys.js'
import { decodeReceipt, decodeReceiptList, RECEIPTS_MAX } from '../../format/receipt-records.js'
import { decodeTableHead } from '../../format/records.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import type { Findings } from './verify-findings.js'

export async function verifyReceipts(
  findings: Findings,
  partition: KvPartition,
  team: string,
): Promise<void> {
  await partition.read(async (view) => {
    let { start } = RECEIPTS_RANGE
    for (;;) {
      findings.checkGoesOn()
      const [first] = await view.scan({ start, limit: RECEIPTS_RANGE.limit, count: 1 })
      if (first === undefined) return
      const table = tableOfKey(first[0])
      await verifyReceiptsOf(findings, view, team, table)
      start = receiptsRange(table).limit
    }
  })
}

/** A table has few receipts: all are read at once. */
async function verifyReceiptsOf(
  findings: Findings,
  view: KvView,
  team: string,
  table: TableKey,
): Promise<void> {
  const where = { team, table: renderTableId(table) }
  const headBytes = await view.get(tableHeadKey(table))
  if (headBytes === null) {
    if ((await view.get(deadTableKey(table))) !== null) return
    const message = 'Receipts remain of a table that does not exist'
    return findings.add({ kind: 'orphan-record', message }, where)
  }
  const { version: latest } = decodeTableHead(headBytes)
  const listBytes = await view.get(receiptListKey(table))
  const listed = listBytes === null ? [] : decodeReceiptList(listBytes)
  const keys = listed.map(({ version }) => receiptKey(table, version))
  for (const [i, { version }] of listed.entries()) {
    const key = keys[i]
    const bytes = key === undefined ? null : await view.get(key)
    if (bytes === null) {
      const message = `The receipt of version ${version} is listed, but missing`
      findings.add({ kind: 'record-missing', message }, where)
      continue
    }
    const { versionBefore } = decodeReceipt(bytes)
    if (version > latest || versionBefore !== version - 1) {
      const message = `The receipt of version ${version} contradicts the table, which has version ${latest}`
      findings.add({ kind: 'record-mismatch', message }, where)
    }
  }
  const found = await view.scan({ ...receiptsRange(table), count: RECEIPTS_MAX + 2 })
  for (const [key] of found) {
    if (key.length === 17 || keys.some((known) => sameBytes(known, key))) continue
    const message = `A receipt is not listed: ${toHex(key)}`
    findings.add({ kind: 'orphan-record', message }, where)
  }
}
