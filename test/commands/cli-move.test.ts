// Goal: `rowstash move` takes a store from a directory to PostgreSQL and back, whole, and no version names two contents.
//
// By hand, at the size of ROWSTASH_MOVE_ROWS and ROWSTASH_MOVE_FILES: see test/README.md.
import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { openPostgresKv } from '../../adapters/postgres/postgres-kv.js'
import { openPostgresObjects } from '../../adapters/postgres/postgres-objects.js'
import type { Store } from '../../src/index.js'
import { openStore, RESTORED_VERSION_STEP } from '../../src/index.js'
import { TestClock } from '../conformance/test-clock.js'
import { runCli } from '../support/built-cli.js'
import { cliOnPostgres } from '../support/cli-on-postgres.js'
import { connectTo } from '../support/postgres-client.js'
import { fillRichly, RICH_SIZES, RICH_TEAMS } from '../support/rich-store.js'

const BIG_ROWS = Number(process.env['ROWSTASH_MOVE_ROWS'] ?? 3_000)
const BIG_FILES = Number(process.env['ROWSTASH_MOVE_FILES'] ?? 12)
const CHUNK_ROWS = 10_000

const { cli, folder, url: database, missing } = await cliOnPostgres()

const QUIET = { sweepIntervalMs: 0, foldIntervalMs: 0, fileSweepIntervalMs: 0 } as const

let schemas = 0

function newSchema(): Readonly<{ url: string; schema: string }> {
  const schema = `m${++schemas}`
  return { url: `${database}&schema=${schema}`, schema }
}

/** A store with something of everything, and a large table and files. @returns the IDs of these files */
async function makeSource(directory: string): Promise<readonly string[]> {
  const clock = new TestClock()
  const rich = await openDirectory(directory, { ...RICH_SIZES, clock })
  await fillRichly(rich, clock)
  await rich.close()
  const store = await openDirectory(directory, { ...QUIET, clock })
  const team = store.team('acme')
  const files: string[] = []
  for (let n = 0; n < BIG_FILES; n++) {
    const content = Buffer.alloc(1_000 * (1 + (n % 300)), `file ${n} `)
    const file = await team.files.put(content, { fileName: `${n}.txt`, contentType: 'text/plain' })
    files.push(file.id)
  }
  const stash = team.stash('big')
  for (let from = 0; from < BIG_ROWS; from += CHUNK_ROWS) {
    const length = Math.min(CHUNK_ROWS, BIG_ROWS - from)
    const rows = Array.from({ length }, (_, i) => ({
      n: from + i,
      text: `row ${from + i} ${'of a large table '.repeat(20)}`,
      isOdd: i % 2 === 1,
    }))
    await stash.put(String(from), { json: JSON.stringify(rows) })
  }
  const made = await team.createTable({ name: 'big', rows: stash })
  await team.table(made.tableId).updateRow(made.rowIds.at(1) ?? '', { text: 'changed' })
  await store.close()
  return files
}

type Content = Readonly<{ digests: ReadonlyMap<string, string>; versions: readonly number[] }>

/** Digests of all rows with their IDs, of schemas and of files; and the versions of all tables. */
async function contentOf(store: Store, files: readonly string[]): Promise<Content> {
  const digests = new Map<string, string>()
  const versions: number[] = []
  for (const teamId of RICH_TEAMS) {
    const team = store.team(teamId)
    for (const { id, name } of await team.tables()) {
      const hash = createHash('sha256')
      const table = team.table(id)
      let continuation: string | undefined
      do {
        const page = await table.pageBytes({ limit: 1_000, ...(continuation && { continuation }) })
        hash.update(page.json)
        continuation = page.continuation
      } while (continuation !== undefined)
      hash.update(JSON.stringify(await table.schema()))
      digests.set(`${teamId} ${name} ${id}`, hash.digest('hex'))
      versions.push(await table.version())
    }
  }
  for (const id of files) {
    const hash = createHash('sha256')
    const file = await store.team('acme').files.get(id)
    for await (const bytes of file?.stream() ?? []) hash.update(bytes)
    digests.set(`file ${id}`, file === null ? 'missing' : hash.digest('hex'))
  }
  return { digests, versions }
}

async function openMoved(schema: string): Promise<Store> {
  const at = { urls: [database], schema, onWarning: () => undefined }
  const store = await openStore({
    ...QUIET,
    kv: await openPostgresKv(at),
    objects: await openPostgresObjects(at),
  })
  onTestFinished(() => store.close())
  return store
}

async function contentIn(directory: string, files: readonly string[]): Promise<Content> {
  const store = await openDirectory(directory, { ...QUIET, clock: new TestClock() })
  try {
    return await contentOf(store, files)
  } finally {
    await store.close()
  }
}

