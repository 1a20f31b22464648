// A store and its twin, which do the same operations and must be equal after each.
import type {
  ChangeResult,
  CreateResult,
  RowsInput,
  RowWithId,
  SchemaInput,
  Stash,
  StoreErrorCode,
  Table,
  Team,
} from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import type { World } from '../model/world.js'
import { jsonOf, toStore, toTwin } from './bodies.js'
import type { Operation, Rows } from './operations.js'
import { type MadeIds, Refused, type SqliteTwin, type TwinSource } from './twin.js'

const SCHEMA: SchemaInput = {
  columns: [
    { id: 't', type: { kind: 'string' } },
    { id: 'n', type: { kind: 'number' } },
    { id: 'b', type: { kind: 'boolean' } },
    { id: 'd', type: { kind: 'date' } },
    { id: 'l', type: { kind: 'array', items: { kind: 'number' } } },
  ],
}

const NO_TABLE = '00000000-0000-4000-8000-000000000000'
const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

/** The result of an operation, or its failure. */
type Outcome =
  | Readonly<{ value: unknown }>
  | Readonly<{ code: StoreErrorCode; column: string | undefined }>

export class Both {
  readonly #world: World
  readonly #twin: SqliteTwin
  readonly #tableIds: string[] = []
  /** The IDs of existing and deleted rows. */
  readonly #rowIds: string[] = []

  constructor(world: World, twin: SqliteTwin) {
    this.#world = world
    this.#twin = twin
  }

  /** @throws {Mismatch} if the store and the twin differ */
  async run(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'create':
        return await this.#create(operation)
      case 'add':
        return await this.#add(operation)
      case 'overwrite':
        return await this.#overwrite(operation)
      case 'update':
        return await this.#update(operation)
      case 'delete':
        return await this.#delete(operation)
      case 'put':
        return await this.#put(operation)
      case 'drop stash':
        await this.#team.stash(operation.stash).delete()
        return this.#twin.deleteStash(operation.stash)
      case 'walk':
        return await this.#walk(operation)
      case 'get':
        return await this.#get(operation)
      case 'garbageCollection':
        return void (await this.#world.store(0).maintain())
      case 'reopen':
        await this.#world.reopen()
        this.#twin.reopen()
    }
  }

  /** @throws {Mismatch} unless both have the same rows, in the same order */
  async compareDumps(): Promise<void> {
    const tables = await this.#team.tables()
    const expected = this.#twin.dump()
    expectEqual(
      'the tables',
      tables.map(({ id, name }) => ({ id, name })),
      expected.map(({ id, name }) => ({ id, name })),
    )
    for (const { id, version, rows } of expected) {
      const found: RowWithId[] = []
      for await (const row of this.#table(id).scan()) found.push(row)
      expectEqual('the number of rows', found.length, rows.length)
      expectEqual(
        'the rows',
        found,
        rows.map(({ row }) => row),
      )
      expectEqual('the version', await this.#table(id).version(), version)
    }
  }

  /** @throws {Mismatch} unless each row, read by its ID, has its cells and its version */
  async compareRows(): Promise<void> {
    for (const { id, rows } of this.#twin.dump()) {
      for (const { row, version } of rows) {
        const found = await this.#table(id).get((row as RowWithId).$rowID)
        expectEqual('the row by its ID', found, { row, version })
      }
    }
  }

  get #team(): Team {
    return this.#world.team(0)
  }

  #table(id: string): Table {
    return this.#team.table(id)
  }

