import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import { deferred } from '../../base/data-error.js'
import { type DisposableIterator, disposable } from '../../base/disposable.js'
import type { TableKey } from '../../format/keys.js'
import { parseTableId } from '../../format/table-id.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { parseRendered } from '../../schema/parse-rendered.js'
import {
  AUTHORED,
  checkArguments,
  checkAuthored,
  checkFlag,
  checkIfMatchArgument,
  checkMemory,
  checkNumbers,
  checkOnSchemaError,
  checkReadOptions,
  checkReserve,
  checkSignal,
  checkText,
  checkVersion,
} from '../arguments/arguments.js'
import {
  checkFindOptions,
  checkWhere,
  FIND_ARGUMENTS,
  isFind,
  isSorted,
} from '../arguments/find-arguments.js'
import { checkRowId, checkRowIds } from '../arguments/many-arguments.js'
import type { PointReadEntry } from '../caches/point-read-cache.js'
import { readChangesSince, watchChanges } from '../changes/change-feed.js'
import { readLogPage, watchLog } from '../changes/log-feed.js'
import { TableAtVersion } from '../changes/past-table.js'
import { findEntry, toChangeEntry } from '../changes/table-log.js'
import { tableNotFound } from '../commit/table-writer.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { findPage, pageVersion } from '../find/find-rows.js'
import { readRows } from '../find/get-many.js'
import { countMatches, groupRows, type RunOnTable, scanRows } from '../find/scan-rows.js'
import { encodeKeyText, encodeKeyValue, readByKey } from '../keys/find-by-key.js'
import { sortedPage, sortedVersion } from '../order/sorted-pages.js'
import { scanSorted } from '../order/sorted-scan.js'
import { readHead, readSchema } from '../read/generations.js'
import { openPage, readPage, readPiece } from '../read/open-page.js'
import { decodePage } from '../read/page-walk.js'
import { readRowJson } from '../read/point-read.js'
import { readTableInfo } from '../read/table-infos.js'
import type { Abortable, Authored, KeyValues } from '../types/call-types.js'
import type {
  CountOptions,
  FindPageRequest,
  Group,
  GroupsRequest,
  ScanOptions,
  Where,
} from '../types/find-types.js'
import type {
  ChangeEntry,
  ChangesRequest,
  LogPage,
  LogRequest,
  PastTable,
  TableChange,
  WatchRequest,
} from '../types/history-types.js'
import type { AlterRequest, ExportOptions, IfTableMatch, TableInfo } from '../types/life-types.js'
import type {
  DeleteRowsResult,
  RowsToDelete,
  RowTextUpdate,
  RowUpdate,
  UpdateRowsOptions,
} from '../types/many-types.js'
import type { MergeRequest, MergeResult } from '../types/merge-types.js'
import type { TablePreflightReport } from '../types/preflight-types.js'
import type { ReadOptions, ReadResult, RowWithId } from '../types/read-types.js'
import type { Receipt } from '../types/receipt-types.js'
import type {
  AddOptions,
  ChangeResult,
  OnSchemaError,
  OverwriteRequest,
  Repeatable,
  RowInput,
  RowsInput,
  Stash,
  UpdateOptions,
} from '../types/row-types.js'
import type {
  DeleteResult,
  FindBytesRequest,
  OpenPage,
  OpenPageRequest,
  Page,
  PageBytes,
  PageBytesRequest,
  ReadJsonResult,
  Table,
} from '../types/store-types.js'
import { addRows } from './add-rows.js'
import { checkConversion, convertColumn } from './altered-columns.js'
import {
  checkAdd,
  checkAlter,
  checkIfTableMatch,
  checkMerge,
  checkOverwrite,
  checkRename,
  checkTablePreflight,
} from './check-requests.js'
import { deleteGiven } from './delete-rows.js'
import { exportText, openExport } from './export-rows.js'
import { checkUpdates, keyOfUpdates, updateRows } from './many-rows.js'
import { mergeIntoTable } from './merge-rows.js'
import { overwriteRows } from './overwrite-rows.js'
import { preflightTable } from './preflight.js'
import { findReceipt, publicResult } from './receipts.js'
import {
  type CellChanges,
  changesOfObject,
  changesOfText,
  deleteRow,
  updateRowCells,
} from './row-update.js'
import { alterTable, deleteTable } from './table-life.js'

