// The fixture of the store suite's cases: an open store, its clock, and a team.
import assert from 'node:assert/strict'
import type {
  CreateResult,
  RowsInput,
  SchemaInput,
  Stash,
  Store,
  StoreError,
  StoreErrorCode,
  StoreOptions,
  Table,
  Team,
} from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import type { TestClock } from '../test-clock.js'

/** One rule of the library surface. */
export type StoreCase = Readonly<{
  name: string
  /** Options of the store. */
  options?: StoreOptions
  run(fixture: Fixture): Promise<void>
}>

export type OpenStoreForCase = (options: StoreOptions) => Promise<Store>

export class Fixture {
  readonly clock: TestClock
  readonly store: Store
  readonly team: Team
  readonly open: OpenStoreForCase

  constructor(store: Store, clock: TestClock, open: OpenStoreForCase) {
    this.store = store
    this.clock = clock
    this.open = open
    this.team = store.team('acme')
  }

  create(
    rows: RowsInput | Stash,
    kinds?: Readonly<Record<string, unknown>>,
  ): Promise<CreateResult & { table: Table }> {
    const schema = kinds && { schema: schemaOf(kinds) }
    return this.team
      .createTable({ name: 'table', rows, ...schema })
      .then((made) => ({ ...made, table: this.team.table(made.tableId) }))
  }

  async createTable(
    rows: RowsInput | Stash,
    kinds?: Readonly<Record<string, unknown>>,
  ): Promise<Table> {
    return (await this.create(rows, kinds)).table
  }

  async stash(chunks: Readonly<Record<string, RowsInput>>, id = 'stash'): Promise<Stash> {
    const stash = this.team.stash(id)
    for (const [serial, rows] of Object.entries(chunks)) await stash.put(serial, rows)
    return stash
  }
}

export function schemaOf(kinds: Readonly<Record<string, unknown>>): SchemaInput {
  // Cases also use unknown types.
  return { columns: Object.entries(kinds).map(([id, type]) => ({ id, type })) } as SchemaInput
}

/** The cells of all rows as JSON text, to the token, without the row IDs. */
export async function cellsOf(table: Table): Promise<string[]> {
  const cells: string[] = []
  for await (const { $rowID } of table.scan()) {
    const found = await table.getJson($rowID)
    cells.push((found?.json ?? 'none').replace(/^\{"\$rowID":"[\w-]{22}",?/, '{'))
  }
  return cells
}

/** The values of one column, in order. */
export async function columnOf(table: Table, id: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const row of table.scan()) values.push(row[id])
  return values
}

export async function kindsOf(table: Table): Promise<Record<string, string>> {
  const { columns } = await table.schema()
  return Object.fromEntries(
    columns.map(({ id, type }) => [
      id,
      type.kind === 'array' ? `array of ${type.items.kind}` : type.kind,
    ]),
  )
}

/** The place that an error must name. A part that is undefined must be absent. */
export type Place = Readonly<{
  row?: number | undefined
  column?: string | undefined
  value?: string | undefined
  chunk?: string | undefined
  line?: number | undefined
  rule?: string | undefined
}>

export async function fails(
  action: Promise<unknown>,
  code: StoreErrorCode,
  place: Place = {},
): Promise<StoreError> {
  const failure: unknown = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(isStoreError(failure), `a StoreError is expected, not ${failure}`)
  assert.equal(failure.code, code, failure.message)
  for (const [part, expected] of Object.entries(place)) {
    assert.equal(Reflect.get(failure, part), expected, `the ${part} of: ${failure.message}`)
  }
  saysWhere(failure)
  return failure
}

/** The message of an error names the place of bad data too, for people and for HTTP. */
function saysWhere({ message, row, line, chunk, column, rule }: StoreError): void {
  if (row !== undefined) assert.match(message, new RegExp(`\\brow ${row} \\(counted from 0\\)`))
  if (line !== undefined) assert.match(message, new RegExp(`\\bline ${line}\\b`))
  if (chunk !== undefined) assert.ok(message.includes(`chunk '${chunk}'`), message)
  if (column !== undefined) assert.ok(message.includes(`'${column}'`), message)
  if (rule !== undefined) assert.ok(message.includes(`: must be ${rule}`), message)
}

/** Expects that `action` fails and does not change the table. */
export async function failsWithoutEffect(
  table: Table,
  action: () => Promise<unknown>,
  code: StoreErrorCode,
  place: Place = {},
): Promise<void> {
  const before = [await table.version(), await table.schema(), await table.pageBytes()]
  await fails(action(), code, place)
  assert.deepEqual([await table.version(), await table.schema(), await table.pageBytes()], before)
}

export function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}
