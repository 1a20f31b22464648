// Rows as JSON text, for servers and proxies, which pass rows on without parsing them.
import type { Bytes } from '../../base/bytes.js'
import type { Column } from '../../schema/column-kind.js'
import type { FindBounds, GroupsRequest } from './find-types.js'
import type { ExportedRows, ExportOptions } from './life-types.js'
import type { PageBounds } from './read-types.js'
import type { UpdateOptions } from './row-types.js'

/** A request for a page as JSON bytes. */
export type PageBytesRequest = PageBounds &
  Readonly<{
    /**
     * A buffer for the JSON, which the caller may reuse between pages; allocating one for each page keeps the garbage
     * collector busy. Do not touch it until the call settles. Its content is overwritten even if the call fails. The
     * size of the rows' texts plus 64 bytes per row is enough. Default, and if the buffer is too small: a new one.
     */
    memory?: Bytes | undefined
  }>

/** Changes a reservation of memory to this many bytes. Returns undefined if the caller need not wait. */
export type ReserveMemory = (bytes: number) => Promise<void> | undefined

/** A request for a page of some rows or cells as JSON bytes. See `FindPageRequest`. */
export type FindBytesRequest = PageBounds &
  FindBounds &
  Readonly<{
    /** Whether the page has `total`, which requires comparing all rows. Default: false. */
    total?: boolean | undefined
    /**
     * Called for the memory of the row records that the page reads; see `OpenPageRequest`. The JSON of the page and the
     * segments that it reads are not reserved: they take at most 4 MiB.
     */
    reserve?: ReserveMemory | undefined
  }>

/** A request for a page in pieces. */
export type OpenPageRequest = PageBounds &
  Readonly<{
    /**
     * Called with the total number of bytes that the page takes, before it takes more than the last call reserved.
     * Default: nothing is reserved.
     */
    reserve?: ReserveMemory | undefined
  }>

/** The start of a piece. Only valid for the page that returned it. */
export type PieceStart = Readonly<{
  /** Internal: return it unchanged. */
  run: number
  /** Internal, like `run`. */
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
  /** A buffer for the piece. See `PageBytesRequest`. */
  memory?: Bytes | undefined
}>

/** One piece of a page: a part of its JSON. */
export type PagePiece = Readonly<{
  /** Bytes of the JSON, which may begin and end anywhere. */
  json: Bytes
  /** The start of the next piece; absent in the last one. */
  next?: PieceStart
  /** The continuation of the page; present only in the last piece, and only if more rows exist. */
  continuation?: string
}>

/**
 * A page whose rows are chosen and whose bytes are read in pieces, so that it is never in memory as a whole. Joined,
 * the pieces are the result of `pageBytes`. A piece that is read again is the same.
 */
export interface OpenPage {
  /** The version of the table that the page shows. */
  readonly version: number
  /**
   * @returns The piece; or `needs`, the `memoryBytes` that the next row takes: call again with at least that many.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE
   */
  piece(request: PieceRequest): Promise<PagePiece | Readonly<{ needs: number }>>
}

/** A row as JSON text, and its version. */
export type ReadJsonResult = Readonly<{ json: string; version: number }>

/**
 * A page as JSON in UTF-8: an array of row objects. `json` lies in `memory` of the request if that buffer was large
 * enough.
 */
export type PageBytes = Readonly<{
  /** The JSON text. */
  json: Bytes
  /** The number of rows. */
  rowCount: number
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows. */
  version: number
  /** With `total`: how many rows match; see `Page`. */
  total?: number
}>

/** The calls of a table that pass on text as it is stored. */
export interface TextTable {
  /**
   * One page of rows as JSON bytes; see `page`.
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { json } = await team.table(tableId).pageBytes({ limit: 1 }) // for a server, which neither parses nor renders rows
   * console.log(JSON.parse(new TextDecoder().decode(json))[0].id) // 1
   */
  pageBytes(request?: PageBytesRequest): Promise<PageBytes>
  /**
   * One page of some rows or cells as JSON bytes; see `page`.
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { json } = await team.table(tableId).findBytes({ where: { id: 2 } })
   * console.log(JSON.parse(new TextDecoder().decode(json))[0].id) // 2
   */
  findBytes(request: FindBytesRequest): Promise<PageBytes>
  /**
   * The groups of rows as JSON text; see `groups`.
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log(await team.table(tableId).groupsJson({ by: [] })) // [{"values":{},"count":2}]
   */
  groupsJson(request: GroupsRequest): Promise<string>
  /**
   * The `version` of the page for this request, without reading rows. Fails as `page` does.
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log((await team.table(tableId).pageVersion({ limit: 1 })) === version) // true
   */
  pageVersion(request?: Omit<FindBytesRequest, 'reserve'>): Promise<number>
  /**
   * An export as CSV or NDJSON with the version of its rows, for servers, which send the version first.
   * @param request - `at`: a version in the history of the table, without `orderBy`. Default: the current version.
   *   `reusesMemory`: whether a piece is valid only until the next piece is requested. Default: false.
   * @returns The version, the exported columns, the text in `pieces`, and the number of rows. `rowCount` is absent with
   *   `where`, with `search`, and if the row records of the table have more text than four times `pageBytesMax`.
   * @throws {StoreError} as `toCSV`; HISTORY_GONE
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log((await team.table(tableId).openExport({ format: 'ndjson' })).rowCount) // 2
   */
  openExport(
    request: ExportOptions &
      Readonly<{
        format: 'csv' | 'tsv' | 'ndjson'
        at?: number | undefined
        reusesMemory?: boolean | undefined
      }>,
  ): Promise<
    Readonly<{
      version: number
      columns: readonly Column[]
      rowCount?: number
      pieces: ExportedRows
    }>
  >
  /**
   * A page as for `pageBytes`, read in pieces, for servers that send many pages concurrently.
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const page = await team.table(tableId).openPage()
   * const piece = await page.piece({ bytes: 65_536, memoryBytes: 262_144 })
   * console.log('json' in piece && JSON.parse(new TextDecoder().decode(piece.json)).length) // 2
   */
  openPage(request?: OpenPageRequest): Promise<OpenPage>
  /**
   * One row as JSON text; see `get`.
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const found = await team.table(tableId).getJson(rowIds.get(1))
   * console.log(JSON.parse(found?.json ?? '{}').id) // 2
   */
  getJson(rowId: string): Promise<ReadJsonResult | null>
  /**
   * One row by its key as JSON text. The values of the key are given as texts: a number as in JSON, `true` or `false`.
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }], key: ['id'] })
   * console.log(JSON.parse((await team.table(tableId).getJsonByKey({ id: '1' }))?.json ?? '{}').id) // 1
   */
  getJsonByKey(texts: Readonly<Record<string, string>>): Promise<ReadJsonResult | null>
  /**
   * Updates a row from the text of a JSON object, whose tokens are stored unchanged; see `updateRow`.
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).updateRowJson(rowIds.get(0), '{ "id": 7.0 }')
   * console.log((await team.table(tableId).getJson(rowIds.get(0)))?.json.includes('7.0')) // true
   */
  updateRowJson(
    rowId: string,
    json: Bytes | string,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
}