type Version = Readonly<{ version: number }>

const ROW_ID = 'A row ID'
const PAGE_ARGUMENTS = ['limit', 'continuation']
const REPEATABLE = ['idempotencyKey', 'requestDigest']

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

  addRows(rows: RowsInput | Stash, options: AddOptions & Abortable = {}): Promise<ChangeResult> {
    return this.#runWriting(async (place) => {
      const checked = await checkAdd(rows, options)
      const added = await addRows(place, checked)
      return publicResult(place, added, checked.receipt ? 'add' : undefined)
    }, options)
  }

  overwrite(request: OverwriteRequest & Abortable): Promise<ChangeResult> {
    return this.#runWriting(async (place) => {
      const checked = checkOverwrite('overwrite', request, this.#columnsMax, ['signal'])
      const changed = await overwriteRows(place, checked)
      return publicResult(place, changed, checked.receipt ? 'overwrite' : undefined)
    }, request)
  }

  merge(request: MergeRequest): Promise<MergeResult> {
    return this.#runWriting(async (place) => {
      const checked = await checkMerge(request)
      const merged = await mergeIntoTable(place, checked)
      return publicResult(place, merged, checked.receipt ? 'merge' : undefined)
    }, request)
  }

  preflight(request: Parameters<Table['preflight']>[0]): Promise<TablePreflightReport> {
    return this.#run((place) => {
      const checked = checkTablePreflight(request, this.#columnsMax)
      return 'convert' in checked ? checkConversion(place, checked) : preflightTable(place, checked)
    })
  }

  get #columnsMax(): number {
    return this.#team.options.columnsMax
  }

  receipt(version: number): Promise<Receipt | null> {
    return this.#run(({ team, table, tableId }) => {
      checkVersion(version)
      return team.partition.read(async (view) => {
        await readHead(team, view, table, tableId)
        return findReceipt(team, view, table, version)
      })
    })
  }

  change(version: number): Promise<ChangeEntry | null> {
    return this.#run(({ team, table, tableId }) => {
      checkVersion(version)
      return team.partition.read(async (view) => {
        await readHead(team, view, table, tableId)
        const found = await findEntry(team, view, table, version)
        return found && toChangeEntry(found)
      })
    })
  }

  log(request: LogRequest = {}): Promise<LogPage> {
    return this.#run((place) => readLogPage(place, request))
  }

  watchLog(request: WatchRequest = {}): DisposableIterator<ChangeEntry> {
    return disposable(watchLog(() => this.#place(), request))
  }

  async page(request: FindPageRequest = {}): Promise<Page> {
    checkArguments('page', request, [...PAGE_ARGUMENTS, ...FIND_ARGUMENTS, 'total', 'numbers'])
    const { numbers: form, ...bounds } = request
    const numbers = checkNumbers(form)
    const page =
      isFind(bounds) || bounds.total !== undefined ? this.findBytes(bounds) : this.pageBytes(bounds)
    return decodePage(await page, numbers)
  }

  pageBytes(request: PageBytesRequest = {}): Promise<PageBytes> {
    return this.#run(async (place) => {
      checkArguments('pageBytes', request, [...PAGE_ARGUMENTS, 'memory'])
      checkMemory(request.memory)
      return readPage(await openPage(place, request), request.memory)
    })
  }

  findBytes(request: FindBytesRequest): Promise<PageBytes> {
    return this.#run((place) => {
      checkArguments('findBytes', request, [
        ...PAGE_ARGUMENTS,
        ...FIND_ARGUMENTS,
        'total',
        'reserve',
      ])
      checkReserve(request.reserve)
      return isSorted(request) ? sortedPage(place, request) : findPage(place, request)
    })
  }

  pageVersion(request: Omit<FindBytesRequest, 'reserve'> = {}): Promise<number> {
    return this.#run((place) => {
      checkArguments('pageVersion', request, [...PAGE_ARGUMENTS, ...FIND_ARGUMENTS, 'total'])
      if (request.total !== undefined) checkFlag('total', request.total)
      return request.orderBy === undefined
        ? pageVersion(place, request)
        : sortedVersion(place, request)
    })
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

  scan(options: ScanOptions = {}): DisposableIterator<RowWithId> {
    const run: RunOnTable = (operation) => this.#run(operation)
    const isInOrder = options?.orderBy !== undefined
    return disposable(isInOrder ? scanSorted(run, options) : scanRows(this.#team, run, options))
  }

  find(where: Where, options: Omit<ScanOptions, 'where'> = {}): DisposableIterator<RowWithId> {
    checkFindOptions(options)
    return this.scan({ ...options, where: checkWhere(where) })
  }

  count(where?: Where, options: CountOptions = {}): Promise<number> {
    return countMatches((operation) => this.#run(operation), where, options)
  }

  async groups(request: GroupsRequest & Pick<ReadOptions, 'numbers'>): Promise<Group[]> {
    const numbers = checkNumbers(request?.numbers)
    const json = await groupRows((operation) => this.#run(operation), request, ['numbers'])
    const groups = parseRendered(json, numbers) as Group[]
    return groups.map((group) => ({ ...group, count: Number(group.count) }))
  }

  groupsJson(request: GroupsRequest): Promise<string> {
    return groupRows((operation) => this.#run(operation), request, [])
  }

  getMany(
    rowIds: readonly string[],
    options?: ReadOptions,
  ): Promise<readonly (ReadResult | null)[]> {
    return this.#run(async (place) => {
      const ids = checkRowIds('getMany', rowIds)
      const numbers = checkReadOptions('getMany', options)
      const rows = await readRows(place, ids)
      return rows.map((row) => {
        if (row === null) return null
        const { json, version } = toPublicVersion(place.team, row)
        return { row: parseRendered(json, numbers) as RowWithId, version }
      })
    })
  }

  async get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null> {
    const numbers = checkReadOptions('get', options)
    const isKey = typeof row === 'object' && row !== null
    const found = await (isKey
      ? this.#run((place) => readByKey(place, row, encodeKeyValue))
      : this.getJson(row))
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
        return toPublicVersion(team, { json: found.json, version: found.version })
      })
    })
  }

  getJsonByKey(texts: Readonly<Record<string, string>>): Promise<ReadJsonResult | null> {
    return this.#run((place) => readByKey(place, texts, encodeKeyText))
  }

  updateRow(rowId: string, cells: RowInput, options: UpdateOptions = {}): Promise<Version> {
    return this.#update(rowId, (onSchemaError) => changesOfObject(cells, onSchemaError), options)
  }

  updateRowJson(
    rowId: string,
    json: Uint8Array | string,
    options: UpdateOptions = {},
  ): Promise<Version> {
    return this.#update(rowId, () => changesOfText(json, this.#team.options), options)
  }

  deleteRow(rowId: string, options: Authored = {}): Promise<DeleteResult> {
    return this.#run(async (place) => {
      checkRowId(rowId)
      checkArguments('deleteRow', options, AUTHORED)
      return toPublicVersion(place.team, await deleteRow(place, rowId))
    }, options)
  }

  updateRows(
    updates: readonly (RowUpdate | RowTextUpdate)[],
    options: UpdateRowsOptions & Repeatable = {},
  ): Promise<Version> {
    return this.#runWriting(async (place) => {
      checkArguments('updateRows', options, ['onSchemaError', ...REPEATABLE, ...AUTHORED])
      const { team } = place
      const onSchemaError = checkOnSchemaError(options.onSchemaError)
      const checks = { onSchemaError, options: team.options }
      const given = this.#ofTable(() => team.slices.begin().run(checkUpdates(updates, checks)))
      const checked = isSync(given) ? given : await given
      const key = await keyOfUpdates(options, checked, onSchemaError)
      const updated = await updateRows(place, checked, onSchemaError, key)
      team.activity.rowsIn += updates.length
      return toPublicVersion(team, updated)
    }, options)
  }

  deleteRows(
    rows: RowsToDelete,
    options: Abortable & Authored & Repeatable = {},
  ): Promise<DeleteRowsResult> {
    return this.#run(async (place) => {
      checkArguments('deleteRows', options, ['signal', ...REPEATABLE, ...AUTHORED])
      const terms = { ...options, signal: checkSignal(options.signal) }
      const scan = (of: ScanOptions) => this.scan(of)
      return toPublicVersion(place.team, await deleteGiven(place, rows, scan, terms))
    }, options)
  }

  changes(request: ChangesRequest): DisposableIterator<TableChange> {
    return disposable(readChangesSince(() => this.#place(), request))
  }

  watch(request: WatchRequest = {}): DisposableIterator<TableChange> {
    return disposable(watchChanges(() => this.#place(), request))
  }

  at(version: number): PastTable {
    checkVersion(version)
    return new TableAtVersion(() => this.#place(), version)
  }

  version(): Promise<number> {
    return this.#run(async ({ team, table, tableId }) => {
      const head = await team.partition.read((view) => readHead(team, view, table, tableId))
      return toPublicVersion(team, head).version
    })
  }

  schema(): Promise<TableSchema> {
    return this.#run(async (place) => (await readSchema(place)).schema)
  }

  info(): Promise<TableInfo> {
    return this.#run(readTableInfo)
  }

  toCSV(options: Parameters<Table['toCSV']>[0] = {}): ReturnType<Table['toCSV']> {
    return exportText(() => this.#place(), 'toCSV', options)
  }

  toNDJSON(options: ExportOptions = {}): ReturnType<Table['toCSV']> {
    return exportText(() => this.#place(), 'toNDJSON', options)
  }

  async openExport(request: Parameters<Table['openExport']>[0]): ReturnType<Table['openExport']> {
    return openExport(this.#place(), request)
  }

  rename(name: string, options: IfTableMatch & Authored = {}): Promise<Version> {
    return this.#runWriting((place) => this.#alter(place, checkRename(name, options)), options)
  }

  alter(request: AlterRequest): Promise<Version> {
    return this.#runWriting((place) => {
      return this.#alter(place, checkAlter(request, this.#columnsMax))
    }, request)
  }

  async #alter(place: TablePlace, alteration: ReturnType<typeof checkAlter>): Promise<Version> {
    if ('convert' in alteration) {
      const converted = await convertColumn(place, alteration)
      return converted === null
        ? { version: await this.version() }
        : toPublicVersion(place.team, { version: converted.version })
    }
    const altered = await alterTable(place, alteration, (where) => this.count(where))
    return toPublicVersion(place.team, altered)
  }

  delete(options: IfTableMatch = {}): Promise<void> {
    return this.#run((place) => deleteTable(place, checkIfTableMatch('delete', options)))
  }

  #update(
    rowId: string,
    changes: (onSchemaError: OnSchemaError) => CellChanges,
    options: UpdateOptions,
  ): Promise<Version> {
    return this.#runWriting(async (place) => {
      checkRowId(rowId)
      checkArguments('updateRow', options, ['ifMatch', 'onSchemaError', ...AUTHORED])
      const onSchemaError = checkOnSchemaError(options.onSchemaError)
      const ifMatch = checkIfMatchArgument(options.ifMatch)
      const wanted = { ifMatch, onSchemaError }
      const given = this.#ofTable(() => deferred(() => changes(onSchemaError)))
      const updated = await updateRowCells(
        place,
        rowId,
        isSync(given) ? given : await given,
        wanted,
      )
      place.team.activity.rowsIn++
      return toPublicVersion(place.team, updated)
    }, options)
  }

  /** Parses new cells. If they are malformed, a missing table is still reported first. */
  #ofTable<T extends object>(read: () => Awaitable<T>): Awaitable<T> {
    const refuse = (failure: unknown): Promise<never> => {
      return this.version().then(() => {
        throw failure
      })
    }
    try {
      const given = read()
      return isSync(given) ? given : given.catch(refuse)
    } catch (failure) {
      return refuse(failure)
    }
  }

  /** @param given - The arguments of a change. */
  #run<T>(operation: (place: TablePlace) => Awaitable<T>, given?: Authored): Promise<T> {
    return this.#team.lifecycle.run(() => operation(this.#place(given)))
  }

  /** @param given - The arguments of a change. */
  #runWriting<T>(operation: (place: TablePlace) => Awaitable<T>, given: Authored): Promise<T> {
    return this.#team.lifecycle.runWriting(() => operation(this.#place(given)))
  }

  #place(given?: Authored): TablePlace {
    this.#key ??= tableKeyOf(this.id)
    return { team: this.#team, table: this.#key, tableId: this.id, by: checkAuthored(given) }
  }
}

/** The key of a table ID. A text that is not a UUID is the ID of no table. */
export function tableKeyOf(tableId: string): TableKey {
  const key = parseTableId(tableId)
  if (key === null) throw tableNotFound(tableId)
  return key
}
