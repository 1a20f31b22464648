// All rows of a version of a table as text: CSV, or one JSON object per line.
//
// Invariants:
// - Tokens are written as they are stored, so a number keeps its digits.
// - The objects of the rows are held while they are read, so that no overwrite, compaction or deletion of the table
//   disturbs the export.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { disposable } from '../../base/disposable.js'
import { checkSignalOption, shown } from '../../base/options.js'
import { pickById } from '../../base/pick-by-id.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import type { Continuation } from '../../format/continuation-token.js'
import { CsvBytes } from '../../format/csv-bytes.js'
import { csvRows, wantedCells, withRowIds } from '../../format/rows-writer.js'
import { checkArguments, checkFlag, checkVersion } from '../arguments/arguments.js'
import { checkFindBounds } from '../arguments/find-arguments.js'
import { choosePastPage } from '../changes/past-table.js'
import type { TablePlace } from '../context/store-context.js'
import { compileQuery } from '../find/find-rows.js'
import { readLines } from '../find/row-lines.js'
import { parseOrderBy } from '../order/order-by.js'
import { sortedPages } from '../order/sorted-scan.js'
import { type ChosenPage, choosePage } from '../read/open-page.js'
import type { CsvOptions, ExportedRows } from '../types/life-types.js'
import type { PageBytes } from '../types/store-types.js'
import type { Table } from '../types/table-types.js'

const OPTIONS = ['where', 'search', 'columns', 'orderBy', 'limit', 'signal']

type ExportRequest = Parameters<Table['openExport']>[0]

/** @param placeOf - Throws if the table's ID is invalid. */
export function exportText(
  placeOf: () => TablePlace,
  what: 'toCSV' | 'toNDJSON',
  options: CsvOptions,
): ExportedRows {
  async function* checked(): AsyncGenerator<Bytes, void> {
    checkArguments(what, options, what === 'toCSV' ? [...OPTIONS, 'delimiter'] : OPTIONS)
    const { delimiter, ...bounds } = options
    checkDelimiter(delimiter)
    checkBounds(bounds)
    const format = what === 'toNDJSON' ? 'ndjson' : delimiter === '\t' ? 'tsv' : 'csv'
    const { pieces } = await openVersion(placeOf(), { ...bounds, format })
    yield* pieces
  }
  return disposable(checked())
}

/** Implements `Table.openExport`. */
export async function openExport(
  place: TablePlace,
  request: ExportRequest,
): ReturnType<Table['openExport']> {
  checkArguments('openExport', request, [...OPTIONS, 'format', 'at', 'reusesMemory'])
  const { format, at, reusesMemory = false } = request
  checkFlag('reusesMemory', reusesMemory)
  if (format !== 'csv' && format !== 'tsv' && format !== 'ndjson') {
    const problem = `format must be 'csv', 'tsv' or 'ndjson', not ${shown(format)}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', problem)
  }
  if (at !== undefined) checkVersion(at, 'at')
  if (at !== undefined && request.orderBy !== undefined) {
    throw new StoreError('REQUEST_VALIDATION_ERROR', 'at cannot be combined with orderBy')
  }
  checkBounds(request)
  return openVersion(place, request)
}

function checkDelimiter(delimiter: unknown): void {
  if (delimiter === undefined || delimiter === ',' || delimiter === '\t') return
  const problem = `delimiter must be a comma or a tab, not ${shown(delimiter)}`
  throw new StoreError('REQUEST_VALIDATION_ERROR', problem)
}

function checkBounds(options: Omit<ExportRequest, 'format'>): void {
  checkFindBounds(options)
  const { limit = 1 } = options
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new StoreError(
      'REQUEST_VALIDATION_ERROR',
      `limit must be a positive integer, not ${shown(limit)}`,
    )
  }
  checkSignalOption(options.signal)
}

/** All rows of a version are planned at once, which takes little memory: a plan has one entry per extent. */
const PLAN = { rows: Number.MAX_SAFE_INTEGER, wantsSchema: true }

/** Row records are held in memory. Maximum size of their text, as a multiple of `pageBytesMax`. */
const CHANGED_PAGES_MAX = 4

/** Plans the rows of a version, either all rows or the rows after a position. */
function chooserOf(
  place: TablePlace,
  at: number | undefined,
): (token?: Continuation) => Promise<ChosenPage> {
  const recordBytesMax = CHANGED_PAGES_MAX * place.team.options.pageBytesMax
  return (token) => {
    const plan = { ...PLAN, recordBytesMax, token }
    if (at !== undefined) return choosePastPage(place, at, plan)
    return choosePage(place, { ...plan, pinned: token?.generation })
  }
}

/** @param keepsIds - Whether to export all columns and the row IDs. */
export async function openVersion(
  place: TablePlace,
  { limit = Number.POSITIVE_INFINITY, signal, format, at, reusesMemory, ...asked }: ExportRequest,
  keepsIds = false,
): ReturnType<Table['openExport']> {
  const { team, table } = place
  const { columns, ...cells } = wantedCells(asked.columns)
  const hasRowIds = keepsIds || cells.hasRowIds
  const { where, search, orderBy } = asked
  const step = <T>(read: () => Promise<T>): Promise<T> => {
    checkNotAborted('export', signal)
    return team.lifecycle.run(read)
  }
  const choose = chooserOf(place, at)
  const chosen = await step(() => choose())
  const { runs, isEnd, generation, schema } = chosen.plan
  const { nonce } = generation
  const query = compileQuery(team, schema, { where, search, columns })
  if (orderBy !== undefined) parseOrderBy(orderBy, schema?.columns ?? new Map())
  const wanted = { columns: pickById(schema?.schema.columns ?? [], columns) }
  const header = hasRowIds ? withRowIds(wanted) : wanted
  const delimiter = format === 'tsv' ? '\t' : ','
  const csv = format === 'ndjson' ? null : new CsvBytes(header, delimiter, reusesMemory === true)
  const linesOf = (): AsyncGenerator<Bytes, void> => {
    if (orderBy !== undefined) {
      const form = hasRowIds ? ('linesWithIds' as const) : ('lines' as const)
      const bounds = { where, search, columns, orderBy, signal, form }
      const pages = sortedPages((read) => step(async () => read(place)), bounds, limit, nonce)
      return linesOfPages(pages)
    }
    const more = (position: Continuation['position']) =>
      choose({ table, generation: nonce, position })
    const isReused = csv !== null || reusesMemory === true // Lines are copied into CSV.
    return readLines(chosen, more, { query, hasRowIds, limit, signal, isReused }, step)
  }
  async function* pieces(): AsyncGenerator<Bytes, void> {
    const release = team.holds.hold()
    const unpin = team.pins.pin(nonce)
    try {
      if (team.kv.shared) await team.incarnation.publish()
      if (csv !== null) yield utf8(csvRows(header, delimiter).start)
      for await (const lines of linesOf()) yield csv === null ? lines : csv.rows(lines)
    } finally {
      release()
      unpin()
      if (team.kv.shared) await team.incarnation.publish().catch(() => undefined) // The next renewal retries.
    }
  }
  const liveRows = runs.reduce((count, run) => count + run.liveRows, 0)
  const isCounted = where === undefined && search === undefined && isEnd
  return {
    version: chosen.version,
    columns: wanted.columns,
    ...(isCounted && { rowCount: Math.min(liveRows, limit) }),
    pieces: disposable(pieces()),
  }
}

async function* linesOfPages(pages: AsyncIterable<PageBytes>): AsyncGenerator<Bytes, void> {
  for await (const { json, rowCount } of pages) if (rowCount > 0) yield json
}
