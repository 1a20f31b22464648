// Rows as JSON text: for servers and proxies, which neither parse nor render them.
import type { Bytes } from '../../base/bytes.js'
import type { FindBounds } from './find-types.js'
import type { PageBounds } from './read-types.js'

/** A request for a page as JSON bytes. */
export type PageBytesRequest = PageBounds &
  Readonly<{
    /**
     * A buffer for the JSON, which the caller may reuse between pages; allocating one for each page keeps the garbage
     * collector busy. Do not touch it until the call settles. Its content is overwritten even if the call fails. The
     * size of the rows' texts plus 64 bytes a row is enough. Default, and if the buffer is too small: a new one.
     */
    memory?: Bytes | undefined
  }>

/** Changes a reservation of memory to this many bytes. Returns undefined if no wait is needed. */
export type ReserveMemory = (bytes: number) => Promise<void> | undefined

/** A request for a page of some rows or cells as JSON bytes. See `FindPageRequest`. */
export type FindBytesRequest = PageBounds &
  FindBounds &
  Readonly<{
    /** As in `FindPageRequest`. */
    total?: boolean | undefined
    /** As in `OpenPageRequest`, for the row records of the page. Its JSON and what is read for it take 4 MiB at most. */
    reserve?: ReserveMemory | undefined
  }>

/** A request for a page in pieces. */
export type OpenPageRequest = PageBounds &
  Readonly<{
    /** Called before the page takes more memory than the last call reserved. Default: nothing is reserved. */
    reserve?: ReserveMemory | undefined
  }>

/** The start of a piece. Only valid for the page that returned it. */
export type PieceStart = Readonly<{
  /** Internal: give it back as it is. */
  run: number
  /** Internal, as `run`. */
  slot: number
  /** Rows before the piece. */
  rowCount: number
  /** Bytes before the piece. */
  textBytes: number
}>

/** A request for one piece of a page. */
export type PieceRequest = Readonly<{
  /**
   * Where the piece begins: `next` of the piece before. Default: the beginning of the page.
   */
  start?: PieceStart | undefined
  /** The piece ends with the row that reaches this length, in bytes: at least 1,024. */
  bytes: number
  /** Memory that reading the piece may take: at least three times `bytes`, for stored bytes, rows and JSON. */
  memoryBytes: number
  /** As in `PageBytesRequest`. */
  memory?: Bytes | undefined
}>

/** One piece of a page: a part of its JSON. */
export type PagePiece = Readonly<{
  /** Bytes of the JSON, which may begin and end anywhere. */
  json: Bytes
  /** The start of the next piece; absent in the last one. */
  next?: PieceStart
  /** Only in the last piece, and only if more rows exist. */
  continuation?: string
}>

/**
 * A page whose rows are chosen and whose bytes are read in pieces, so that it is never in memory as a whole.
 * Joined, the pieces are what `pageBytes` returns. A piece may be read again and is the same then.
 */
export interface OpenPage {
  /** The version of the table that the page shows. */
  readonly version: number
  /**
   * @returns The piece; or `needs`, the `memoryBytes` that the next row takes: call again with that many.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE
   */
  piece(request: PieceRequest): Promise<PagePiece | Readonly<{ needs: number }>>
}

/** A row as JSON text, and its version. */
export type ReadJsonResult = Readonly<{ json: string; version: number }>

/** A page as JSON in UTF-8: an array of row objects. `json` lies in `memory` of the request if that was large enough. */
export type PageBytes = Readonly<{
  /** The JSON text. */
  json: Bytes
  /** The number of rows. */
  rowCount: number
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows. */
  version: number
  /** As in `Page`. */
  total?: number
}>
