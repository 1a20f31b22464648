// Rows whose caller may abort the operation that reads them.
import { isAsyncIterable, isIterable } from '../../base/options.js'
import { checkNotAborted, untilAborted } from '../../base/signals.js'
import type { SourceFormat } from '../../base/source-format.js'
import type { RowInput, RowStream, RowsInput } from '../types/row-types.js'
import { chunksOf, findRowStream, type GivenStream } from './stream-rows.js'

/**
 * Rows whose reading ends when the caller aborts, even while the next row, or the next piece of a stream, is awaited.
 * Returns a body in memory as it is.
 * @param what - The operation, for the message of the error.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR; ABORTED, while the returned rows are read
 */
export function abortableRows(
  what: string,
  rows: RowsInput,
  signal: AbortSignal | undefined,
): RowsInput {
  if (signal === undefined || typeof rows !== 'object' || rows === null) return rows
  const stream = findRowStream(rows, (pieces) => untilAborted(what, pieces, signal))
  if (stream !== null) return streamIn(stream)
  const chunks = chunksOf(rows)
  if (chunks !== null) return { chunks: untilAborted(what, chunks, signal) }
  if (ArrayBuffer.isView(rows)) return rows
  if (isAsyncIterable(rows)) return untilAborted(what, rows, signal)
  return isIterable(rows) ? rowsUntil(what, rows, signal) : rows
}

function streamIn({ pieces, format, allowEmpty }: GivenStream): RowStream {
  const members: Partial<Record<SourceFormat, unknown>> = { [format]: pieces }
  return { ...members, allowEmpty } as RowStream
}

function* rowsUntil(
  what: string,
  rows: Iterable<RowInput>,
  signal: AbortSignal,
): Generator<RowInput, void> {
  for (const row of rows) {
    checkNotAborted(what, signal)
    yield row
  }
}
