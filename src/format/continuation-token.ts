// Continuation tokens: the position at which a walk of pages continues. Stateless; bound to a table, a generation and
// the version base of the store, because after it grew other rows may be at the position.
import { type Bytes, fromBase64Url, toBase64Url } from '../base/bytes.js'
import { crc32 } from '../base/platform.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import type { Position, TableKey } from './keys.js'

/** The next row of the walk, in the generation that it began with. */
export type Continuation = Readonly<{ table: TableKey; generation: Bytes; position: Position }>

const TOKEN_VERSION = 1
const TOKEN_BYTES = 1 + 16 + 8 + 8 + 4

export function renderContinuation(
  { table, generation, position }: Continuation,
  base: number,
): string {
  const writer = new ByteWriter(TOKEN_BYTES).u8(TOKEN_VERSION).bytes(table).bytes(generation)
  writer.u48(position.extent).u16(position.slot)
  return toBase64Url(writer.u32(tokenCrc(writer.finish(), base)).finish())
}

/** null: the text is not a token. */
export function parseContinuation(text: string, base: number): Continuation | null {
  const bytes = text.length <= 2 * TOKEN_BYTES ? fromBase64Url(text) : null
  if (bytes === null || bytes.length !== TOKEN_BYTES || bytes[0] !== TOKEN_VERSION) return null
  const reader = new ByteReader(bytes.subarray(1), 'continuation token')
  const table = reader.bytes(16)
  const generation = reader.bytes(8)
  const position = { extent: reader.u48(), slot: reader.u16() }
  return reader.u32() === tokenCrc(bytes.subarray(0, TOKEN_BYTES - 4), base)
    ? { table, generation, position }
    : null
}

function tokenCrc(bytes: Bytes, base: number): number {
  return crc32(bytes, base === 0 ? 0 : crc32(new ByteWriter(8).u64(base).finish()))
}