  #tableId(index: number): string {
    // One index more than there are tables: the table that does not exist.
    return this.#tableIds[index % (this.#tableIds.length + 1)] ?? NO_TABLE
  }

  /** The newest come first, so that small numbers mostly name existing rows. */
  #rowId(index: number): string {
    return this.#rowIds.at(-1 - (index % (this.#rowIds.length + 1))) ?? NO_ROW
  }

  #storeRows(rows: Rows): RowsInput | Stash {
    return 'stash' in rows ? this.#team.stash(rows.stash) : toStore(rows.body, this.#rowIds)
  }

  #twinRows(rows: Rows): TwinSource {
    return 'stash' in rows ? rows : toTwin(rows.body, this.#rowIds)
  }

  async #create({ rows }: Operation & { do: 'create' }): Promise<void> {
    const name = `table ${this.#tableIds.length}`
    let made: CreateResult | undefined
    const store = await outcomeOf(async () => {
      made = await this.#team.createTable({ name, schema: SCHEMA, rows: this.#storeRows(rows) })
      return made.version
    })
    const ids = made === undefined ? null : [...made.rowIds]
    const tableId = made?.tableId ?? 'new'
    const twin = await outcomeOf(() => this.#twin.create(tableId, name, this.#twinRows(rows), ids))
    expectEqual('the result', store, twin)
    if (made !== undefined) this.#tableIds.push(made.tableId)
    this.#note(ids)
  }

  async #add({ table, rows }: Operation & { do: 'add' }): Promise<void> {
    const id = this.#tableId(table)
    await this.#change(
      () => this.#table(id).addRows(this.#storeRows(rows)),
      (ids) => this.#twin.add(id, this.#twinRows(rows), ids),
    )
  }

  async #overwrite(operation: Operation & { do: 'overwrite' }): Promise<void> {
    const { table, rows } = operation
    const id = this.#tableId(table)
    const version =
      operation.ifMatch === null ? null : await versionOf(() => this.#twin.version(id))
    const ifMatch = version === null ? null : Math.max(0, version + (operation.ifMatch ?? 0))
    await this.#change(
      () => {
        const request = { rows: this.#storeRows(rows), ...(ifMatch !== null && { ifMatch }) }
        return this.#table(id).overwrite(request)
      },
      (ids) => this.#twin.overwrite(id, this.#twinRows(rows), ids, ifMatch),
    )
  }

  /** Rows for both, with the IDs that the store gives them. */
  async #change(store: () => Promise<ChangeResult>, twin: (ids: MadeIds) => number): Promise<void> {
    let ids: MadeIds = null
    const found = await outcomeOf(async () => {
      const { version, rowIds } = await store()
      ids = [...rowIds]
      return version
    })
    expectEqual('the result', found, await outcomeOf(() => twin(ids)))
    this.#note(ids)
  }

  #note(ids: MadeIds): void {
    for (const id of ids ?? []) if (!this.#rowIds.includes(id)) this.#rowIds.push(id)
  }

  async #update(operation: Operation & { do: 'update' }): Promise<void> {
    const [id, row] = [this.#tableId(operation.table), this.#rowId(operation.row)]
    const version =
      operation.ifMatch === null ? null : await versionOf(() => this.#twin.row(id, row)?.version)
    const ifMatch = version === null ? null : Math.max(0, version + (operation.ifMatch ?? 0))
    const options = ifMatch === null ? {} : { ifMatch }
    const json = jsonOf(operation.cells)
    const table = this.#table(id)
    const store = await outcomeOf(async () => {
      const { version: changed } = operation.asText
        ? await table.updateRowJson(row, json, options)
        : await table.updateRow(row, JSON.parse(json), options)
      return changed
    })
    expectEqual(
      'the result',
      store,
      await outcomeOf(() => this.#twin.update(id, row, json, ifMatch)),
    )
  }

  async #delete({ table, row }: Operation & { do: 'delete' }): Promise<void> {
    const [id, rowId] = [this.#tableId(table), this.#rowId(row)]
    const store = await outcomeOf(() => this.#table(id).deleteRow(rowId))
    expectEqual('the result', store, await outcomeOf(() => this.#twin.delete(id, rowId)))
  }

  async #put({ stash, serial, body }: Operation & { do: 'put' }): Promise<void> {
    const [rows, json] = [toStore(body, this.#rowIds), toTwin(body, this.#rowIds)]
    const store = await outcomeOf(() => this.#team.stash(stash).put(String(serial), rows))
    expectEqual(
      'the result',
      store,
      await outcomeOf(() => this.#twin.putChunk(stash, serial, json)),
    )
  }

  async #walk({ table, limit }: Operation & { do: 'walk' }): Promise<void> {
    const id = this.#tableId(table)
    const rowsMax = Math.min(limit, this.#world.store(0).limits.pageRowsMax)
    const store = await outcomeOf(async () => {
      const pages: unknown[] = []
      for (let continuation: string | undefined; ; ) {
        const request = { limit, ...(continuation !== undefined && { continuation }) }
        const page = await this.#table(id).page(request)
        pages.push(page.rows)
        continuation = page.continuation
        if (continuation === undefined) return pages
      }
    })
    expectEqual('the pages', store, await outcomeOf(() => this.#twin.pages(id, rowsMax)))
  }

  async #get({ table, row }: Operation & { do: 'get' }): Promise<void> {
    const [id, rowId] = [this.#tableId(table), this.#rowId(row)]
    const store = await outcomeOf(() => this.#table(id).get(rowId))
    expectEqual('the row', store, await outcomeOf(() => this.#twin.row(id, rowId)))
  }
}

/** null: the table or the row does not exist, and has no version. */
async function versionOf(read: () => number | undefined): Promise<number | null> {
  const found = await outcomeOf(read)
  return 'value' in found && found.value !== undefined ? Number(found.value) : null
}

/** @throws {Mismatch} if the failure is not an expected one */
async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    return { value: await run() }
  } catch (failure) {
    if (!isStoreError(failure) && !(failure instanceof Refused)) throw new Mismatch(show(failure))
    return { code: failure.code, column: failure.column }
  }
}
