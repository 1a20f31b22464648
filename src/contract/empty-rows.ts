// Whether a body of rows has none, without reading more than the first.
import { utf8 } from '../base/bytes.js'
import { isStoreError } from '../base/store-error.js'
import type { Stash, TextRows } from '../engine/api/row-types.js'
import { openCsv } from '../schema/scan-csv.js'
import { decodeJsonText, scanJsonRows } from '../schema/scan-json.js'
import type { ScannedRow } from '../schema/scanned-row.js'

/** An empty array, or a header line alone. What is broken is left to the store. */
export function isWithoutRows(rows: TextRows | Stash): boolean {
  try {
    return openRows(rows)?.next().done === true
  } catch (failure) {
    if (isStoreError(failure)) return false
    throw failure
  }
}

/** The store has limits of its own. */
const NO_LIMITS = Object.freeze({
  columnsMax: Number.MAX_SAFE_INTEGER,
  rowCharsMax: Number.MAX_SAFE_INTEGER,
})

function openRows(rows: TextRows | Stash): Iterator<ScannedRow> | undefined {
  if ('json' in rows) {
    const { json } = rows
    return scanJsonRows(typeof json === 'string' ? json : decodeJsonText(json), NO_LIMITS)
  }
  if ('csv' in rows) return openCsv(bytesOf(rows.csv), { delimiter: ',' }, NO_LIMITS).rows
  if ('tsv' in rows) return openCsv(bytesOf(rows.tsv), { delimiter: '\t' }, NO_LIMITS).rows
  return undefined
}

function bytesOf(text: Uint8Array | string): Uint8Array {
  return typeof text === 'string' ? utf8(text) : text
}
