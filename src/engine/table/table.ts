import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import { type Bytes, fromUtf8 } from '../../base/bytes.js'
import { deferred } from '../../base/data-error.js'
import { renderContinuation } from '../../format/continuation-token.js'
import type { TableKey } from '../../format/keys.js'
import { parseTableId } from '../../format/table-id.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { type NumberForm, parseRendered } from '../../schema/parse-rendered.js'
import {
  checkArguments,
  checkFlag,
  checkIfMatchArgument,
  checkMemory,
  checkNumbers,
  checkOnSchemaError,
  checkReadOptions,
  checkReserve,
  checkTableName,
  checkText,
  checkVersion,
} from '../api/arguments.js'
import type { IfTableMatch, TableInfo } from '../api/life-types.js'
import type { DeleteRowsResult, RowUpdate, UpdateRowsOptions } from '../api/many-types.js'
import type { TablePreflightReport } from '../api/preflight-types.js'
import type { Receipt } from '../api/receipt-types.js'
import type {
  AddOptions,
  ChangeResult,
  OverwriteRequest,
  RowInput,
  RowsInput,
  Stash,
  UpdateOptions,
} from '../api/row-types.js'
import type {
  DeleteResult,
  OpenPage,
  OpenPageRequest,
  Page,
  PageBytes,
  PageBytesRequest,
  PageRequest,
  ReadJsonResult,
  ReadOptions,
  ReadResult,
  RowWithId,
  Table,
} from '../api/store-types.js'
import { tableNotFound } from '../commit/table-writer.js'
import type { PointReadEntry } from '../context/point-read-cache.js'
import { toPublicVersion, versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { pinGeneration, readHead } from '../read/generations.js'
import { openPage, readPage, readPiece } from '../read/open-page.js'
import { walkPages } from '../read/page-walk.js'
import { readRowJson } from '../read/point-read.js'
import { readTableInfo } from '../read/table-infos.js'
import { addRows } from './add-rows.js'
import { checkOverwrite } from './check-requests.js'
import { checkRowIds, checkUpdates, deleteRows, updateRows } from './many-rows.js'
import { overwriteRows } from './overwrite-rows.js'
import { preflightTable } from './preflight.js'
import { findReceipt, publicResult } from './receipts.js'
import { requestKeyOf } from './request-digest.js'
import {
  type CellChanges,
  changesOfObject,
  changesOfText,
  deleteRow,
  updateRow,
} from './row-update.js'
import { deleteTable, renameTable } from './table-life.js'

type Version = Readonly<{ version: number }>

const ROW_ID = 'A row ID'

const ADD_ARGUMENTS = ['onSchemaError', 'idempotencyKey', 'requestDigest', 'receipt']

const PAGE_ARGUMENTS = ['limit', 'continuation']

/** Rows that a scan reads at once. */
const SCAN_ROWS = 1_000

export class TeamTable implements Table {
  readonly id: string
  readonly #team: TeamContext
  #key: TableKey | undefined
  #latest: PointReadEntry | undefined

  constructor(team: TeamContext, tableId: string) {
    checkText('A table ID', tableId)
    this.#team = team
    this.id = tableId
  }

  addRows(rows: RowsInput | Stash, options: AddOptions = {}): Promise<ChangeResult> {
    return this.#runWriting(async (place) => {
      checkArguments('addRows', options, ADD_ARGUMENTS)
      const onSchemaError = checkOnSchemaError(options.onSchemaError)
      const key = await requestKeyOf(options, ['add', onSchemaError], rows)
      const receipt = checkFlag('receipt', options.receipt)
      const added = await addRows(place, { rows, onSchemaError, key, receipt })
      return publicResult(place, added, receipt ? 'add' : undefined)
    })
  }

  overwrite(request: OverwriteRequest): Promise<ChangeResult> {
    return this.#runWriting(async (place) => {
      const checked = checkOverwrite('overwrite', request, this.#columnsMax)
      const changed = await overwriteRows(place, checked)
      return toPublicVersion(place.team, changed)
    })
  }

  preflight(request: OverwriteRequest): Promise<TablePreflightReport> {
    return this.#run((place) =>
      preflightTable(place, checkOverwrite('preflight', request, this.#columnsMax)),
    )
  }

  get #columnsMax(): number {
    return this.#team.options.columnsMax
  }

  receipt(version: number): Promise<Receipt | null> {
    return this.#run(({ team, table, tableId }) => {
      checkVersion(version)
      return team.partition.read(async (view) => {
        await readHead(team, view, table, tableId)
        return findReceipt(team, (key) => view.get(key), table, version)
      })
    })
  }

  async page(request: PageRequest = {}): Promise<Page> {
    checkArguments('page', request, [...PAGE_ARGUMENTS, 'numbers'])
    const { numbers: form, ...bounds } = request
    const numbers = checkNumbers(form)
    return parsedPage(await this.#readPage('page', bounds, PAGE_ARGUMENTS), numbers)
  }

  pageBytes(request: PageBytesRequest = {}): Promise<PageBytes> {
    return this.#readPage('pageBytes', request, [...PAGE_ARGUMENTS, 'memory'])
  }

  async openPage(request: OpenPageRequest = {}): Promise<OpenPage> {
    const page = await this.#run((place) => {
      checkArguments('openPage', request, [...PAGE_ARGUMENTS, 'reserve'])
      checkReserve(request.reserve)
      return openPage(place, request)
    })
    return {
      version: page.version,
      piece: (wanted) => this.#run(() => readPiece(page, wanted)),
    }
  }

  /** @param pinned - The generation that a scan has pinned: it is read although its table was deleted. */
  #readPage(
    what: string,
    request: PageBytesRequest,
    known: readonly string[],
    pinned?: Bytes,
  ): Promise<PageBytes> {
    return this.#run(async (place) => {
      checkArguments(what, request, known)
      checkMemory(request.memory)
      return readPage(await openPage(place, request, pinned), request.memory)
    })
  }

  async *scan(options?: ReadOptions): AsyncIterableIterator<RowWithId> {
    const numbers = checkReadOptions('scan', options)
    const { generation, unpin } = await this.#run(pinGeneration)
    const { nonce } = generation
    try {
      const position = { extent: generation.firstExtent, slot: 0 }
      const start = { table: tableKeyOf(this.id), generation: nonce, position }
      const first = renderContinuation(start, versionBase(this.#team))
      const read = async (continuation: string): Promise<Page> => {
        const bounds = { limit: SCAN_ROWS, continuation }
        return parsedPage(await this.#readPage('scan', bounds, PAGE_ARGUMENTS, nonce), numbers)
      }
      const { requestCostBytes = 0 } = this.#team.objects
      for await (const rows of walkPages(read, first, requestCostBytes > 0)) yield* rows
    } finally {
      await unpin()
    }
  }

  async get(rowId: string, options?: ReadOptions): Promise<ReadResult | null> {
    const numbers = checkReadOptions('get', options)
    const found = await this.getJson(rowId)
    if (found === null) return null
    return { row: parseRendered(found.json, numbers) as RowWithId, version: found.version }
  }

  getJson(rowId: string): Promise<ReadJsonResult | null> {
    return this.#run((place) => {
      checkText(ROW_ID, rowId)
      const { team } = place
      let latest = this.#latest
      if (latest === undefined || latest.isDropped) {
        latest = team.pointReads.of(team.teamId, place.tableId)
        this.#latest = latest
      }
      return chain(readRowJson(place, latest, rowId), (found) => {
        if (found === null) return null
        team.activity.rowsOut++
        const { json, version } = found
        return toPublicVersion(team, { json, version })
      })
    })
  }

  updateRow(rowId: string, cells: RowInput, options: UpdateOptions = {}): Promise<Version> {
    return this.#update(rowId, () => changesOfObject(cells), options)
  }

  updateRowJson(
    rowId: string,
    json: Uint8Array | string,
    options: UpdateOptions = {},
  ): Promise<Version> {
    return this.#update(rowId, () => changesOfText(json, this.#team.options), options)
  }

  deleteRow(rowId: string): Promise<DeleteResult> {
    return this.#run(async (place) => {
      return toPublicVersion(place.team, await deleteRow(place, checkText(ROW_ID, rowId)))
    })
  }

  updateRows(updates: readonly RowUpdate[], options: UpdateRowsOptions = {}): Promise<Version> {
    return this.#runWriting(async (place) => {
      checkArguments('updateRows', options, ['onSchemaError'])
      const onSchemaError = checkOnSchemaError(options.onSchemaError)
      const given = this.#ofTable(() => checkUpdates(updates))
      const updated = await updateRows(place, isSync(given) ? given : await given, onSchemaError)
      place.team.activity.rowsIn += updates.length
      return toPublicVersion(place.team, updated)
    })
  }

  deleteRows(rowIds: readonly string[]): Promise<DeleteRowsResult> {
    return this.#run(async (place) =>
      toPublicVersion(place.team, await deleteRows(place, checkRowIds('deleteRows', rowIds))),
    )
  }

  version(): Promise<number> {
    return this.#run(async ({ team, table, tableId }) => {
      const head = await team.partition.read((view) => readHead(team, view, table, tableId))
      return toPublicVersion(team, head).version
    })
  }

  schema(): Promise<TableSchema> {
    return this.#run(({ team, table, tableId }) =>
      team.partition.read(async (view) => {
        const { generation } = await readHead(team, view, table, tableId)
        const read: ReadRecord = (key) => view.get(key)
        return (await team.schemas.get(table, generation.schemaNumber, read)).schema
      }),
    )
  }

  info(): Promise<TableInfo> {
    return this.#run(readTableInfo)
  }

  rename(name: string, options: IfTableMatch = {}): Promise<Version> {
    return this.#runWriting(async (place) => {
      checkTableName(name)
      const { team } = place
      return toPublicVersion(team, await renameTable(place, name, ifMatchOf('rename', options)))
    })
  }

  delete(options: IfTableMatch = {}): Promise<void> {
    return this.#run((place) => deleteTable(place, ifMatchOf('delete', options)))
  }

  #update(rowId: string, changes: () => CellChanges, options: UpdateOptions): Promise<Version> {
    return this.#runWriting(async (place) => {
      checkText(ROW_ID, rowId)
      checkArguments('updateRow', options, ['ifMatch', 'onSchemaError'])
      const onSchemaError = checkOnSchemaError(options.onSchemaError)
      const ifMatch = checkIfMatchArgument(options.ifMatch)
      const wanted = { ifMatch, onSchemaError }
      const given = this.#ofTable(() => deferred(changes))
      const updated = await updateRow(place, rowId, isSync(given) ? given : await given, wanted)
      place.team.activity.rowsIn++
      return toPublicVersion(place.team, updated)
    })
  }

  /** Reads new cells. That they are not well-formed is said only of a table that is there. */
  #ofTable<T extends object>(read: () => T): Awaitable<T> {
    try {
      return read()
    } catch (failure) {
      return this.version().then(() => {
        throw failure
      })
    }
  }

  #run<T>(operation: (place: TablePlace) => Awaitable<T>): Promise<T> {
    return this.#team.lifecycle.run(() => operation(this.#place()))
  }

  #runWriting<T>(operation: (place: TablePlace) => Awaitable<T>): Promise<T> {
    return this.#team.lifecycle.runWriting(() => operation(this.#place()))
  }

  #place(): TablePlace {
    this.#key ??= tableKeyOf(this.id)
    return { team: this.#team, table: this.#key, tableId: this.id }
  }
}

function ifMatchOf(what: string, options: IfTableMatch): number | bigint | undefined {
  checkArguments(what, options, ['ifMatch'])
  return checkIfMatchArgument(options.ifMatch)
}

function parsedPage({ json, rowCount: _, ...rest }: PageBytes, numbers: NumberForm): Page {
  return { rows: parseRendered(fromUtf8(json), numbers) as RowWithId[], ...rest }
}

/** The key of a table ID; a text that is no UUID is no table's ID. */
export function tableKeyOf(tableId: string): TableKey {
  const key = parseTableId(tableId)
  if (key === null) throw tableNotFound(tableId)
  return key
}
