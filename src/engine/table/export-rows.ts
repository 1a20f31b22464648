// All rows of a table as text, a page at a time: CSV, or one JSON object per line.
//
// Invariants:
// - Tokens go out as they are stored, so a number keeps its digits.
// - The rows are those of one generation, which is pinned: an overwrite or the end of the table does not disturb them.
import { type Bytes, fromUtf8, utf8 } from '../../base/bytes.js'
import { disposable } from '../../base/disposable.js'
import { checkSignalOption, shown } from '../../base/options.js'
import { pickById } from '../../base/pick-by-id.js'
import { openRecordScanner } from '../../base/record-scanner.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { renderContinuation } from '../../format/continuation-token.js'
import { type RowsWriter, wantedCells, withRowIds } from '../../format/rows-writer.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { checkArguments } from '../arguments/arguments.js'
import { checkFindBounds } from '../arguments/find-arguments.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { findPage } from '../find/find-rows.js'
import { sortedPages } from '../order/sorted-scan.js'
import { pinGeneration } from '../read/generations.js'
import { openPage, readPage } from '../read/open-page.js'
import type { CsvOptions, ExportedRows } from '../types/life-types.js'
import type { PageBytes } from '../types/store-types.js'

/** Rows that are read at once. */
const EXPORT_ROWS = 1_000

/** A row begins with `{"$rowID":"`, the 22 characters of its ID, and `"`. */
const ROW_ID_CHARS = 34

/** For the columns of a table, and what stands between fields. */
type WriterOf = (schema: TableSchema, delimiter: CsvOptions['delimiter']) => RowsWriter

const OPTIONS = ['where', 'search', 'columns', 'orderBy', 'limit', 'signal']

/**
 * @param what - The name of the call in messages.
 * @param placeOf - Throws if the table's ID is none.
 */
export function exported(
  what: string,
  placeOf: () => TablePlace,
  writerOf: WriterOf,
  options: CsvOptions,
): ExportedRows {
  async function* checked(): AsyncGenerator<Bytes, void> {
    checkArguments(what, options, what === 'toCSV' ? [...OPTIONS, 'delimiter'] : OPTIONS)
    checkDelimiter(options.delimiter)
    checkFindBounds(options)
    const { limit = 1 } = options
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new StoreError(
        'REQUEST_VALIDATION_ERROR',
        `limit must be a positive integer, not ${shown(limit)}`,
      )
    }
    checkSignalOption(options.signal)
    yield* exportTableRows(placeOf(), writerOf, options)
  }
  return disposable(checked())
}

async function* exportTableRows(
  place: TablePlace,
  writerOf: WriterOf,
  { where, search, limit = Number.POSITIVE_INFINITY, signal, delimiter, ...asked }: CsvOptions,
): AsyncGenerator<Bytes, void> {
  const { columns, hasRowIds } = wantedCells(asked.columns)
  const { team, table } = place
  const step = <T>(read: () => Promise<T>): Promise<T> => {
    checkNotAborted('export', signal)
    return team.lifecycle.run(read)
  }
  const { generation, unpin } = await step(() => pinGeneration(place))
  const { nonce, firstExtent, schemaNumber } = generation
  try {
    const { schema } = await step(() =>
      team.partition.read(async (view) => {
        return team.schemas.get(table, schemaNumber, (key) => view.get(key))
      }),
    )
    // A column that the table does not have is refused with the first page.
    const wanted = { columns: pickById(schema.columns, columns) }
    const writer = writerOf(hasRowIds ? withRowIds(wanted) : wanted, delimiter)
    if (writer.start !== '') yield utf8(writer.start)
    if (asked.orderBy !== undefined) {
      const bounds = { where, search, columns, orderBy: asked.orderBy, signal }
      for await (const page of sortedPages(
        (read) => step(async () => read(place)),
        bounds,
        limit,
        nonce,
      )) {
        if (page.rowCount > 0) yield encodeExportLines(page.json, writer, hasRowIds)
      }
      return
    }
    const position = { extent: firstExtent, slot: 0 }
    const start = { table, generation: nonce, position }
    let next: string | undefined = renderContinuation(start, versionBase(team))
    for (let left = limit; next !== undefined && left > 0; ) {
      const bounds = { limit: Math.min(EXPORT_ROWS, left), continuation: next }
      const page: PageBytes = await step(async () => {
        return where === undefined && search === undefined && columns === undefined
          ? readPage(await openPage(place, bounds, nonce), undefined)
          : findPage(place, { ...bounds, where, search, columns, signal, pinned: nonce })
      })
      if (page.rowCount > 0) yield encodeExportLines(page.json, writer, hasRowIds)
      left -= page.rowCount
      next = page.continuation
    }
  } finally {
    await unpin()
  }
}

function checkDelimiter(delimiter: unknown): void {
  if (delimiter === undefined || delimiter === ',' || delimiter === '\t') return
  const problem = `delimiter must be a comma or a tab, not ${shown(delimiter)}`
  throw new StoreError('REQUEST_VALIDATION_ERROR', problem)
}

function encodeExportLines(json: Bytes, { line }: RowsWriter, hasRowIds: boolean): Bytes {
  const scanner = openRecordScanner('json')
  scanner.scan(json)
  const lines: string[] = []
  for (const [i, start] of scanner.starts.entries()) {
    const from = start + (hasRowIds ? 0 : ROW_ID_CHARS)
    const row = fromUtf8(json.subarray(from, (scanner.ends[i] ?? 0) - 1))
    lines.push(line(row.slice(1))) // Without the brace, or without the comma behind the row ID.
  }
  return utf8(lines.join(''))
}
