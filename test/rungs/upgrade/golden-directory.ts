// A small store with something of every part of the format, and its answers. It is created once per released format,
// and kept under test/format/golden: see test/rungs/upgrade/upgrade.test.ts.
import { createHash } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupToFile, openDirectory } from '../../../adapters/node.js'
import type { Store, StoreOptions } from '../../../src/index.js'
import { putTo, textOf } from '../../conformance/store/upload-request.js'
import { testClock } from '../../conformance/test-clock.js'
import { joinedMaintenance } from '../../support/maintenance.js'

const QUIET = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
  },
} as const
const SIZES = {
  ...QUIET,
  inlineRowsMax: 3,
  segmentRowsMax: 70,
  maintenance: { ...QUIET.maintenance, compactionRecordsMin: 2 },
  orphanGraceMs: 0,
}
const TEAM = 'golden'

/** Its whole content, as callers see it. */
export type GoldenContent = Readonly<{
  tables: readonly Readonly<{
    id: string
    name: string
    version: number
    schema: unknown
    rows: readonly Readonly<{ row: unknown; version: number }>[]
  }>[]
  files: readonly Readonly<{ id: string; name: string; text: string }>[]
}>

export function openGolden(directory: string, options: StoreOptions = {}): Promise<Store> {
  const maintenance = joinedMaintenance(SIZES.maintenance, options.maintenance)
  return openDirectory(directory, { ...SIZES, ...options, maintenance, clock: testClock() })
}

/** Creates the store, a backup of it, and the list of their contents. */
export async function makeGolden(directory: string, backup: string, list: string): Promise<void> {
  const clock = testClock()
  const files: string[] = []
  for (const compression of ['none', 'deflate'] as const) {
    const store = await openDirectory(directory, { ...SIZES, clock, compression })
    files.push(await fill(store, compression))
    await store.close() // Each opening makes a table of the previous log.
  }
  const store = await openGolden(directory)
  await writeFile(list, `${JSON.stringify(await contentOf(store, files), null, 1)}\n`)
  await backupToFile(store, backup)
  await store.close()
  for (const name of ['LOG', 'LOG.old', 'LOCK'])
    await rm(join(directory, 'kv', name), { force: true })
}

async function fill(store: Store, name: string): Promise<string> {
  const team = store.team(TEAM)
  const stash = team.stash(`stash-${name}`)
  const rows = Array.from({ length: 90 }, (_, n) => ({ n, text: `row ${n} ✓`, tags: ['a', 'b'] }))
  await stash.put('1', { json: JSON.stringify(rows) })
  await stash.put('2', { csv: 'n,text,born\n1,one,2001-02-03\n,"a, b",\n' })
  const made = await team.createTable({ name, rows: stash, idempotencyKey: `key-${name}` })
  const table = team.table(made.tableId)
  const idAt = (index: number): string => made.rowIds.at(index) ?? ''
  for (const index of [1, 2, 70]) await table.updateRow(idAt(index), { text: 'updated', n: null })
  for (const index of [3, 4, 91]) await table.deleteRow(idAt(index))
  await store.maintain() // compactions
  await table.updateRow(idAt(5), { text: 'updated after the compaction' })
  await table.addRows([{ n: 1_000 }, { n: 1_001 }])
  await table.addRows([{ n: 'a text', more: true }], { onSchemaError: 'updateSchema' })
  const kept = await team.createTable({ name: `${name}, kept`, rows: [{ n: 1 }, { n: 2 }] })
  const claims = [...kept.rowIds].reverse().map(($rowID, n) => ({ $rowID, n }))
  await team.table(kept.tableId).overwrite({ rows: [...claims, { n: 9 }] })
  const about = { fileName: `${name}.txt`, contentType: 'text/plain' }
  const file = await team.files.put(`the file of ${name}`, about)
  await team.createTable({ name: `${name}, naming`, rows: [{ file: file.path }] })
  const upload = await team.files.createUpload(about)
  await store.files.receive(putTo(upload.target, ['not completed']))
  return file.id
}

export async function contentOf(store: Store, fileIds: readonly string[]): Promise<GoldenContent> {
  const team = store.team(TEAM)
  const tables: GoldenContent['tables'][number][] = []
  for (const { id, name } of await team.tables()) {
    const table = team.table(id)
    const rows: { row: unknown; version: number }[] = []
    for await (const { $rowID } of table.scan()) {
      const found = await table.get($rowID)
      if (found !== null) rows.push(found)
    }
    const head = { id, name, version: await table.version(), schema: await table.schema() }
    tables.push({ ...head, rows })
  }
  const files: GoldenContent['files'][number][] = []
  for (const id of fileIds) {
    const file = await team.files.get(id)
    if (file === null) throw new Error(`File ${id} is not there`)
    files.push({ id, name: file.fileName, text: await textOf(file.stream()) })
  }
  return { tables, files }
}

/** The rows of its first stash, from which a table is created. */
export async function stagedRows(store: Store): Promise<unknown[]> {
  const team = store.team(TEAM)
  const { tableId } = await team.createTable({ name: 'staged', rows: team.stash('stash-none') })
  const rows: unknown[] = []
  for await (const { $rowID: _, ...row } of team.table(tableId).scan()) rows.push(row)
  return rows
}

/** Changes something in every table. */
export async function writeSomething(store: Store): Promise<void> {
  const team = store.team(TEAM)
  for (const { id } of await team.tables()) {
    const table = team.table(id)
    const { rows } = await table.page({ limit: 2 })
    for (const { $rowID } of rows) await table.updateRow($rowID, {})
    await table.deleteRow(rows[0]?.$rowID ?? '')
    await table.addRows([{ fresh: 1 }], { onSchemaError: 'updateSchema' })
  }
  await team.files.put('new', { fileName: 'new.txt', contentType: 'text/plain' })
  await store.maintain()
}

/** A copy to open, because opening changes files. */
export function copyOf(directory: string, target: string): Promise<void> {
  return cp(directory, target, { recursive: true })
}

/** Names and bytes of all files below a directory. */
export async function hashOf(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const path of (await readdir(directory, { recursive: true })).sort()) {
    hash.update(path)
    await readFile(join(directory, path)).then(
      (bytes) => hash.update(bytes),
      (failure) => {
        if (failure.code !== 'EISDIR') throw failure
      },
    )
  }
  return hash.digest('hex')
}
