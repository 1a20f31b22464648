// The layout of a segment. FORMAT.md section 6. Written to disk: never change a number.
//
//     header    "RSSG" 1 0 0 0
//     frame     codec │ rowCount │ rawBytes │ storedBytes │ stored … │ crc          one for about 64 rows
//     …           1        2          4           4                     4  bytes
//               raw: end of row 0 │ end of row 1 │ … │ text of row 0, text of row 1, …
//     footer    directory: count │ number, offset, length │ … │ crc                 an entry for each section
//               section … │ crc
//     trailer   footerBytes │ rowCount │ crc │ "GSSR"                               read first, with the footer
//
// Every crc covers the ID of the segment, a place, and the bytes: see piece-crc.
import { type Bytes, concatBytes, utf8 } from '../base/bytes.js'

const SEGMENT_MAGIC: Bytes = utf8('RSSG')
const SEGMENT_VERSION = 1
/** The first bytes of every segment, the only ones that no checksum covers. */
export const SEGMENT_HEADER: Bytes = concatBytes([
  SEGMENT_MAGIC,
  Uint8Array.of(SEGMENT_VERSION, 0, 0, 0),
])
export const TRAILER_MAGIC: Bytes = utf8('GSSR')
export const TRAILER_BYTES = 16
export const FRAME_HEADER_BYTES = 11
/** Number of bytes of a row's end in a frame. */
export const END_BYTES = 4
export const DIRECTORY_ENTRY_BYTES = 9

/** Sections of the footer. Written to disk: never change or reuse a number. */
export const SECTION = Object.freeze({
  frameIndex: 1,
  columns: 2,
  rowVersions: 3,
  deletedRows: 4,
  claims: 5,
  files: 6,
  columnValues: 7,
  valueFilters: 8,
})

/** What the crc of the directory covers in place of an offset; no frame begins at this offset. */
export const DIRECTORY_PLACE = 0xfffffffe
export const TRAILER_PLACE = 0xffffffff
