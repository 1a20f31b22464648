// Writes the text of a row found by the byte scanner. FORMAT.md section 5.
import { BACKSLASH, COLON, COMMA, QUOTE, SPACE } from '../base/ascii.js'
import { ELEMENT, FORM } from '../schema/json-byte-values.js'
import { CELL, type JsonByteScanner } from '../schema/scan-json-bytes.js'
import type { TextBuffer } from './text-buffer.js'

/** Appends the scanner's row: unchanged if it is compact, otherwise cell by cell. */
export function writeRowText(writer: TextBuffer, row: JsonByteScanner): void {
  const { bytes } = row
  if (row.isCompact) {
    writer.part(bytes, row.rowStart + 1, row.rowEnd - 1)
    return
  }
  let isFirst = true
  const { cells } = row
  const end = CELL.size * row.cellCount
  for (let place = 0; place < end; place += CELL.size) {
    const what = cells[place + CELL.what] ?? 0
    if ((what & 0xff) === FORM.null) continue
    const column = what >> 16
    if (!isFirst) writer.u8(COMMA)
    isFirst = false
    writer.part(bytes, row.keyFrom[column] ?? 0, row.keyTo[column] ?? 0).u8(COLON)
    const from = cells[place + CELL.from] ?? 0
    const to = cells[place + CELL.to] ?? 0
    if ((what >> 8) & ELEMENT.space) writeCompact(writer, bytes, from, to)
    else writer.part(bytes, from, to)
  }
}

/** Writes an array without white space between its elements. */
function writeCompact(writer: TextBuffer, bytes: Uint8Array, from: number, to: number): void {
  let copied = from
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      at++
      while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
    } else if (byte <= SPACE) {
      writer.part(bytes, copied, at)
      copied = at + 1
    }
  }
  writer.part(bytes, copied, to)
}
