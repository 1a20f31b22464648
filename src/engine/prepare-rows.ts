// Reads the rows of an operation into stored segments, or, when they are few, into row texts that the
// operation writes itself. Memory is bounded by one segment, whatever the length of the input.
import { type Bytes, utf8 } from '../base/bytes.js'
import { yieldToEventLoop } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import type { StoredChunk } from '../format/chunk-records.js'
import type { SegmentRef } from '../format/extent-page.js'
import { buildSegment } from '../format/segment-writer.js'
import { openCsv } from '../schema/scan-csv.js'
import { decodeJsonText, scanJsonRows } from '../schema/scan-json.js'
import type { ScanLimits, ScannedRow } from '../schema/scanned-row.js'
import { ChunkBuilder, type RowBatch } from './chunk-builder.js'
import { scanRowObject } from './row-object.js'
import type { StoreContext } from './store-context.js'
import type { RowsInput, TextRows } from './store-types.js'

/** Rows that were read. Their objects are pending until the operation settles them. */
export type PreparedRows = Readonly<{
  chunk: StoredChunk
  /** The rows themselves when they are few enough to become row records; then no segment was written. */
  inline: RowBatch | null
}>

/** Other work of the process gets its turn after so much text. */
const SLICE_CHARS = 256 * 1024

/**
 * @param mayInline - Whether few rows may stay out of a segment.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE,
 *   COLUMN_HAS_INVALID_VALUE (objects only: what JSON has no token for), STORAGE_…
 */
export async function prepareRows(
  context: StoreContext,
  input: RowsInput,
  mayInline: boolean,
): Promise<PreparedRows> {
  const { options } = context
  const { header, rows } = openRows(input, {
    columnsMax: options.columnsMax,
    rowCharsMax: options.rowBytesMax,
  })
  const builder = new ChunkBuilder(options, header)
  const segments: SegmentRef[] = []
  try {
    await readAll(rows, builder, async (batch) => {
      segments.push(await storeSegment(context, batch))
    })
    const inline = mayInline && segments.length === 0 && isFew(context, builder)
    const batch = builder.take()
    if (!inline && batch.texts.length > 0) segments.push(await storeSegment(context, batch))
    const { rowCount, firstLine, hasClaims, columns } = builder
    const chunk = { rowCount, firstLine, hasClaims, columns, segments }
    return { chunk, inline: inline ? batch : null }
  } catch (failure) {
    context.ids.settle(segments.map(({ object }) => object))
    throw failure
  }
}

/** Stores rows as a segment under a new, pending object id. */
export async function storeSegment(context: StoreContext, batch: RowBatch): Promise<SegmentRef> {
  const object = context.ids.next()
  const { bytes, footerBytes } = buildSegment(object, batch.texts, batch.columns, batch.claims)
  try {
    await context.objects.put(object, bytes)
  } catch (failure) {
    context.ids.settle([object])
    throw failure
  }
  return { object, rowCount: batch.texts.length, objectBytes: bytes.length, footerBytes }
}

type OpenedRows = Readonly<{
  /** null: the rows name their columns themselves. */
  header: readonly string[] | null
  rows: Iterable<ScannedRow> | AsyncIterable<ScannedRow>
}>

function openRows(input: RowsInput, limits: ScanLimits): OpenedRows {
  if (isTextRows(input)) return openTextRows(input, limits)
  if (Symbol.asyncIterator in input) return { header: null, rows: scanAsync(input) }
  if (Symbol.iterator in input) return { header: null, rows: scanSync(input) }
  throw new StoreError('REQUEST_VALIDATION_ERROR', 'Invalid rows: not an iterable and not a text')
}

function isTextRows(input: RowsInput): input is TextRows {
  if (typeof input !== 'object' || input === null) {
    throw new StoreError(
      'REQUEST_VALIDATION_ERROR',
      `Invalid rows: ${typeof input} is not iterable`,
    )
  }
  return Object.hasOwn(input, 'json') || Object.hasOwn(input, 'csv') || Object.hasOwn(input, 'tsv')
}

function openTextRows(input: TextRows, limits: ScanLimits): OpenedRows {
  if ('json' in input) {
    const text = typeof input.json === 'string' ? input.json : decodeJsonText(input.json)
    return { header: null, rows: scanJsonRows(text, limits) }
  }
  const [source, delimiter] =
    'csv' in input ? ([input.csv, ','] as const) : ([input.tsv, '\t'] as const)
  return openCsv(asBytes(source), { delimiter }, limits)
}

function asBytes(source: Bytes | string): Bytes {
  return typeof source === 'string' ? utf8(source) : source
}

function* scanSync(rows: Iterable<unknown>): Generator<ScannedRow> {
  let index = 0
  for (const row of rows) yield scanRowObject(row, index++)
}

async function* scanAsync(rows: AsyncIterable<unknown>): AsyncGenerator<ScannedRow> {
  let index = 0
  for await (const row of rows) yield scanRowObject(row, index++)
}

async function readAll(
  rows: Iterable<ScannedRow> | AsyncIterable<ScannedRow>,
  builder: ChunkBuilder,
  store: (batch: RowBatch) => Promise<void>,
): Promise<void> {
  let yieldAt = SLICE_CHARS
  const afterRow = async (): Promise<void> => {
    if (builder.isFull) {
      await store(builder.take())
      yieldAt = SLICE_CHARS
    } else {
      yieldAt = builder.pending.chars + SLICE_CHARS
      await yieldToEventLoop()
    }
  }
  const isDue = (): boolean => builder.isFull || builder.pending.chars >= yieldAt
  if (Symbol.iterator in rows) {
    for (const row of rows) {
      builder.add(row)
      if (isDue()) await afterRow() // Not for every row: an await costs more than a row.
    }
    return
  }
  for await (const row of rows) {
    builder.add(row)
    if (isDue()) await afterRow()
  }
}

function isFew({ options }: StoreContext, builder: ChunkBuilder): boolean {
  const { rows, chars } = builder.pending
  return rows <= options.inlineRowsMax && chars <= options.inlineBytesMax
}
