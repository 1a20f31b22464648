// Continuation tokens: the position at which a sequence of pages continues. The store keeps nothing about a token. A
// token is valid only for its table, generation and version base: once the base has grown, other rows may be there.
import { type Bytes, fromBase64Url, toBase64Url } from '../base/bytes.js'
import { crc32 } from '../base/platform.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import type { Position, TableKey } from './keys.js'

/** The position of the next row, in the generation that the first page read. */
export type Continuation = Readonly<{ table: TableKey; generation: Bytes; position: Position }>

/** Number of bytes of a query's hash. */
export const QUERY_HASH_BYTES = 8

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

/** Parses a token; null: the text is not a token. */
export function parseContinuation(text: string, base: number): Continuation | null {
  const bytes = text.length <= 2 * TOKEN_BYTES ? fromBase64Url(text) : null
  if (bytes === null || bytes.length !== TOKEN_BYTES || bytes[0] !== TOKEN_VERSION) return null
  const reader = new ByteReader(bytes.subarray(1), 'continuation token')
  const table = reader.bytes(16)
  const generation = reader.bytes(8)
  const position = { extent: reader.u48(), slot: reader.u16() }
  return reader.u32() === crcOf(bytes, base) ? { table, generation, position } : null
}

/** The remaining rows of sorted pages: from a place in the order of one version. */
export type SortedContinuation = Readonly<{
  table: TableKey
  generation: Bytes
  /** The stored version, without the base. */
  version: number
  rank: number
  /** The hash of the condition and the order. */
  queryHash: Bytes
}>

const SORTED_VERSION = 2
const SORTED_BYTES = 1 + 16 + 8 + 8 + 8 + QUERY_HASH_BYTES + 4

export function renderSortedContinuation(
  { table, generation, version, rank, queryHash }: SortedContinuation,
  base: number,
): string {
  const writer = new ByteWriter(SORTED_BYTES).u8(SORTED_VERSION).bytes(table).bytes(generation)
  writer.u64(version).u64(rank).bytes(queryHash)
  return toBase64Url(writer.u32(tokenCrc(writer.finish(), base)).finish())
}

/** Parses a token of a sorted page; null: the text is not such a token. */
export function parseSortedContinuation(text: string, base: number): SortedContinuation | null {
  const bytes = text.length <= 2 * SORTED_BYTES ? fromBase64Url(text) : null
  if (bytes === null || bytes.length !== SORTED_BYTES || bytes[0] !== SORTED_VERSION) return null
  if (new ByteReader(bytes.subarray(SORTED_BYTES - 4), 'token').u32() !== crcOf(bytes, base)) {
    return null
  }
  const reader = new ByteReader(bytes.subarray(1), 'continuation token')
  const table = reader.bytes(16)
  const generation = reader.bytes(8)
  const version = reader.u64()
  return {
    table,
    generation,
    version,
    rank: reader.u64(),
    queryHash: reader.bytes(QUERY_HASH_BYTES),
  }
}

/** The crc at the end of a token. */
function crcOf(token: Bytes, base: number): number {
  return tokenCrc(token.subarray(0, token.length - 4), base)
}

function tokenCrc(bytes: Bytes, base: number): number {
  return crc32(bytes, base === 0 ? 0 : crc32(new ByteWriter(8).u64(base).finish()))
}
