// Checks logs: each entry is readable, and belongs to a version that its table has had.
import { type TableKey, tableHeadKey, tableOfKey } from '../../format/keys.js'
import { decodeLogEntry, LOG_RANGE, logRange, versionOfLogKey } from '../../format/log-records.js'
import { decodeTableHead } from '../../format/records.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { VerifyPlace } from '../types/verify-types.js'
import { type Findings, toReadProblem } from './verify-findings.js'

export async function verifyLogs(
  findings: Findings,
  partition: KvPartition,
  team: string,
): Promise<void> {
  await partition.read(async (view) => {
    let { start } = LOG_RANGE
    for (;;) {
      findings.checkGoesOn()
      const scan = { start, limit: LOG_RANGE.limit, count: 1, keysOnly: true }
      const [first] = await view.scan(scan)
      if (first === undefined) return
      const table = tableOfKey(first[0])
      await verifyLog(findings, view, table, { team, table: renderTableId(table) })
      start = logRange(table, 0).limit
    }
  })
}

async function verifyLog(
  findings: Findings,
  view: KvView,
  table: TableKey,
  where: VerifyPlace,
): Promise<void> {
  const head = await view.get(tableHeadKey(table))
  if (head === null) return // An earlier version of this package left the log; garbage collection deletes it.
  const { version: latest } = decodeTableHead(head)
  for await (const entries of scanBatches(view, logRange(table, 0))) {
    findings.checkGoesOn()
    for (const [key, entry] of entries) {
      const version = versionOfLogKey(key)
      try {
        decodeLogEntry(entry)
      } catch (failure) {
        findings.add(toReadProblem(failure, 'record'), where)
      }
      if (version <= latest) continue
      const message = `The log has an entry of version ${version}, but the table has only version ${latest}`
      findings.add({ kind: 'record-mismatch', message }, where)
    }
  }
}
