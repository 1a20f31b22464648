import type { Bytes } from '../../base/bytes.js'
import type { Column } from '../../schema/column-kind.js'

/**
 * Encodes rows as a Parquet file. The core has no encoder; `loadParquet` of `rowstash/node` loads one. It holds at most
 * about 14 MiB, and ends `rows` when its own iterator is ended. What it throws breaks the file off; before the first
 * piece, a REQUEST_VALIDATION_ERROR is the answer.
 *
 * @param rows - One JSON object per line. A piece is valid until the next is requested.
 * @param columns - The columns of the file. A row has no others, and may lack some.
 */
export type ParquetEncoder = (
  rows: AsyncIterable<Bytes>,
  columns: readonly Column[],
) => AsyncIterable<Bytes>
