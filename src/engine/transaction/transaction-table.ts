// A table in a transaction: its operations on the records that the transaction sees, within its limits.
import { type DisposableIterator, disposable } from '../../base/disposable.js'
import { StoreError } from '../../base/store-error.js'
import { parseTableId } from '../../format/table-id.js'
import { AUTHORED, checkArguments } from '../arguments/arguments.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import { TeamTable } from '../table/table.js'
import type { Authored, KeyValues } from '../types/call-types.js'
import type { ScanOptions } from '../types/find-types.js'
import type {
  DeleteRowsResult,
  RowsToDelete,
  RowUpdate,
  UpdateRowsOptions,
} from '../types/many-types.js'
import type {
  ChangeResult,
  OverwriteRequest,
  RowInput,
  RowsInput,
  Stash,
  UpdateOptions,
} from '../types/row-types.js'
import type {
  DeleteResult,
  Page,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from '../types/store-types.js'
import type { TransactionAddOptions, TransactionTable } from '../types/transaction-types.js'
import { limitExceeded, type StagedChanges } from './staged-changes.js'

/** Maximum number of rows that one call of a transaction's function reads. A row counts each time that it is read. */
const ROWS_READ_MAX = 100_000

/** Counts the rows that a transaction has read. */
export class RowsRead {
  #count = 0

  /** @throws {StoreError} LIMIT_EXCEEDED */
  add(count: number): void {
    this.#count += count
    if (this.#count > ROWS_READ_MAX) throw limitExceeded(`read more than ${ROWS_READ_MAX} rows`)
  }
}

type Version = Readonly<{ version: number }>

export class StagedTable implements TransactionTable {
  readonly id: string
  readonly #team: TeamContext
  readonly #table: TeamTable
  readonly #changes: StagedChanges
  readonly #rowsRead: RowsRead

  /** @param team - The team, with the staged records as its partition. */
  constructor(team: TeamContext, changes: StagedChanges, rowsRead: RowsRead, tableId: string) {
    this.#team = team
    this.#table = new TeamTable(team, tableId)
    this.id = this.#table.id
    this.#changes = changes
    this.#rowsRead = rowsRead
  }

  async get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null> {
    this.#rowsRead.add(1)
    return this.#open().get(row, options)
  }

  async getMany(
    rowIds: readonly string[],
    options?: ReadOptions,
  ): Promise<readonly (ReadResult | null)[]> {
    const found = await this.#open().getMany(rowIds, options)
    this.#rowsRead.add(found.length)
    return found
  }

  async page(request?: PageRequest): Promise<Page> {
    const page = await this.#open().page(request)
    this.#rowsRead.add(page.rows.length)
    return page
  }

  scan(options?: ScanOptions): DisposableIterator<RowWithId> {
    return disposable(this.#scan(options))
  }

  async *#scan(options: ScanOptions | undefined): AsyncGenerator<RowWithId, void> {
    for await (const row of this.#open().scan(options)) {
      this.#changes.checkOpen()
      this.#rowsRead.add(1)
      yield row
    }
  }

  async addRows(
    rows: RowsInput | Stash,
    options: TransactionAddOptions = {},
  ): Promise<ChangeResult> {
    checkArguments('addRows in a transaction', options, ['onSchemaError', ...AUTHORED])
    return this.#versioned(await this.#open().addRows(rows, options))
  }

  async overwrite(request: Omit<OverwriteRequest, 'receipt'>): Promise<ChangeResult> {
    const known = ['schema', 'rows', 'ifMatch', 'onSchemaError', ...AUTHORED]
    checkArguments('overwrite in a transaction', request, known)
    const table = this.#open()
    const key = parseTableId(this.id)
    // An overwrite retires rows, and these must be the rows of an existing version.
    if (key !== null && this.#changes.hasChanged(key)) {
      const message = 'An overwrite must be the first change of its table in a transaction'
      throw new StoreError('REQUEST_VALIDATION_ERROR', message)
    }
    return table.overwrite(request)
  }

  async updateRow(rowId: string, cells: RowInput, options?: UpdateOptions): Promise<Version> {
    return this.#versioned(await this.#open().updateRow(rowId, cells, options))
  }

  async updateRows(updates: readonly RowUpdate[], options?: UpdateRowsOptions): Promise<Version> {
    checkArguments('updateRows in a transaction', options ?? {}, ['onSchemaError', ...AUTHORED])
    return this.#versioned(await this.#open().updateRows(updates, options))
  }

  async deleteRow(rowId: string, options?: Authored): Promise<DeleteResult> {
    return this.#versioned(await this.#open().deleteRow(rowId, options))
  }

  async deleteRows(rows: RowsToDelete, options?: Authored): Promise<DeleteRowsResult> {
    checkArguments('deleteRows in a transaction', options ?? {}, ['signal', ...AUTHORED])
    return this.#versioned(await this.#open().deleteRows(rows, options))
  }

  /**
   * Not a member of `TransactionTable`: answers callers without types.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR
   */
  async merge(): Promise<never> {
    const message =
      'A transaction cannot contain a merge, which reads all rows of its table: call merge on the table itself, which is one commit'
    throw new StoreError('REQUEST_VALIDATION_ERROR', message)
  }

  async version(): Promise<number> {
    return this.#open().version()
  }

  async schema(): ReturnType<TeamTable['schema']> {
    return this.#open().schema()
  }

  /** A result with the version after the staged changes, even if the operation itself changed nothing. */
  #versioned<T extends Version>(result: T): T {
    const key = parseTableId(this.id)
    const staged = key === null ? null : this.#changes.stagedVersion(key)
    if (staged === null) return result
    const { version } = toPublicVersion(this.#team, { version: staged })
    return version === result.version ? result : { ...result, version }
  }

  #open(): TeamTable {
    this.#changes.checkOpen()
    return this.#table
  }
}