function raised({ versions }: Content, times: number): readonly number[] {
  return versions.map((version) => version + times * RESTORED_VERSION_STEP)
}

describe.skipIf(missing !== undefined)(`on PostgreSQL${missing ? `, but ${missing}` : ''}`, () => {
  test('a store goes there and back, and is the same', async () => {
    const [source, back] = [join(folder, 'source'), join(folder, 'back')]
    const files = await makeSource(source)
    const before = await contentIn(source, files)
    expect([...before.digests.values()]).not.toContain('missing')
    const { url, schema } = newSchema()

    const there = await runCli(cli.path, ['move', '--from', source, '--to', url])
    if (BIG_ROWS > CHUNK_ROWS) console.log('there', there)
    expect(there).toMatchObject({ code: 0 })
    expect(there.stdout).toMatch(/^[0-9]+ records and [0-9]+ objects of .*, verified\n$/)
    const moved = await contentOf(await openMoved(schema), files)
    expect(moved.digests).toEqual(before.digests)
    expect(moved.versions).toEqual(raised(before, 1))

    const again = await runCli(cli.path, ['move', '--to', back], { ROWSTASH_POSTGRES: url })
    if (BIG_ROWS > CHUNK_ROWS) console.log('back', again)
    expect(again).toMatchObject({ code: 0 })
    const returned = await contentIn(back, files)
    expect(returned.digests).toEqual(before.digests)
    expect(returned.versions).toEqual(raised(before, 2))
    expect(await contentIn(source, files)).toEqual(before)
  })

  test('a target that is not empty is refused, and its servers go on', async () => {
    const source = join(folder, 'small')
    await (await openDirectory(source)).close()
    const { url, schema } = newSchema()
    const store = await openMoved(schema)
    await store.team('acme').createTable({ name: 'there', rows: [{ a: 1 }] })

    const ended = await runCli(cli.path, ['move', '--from', source, '--to', url])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('The target already has a store; move into an empty schema')
    await store.team('acme').createTable({ name: 'and then', rows: [{ a: 2 }] })
    const taken = await runCli(cli.path, ['move', '--from', url, '--to', source])
    expect(taken).toMatchObject({ code: 1, stdout: '' })
    expect(taken.stderr).toContain('a backup can only be restored into a new directory')
  })

  test('a source that a process has open is refused', async () => {
    const source = join(folder, 'open')
    const store = await openDirectory(source)
    onTestFinished(() => store.close())

    const ended = await runCli(cli.path, ['move', '--from', source, '--to', newSchema().url])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('open; stop it first, or its changes would be missing')
  })

  test('a copy that is not complete cannot be opened, and the message says what to do', async () => {
    const source = join(folder, 'damaged')
    const store = await openDirectory(source)
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ n }))
    await store.team('acme').createTable({ name: 'damaged', rows })
    await store.close()
    await damageAnObject(join(source, 'objects'))
    const { url, schema } = newSchema()

    const ended = await runCli(cli.path, ['move', '--from', source, '--to', url])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain(`before another attempt, drop the schema ${schema}`)
    const opened = await runCli(cli.path, ['verify', '--postgres', url])
    expect(opened).toMatchObject({ code: 2, stdout: '' })
    expect(opened.stderr).toContain(
      'is incomplete: it is being filled, or filling it was interrupted',
    )

    const client = await connectTo(database)
    await client.query(`drop schema ${schema} cascade`)
    const empty = join(folder, 'empty')
    await (await openDirectory(empty)).close()
    expect(await runCli(cli.path, ['move', '--from', empty, '--to', url])).toMatchObject({
      code: 0,
    })
  })

  test.each([
    [[], 'One of --from and --to must be a directory, and the other a postgres:// URL'],
    [['--from', 'a', '--to', 'b'], 'One of --from and --to must be a directory'],
    [['--from', 'postgres://a', '--to', 'postgres://b'], 'One of --from and --to must be a dir'],
    [['--from', 'a'], 'Specify the postgres:// URL with --to or ROWSTASH_POSTGRES'],
    [['--from', 'a', '--to', 'postgres://u:secret@h:99999'], '--to must be a URL of the form'],
    [['--from', 'a', '--to', 'postgres://h', '--s3', 'ftp://b'], '--s3 must be a URL of the form'],
  ])('move %j is refused with 2', async (args, problem) => {
    const ended = await runCli(cli.path, ['move', ...args])

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(problem)
    expect(ended.stderr).not.toContain('secret')
  })
})

/** Overwrites some bytes of the first object. */
async function damageAnObject(objects: string): Promise<void> {
  const names = await readdir(objects, { recursive: true, withFileTypes: true })
  const file = names.find((found) => found.isFile())
  if (file === undefined) throw new Error('There is no object')
  await writeFile(join(file.parentPath, file.name), 'damaged')
}
