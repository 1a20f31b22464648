// A store with every kind of content that the format has, and all that can be read from it.
import type { Store, Table, Team } from '../../src/index.js'
import { putTo, textOf } from '../conformance/store/upload-request.js'
import type { TestClock } from '../conformance/test-clock.js'

export const RICH_TEAMS = ['acme', 'beta'] as const

/** Sizes with which small data takes every path. */
export const RICH_SIZES = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    compactionRecordsMin: 5,
  },
  inlineRowsMax: 20,
  segmentRowsMax: 100,
  orphanGraceMs: 0,
} as const

const PEOPLE = 130

/** Fills an empty store that was opened with `RICH_SIZES` and this clock. */
export async function fillRichly(store: Store, clock: TestClock): Promise<void> {
  const acme = store.team('acme')
  await makeImported(acme, store)
  await makeOverwritten(acme)
  clock.pass(60_000)
  await makeFiles(acme, store)
  await makeWidened(store.team('beta'))
  await store.team('beta').createTable({ name: 'empty', rows: [] })
}

/** From a stash in JSON and CSV, changed row by row, compacted, changed again. */
async function makeImported(team: Team, store: Store): Promise<void> {
  const stash = team.stash('import')
  const people = Array.from({ length: PEOPLE }, (_, n) => ({
    name: `Person ${n} ünï`,
    n,
    tags: [`t${n % 7}`, 'x'],
    'a "quoted" id': n % 2 === 0,
  }))
  await stash.put('1', { json: JSON.stringify(people) })
  await stash.put('2', {
    csv: 'name,n,born\nAda,1,1815-12-10\n"Grace, H",2,1906-12-09\nEdsger,,\n',
  })
  await stash.put('10', { tsv: 'name\tn\nLast\t99\n' })
  const made = await team.createTable({ name: 'people', rows: stash, idempotencyKey: 'first' })
  const table = team.table(made.tableId)
  for (let n = 0; n < 12; n++) {
    await table.updateRow(idAt(made.rowIds, n), { name: `Changed ${n}`, n: null })
  }
  for (let n = 20; n < 25; n++) await table.deleteRow(idAt(made.rowIds, n))
  await store.maintain() // compactions
  await table.updateRow(idAt(made.rowIds, 3), { name: 'Changed after the compaction' })
  await table.deleteRow(idAt(made.rowIds, 131))
  await table.addRows([{ name: 'small' }, { name: 'add', n: 7 }], { idempotencyKey: 'add' })
  await table.updateRow(idAt(made.rowIds, 4), { name: 'Changed again' })
}

/** Overwritten with preserved row IDs, so that a generation is retired and another has a forward object. */
async function makeOverwritten(team: Team): Promise<void> {
  const rows = Array.from({ length: 50 }, (_, n) => ({ n, text: `row ${n}` }))
  const made = await team.createTable({ name: 'kept', rows })
  const table = team.table(made.tableId)
  await table.addRows([{ n: 50 }])
  const ids = [...made.rowIds].reverse()
  await table.overwrite({ rows: ids.map(($rowID, n) => ({ $rowID, n, text: `kept ${n}` })) })
  await table.addRows([{ n: 100 }, { n: 101 }])
}

async function makeFiles(team: Team, store: Store): Promise<void> {
  const about = { fileName: 'a.txt', contentType: 'text/plain' }
  const named = await team.files.put('the first file', about)
  await team.files.put('x'.repeat(200_000), { ...about, fileName: 'long.txt' })
  await team.files.put('', { ...about, fileName: 'empty.txt' })
  await team.createTable({ name: 'naming', rows: [{ at: `https://files.example/${named.path}` }] })
  const upload = await team.files.createUpload(about)
  await store.files.receive(putTo(upload.target, ['received, ', 'not completed']))
  const completed = await team.files.createUpload(about)
  await store.files.receive(putTo(completed.target, ['completed']))
  await team.files.completeUpload(completed.uploadId)
  await team.files.createUpload(about)
}

/** Numbers that became texts: the reader converts them. */
async function makeWidened(team: Team): Promise<void> {
  const made = await team.createTable({ name: 'widened', rows: [{ v: 1 }, { v: 2.5 }] })
  const table = team.table(made.tableId)
  const rows = Array.from({ length: 60 }, (_, n) => ({ v: n }))
  await table.addRows(rows)
  await table.addRows([{ v: 'text', w: true }], { onSchemaError: 'updateSchema' })
}

function idAt(ids: Readonly<{ at(index: number): string | undefined }>, index: number): string {
  const id = ids.at(index)
  if (id === undefined) throw new Error(`There is no row ${index}`)
  return id
}

/** The readable content of a table. */
export type TableDump = Readonly<{
  id: string
  name: string
  version: number
  schema: unknown
  rows: readonly string[]
}>

export async function dumpTable(table: Table, name: string): Promise<TableDump> {
  const rows: string[] = []
  let continuation: string | undefined
  let version = 0
  do {
    const page = await table.pageBytes({ limit: 50, ...(continuation && { continuation }) })
    rows.push(new TextDecoder().decode(page.json))
    continuation = page.continuation
    version = page.version
  } while (continuation !== undefined)
  return { id: table.id, name, version, schema: await table.schema(), rows }
}

export async function dumpTeam(team: Team): Promise<readonly TableDump[]> {
  const tables: TableDump[] = []
  for (const { id, name } of await team.tables()) tables.push(await dumpTable(team.table(id), name))
  return tables
}

/** The bytes of a file as text; null: the file does not exist. */
export async function readFileText(team: Team, file: string): Promise<string | null> {
  const found = await team.files.get(file)
  return found && textOf(found.stream())
}
