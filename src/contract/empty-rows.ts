// Decides whether a body of rows is empty; reads at most the first row.
import { utf8 } from '../base/bytes.js'
import { isStoreError } from '../base/store-error.js'
import type { Stash, TextRows } from '../engine/api/row-types.js'
import { openCsv } from '../schema/scan-csv.js'
import { decodeJsonText, scanJsonRows } from '../schema/scan-json.js'
import type { ScannedRow } from '../schema/scanned-row.js'
import { COLUMNS_MAX } from './body-members.js'

/** Whether a body is an empty array or only a header line. Malformed bodies are left to the store. */
export function isWithoutRows(rows: TextRows | Stash): boolean {
  try {
    return openRows(rows)?.next().done === true
  } catch (failure) {
    if (isStoreError(failure)) return false
    throw failure
  }
}

/** The limits of this scan: no store has more columns, and the store applies its own later. */
const WIDE_LIMITS = Object.freeze({
  columnsMax: COLUMNS_MAX,
  rowCharsMax: Number.MAX_SAFE_INTEGER,
})

function openRows(rows: TextRows | Stash): Iterator<ScannedRow> | undefined {
  if ('json' in rows) {
    const { json } = rows
    return scanJsonRows(typeof json === 'string' ? json : decodeJsonText(json), WIDE_LIMITS)
  }
  if ('csv' in rows) return openCsv(bytesOf(rows.csv), { delimiter: ',' }, WIDE_LIMITS).rows
  if ('tsv' in rows) return openCsv(bytesOf(rows.tsv), { delimiter: '\t' }, WIDE_LIMITS).rows
  return undefined
}

function bytesOf(text: Uint8Array | string): Uint8Array {
  return typeof text === 'string' ? utf8(text) : text
}
