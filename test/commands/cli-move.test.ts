// Goal: `rowstash move` copies a whole store from a directory to PostgreSQL and back, and no version denotes two
// contents.
//
// By hand, at the size of ROWSTASH_MOVE_ROWS and ROWSTASH_MOVE_FILES: see test/README.md.
import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { openPostgresKv } from '../../adapters/postgres/postgres-kv.js'
import { openPostgresObjects } from '../../adapters/postgres/postgres-objects.js'
import { openS3Objects } from '../../adapters/s3/s3-objects.js'
import type { S3Options } from '../../adapters/s3/s3-options.js'
import type { Store } from '../../src/index.js'
import { createContract, openStore } from '../../src/index.js'
import { RESTORED_VERSION_STEP } from '../../src/kv/version-base.js'
import { testClock } from '../conformance/test-clock.js'
import { runCli } from '../support/built-cli.js'
import { cliOnPostgres } from '../support/cli-on-postgres.js'
import { connectTo } from '../support/postgres-client.js'
import { fillRichly, RICH_SIZES, RICH_TEAMS } from '../support/rich-store.js'
import { S3Double } from '../support/s3-double.js'

const BIG_ROWS = Number(process.env['ROWSTASH_MOVE_ROWS'] ?? 3_000)
const BIG_FILES = Number(process.env['ROWSTASH_MOVE_FILES'] ?? 12)
const CHUNK_ROWS = 10_000

const { cli, folder, url: database, missing } = await cliOnPostgres()

const QUIET = {
  maintenance: false,
} as const

let schemas = 0

function newSchema(): Readonly<{ url: string; schema: string }> {
  const schema = `m${++schemas}`
  return { url: `${database}&schema=${schema}`, schema }
}

/** A store with every kind of content, and a large table and files. @returns the IDs of these files */
async function makeSource(directory: string): Promise<readonly string[]> {
  const clock = testClock()
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

/** Digests of all rows with their IDs, of schemas and of files; usable stashes; and the versions of all tables. */
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
    digests.set(`stashes of ${teamId}`, JSON.stringify(await team.stashes()))
  }
  for (const id of files) {
    const hash = createHash('sha256')
    const file = await store.team('acme').files.get(id)
    for await (const bytes of file?.stream() ?? []) hash.update(bytes)
    digests.set(`file ${id}`, file === null ? 'missing' : hash.digest('hex'))
  }
  return { digests, versions }
}

/** @param s3 - The store's bucket. Default: its objects are in PostgreSQL. */
async function openMoved(schema: string, s3?: S3Options): Promise<Store> {
  const at = { urls: [database], schema, onWarning: () => undefined }
  const store = await openStore({
    ...QUIET,
    kv: await openPostgresKv(at),
    objects: await (s3 === undefined ? openPostgresObjects(at) : openS3Objects(s3)),
  })
  onTestFinished(() => store.close())
  return store
}

async function within<T>(directory: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openDirectory(directory, { ...QUIET, clock: testClock() })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

function contentIn(directory: string, files: readonly string[]): Promise<Content> {
  return within(directory, (store) => contentOf(store, files))
}

/** Changes a row of the large table. @returns the versions before and after as clients see them: the ETags */
async function writeOnce(store: Store): Promise<readonly string[]> {
  const key = 'a-key-that-the-test-made'
  const contract = createContract(store, { keys: [{ key, teamId: 'acme' }] })
  const table = await store.team('acme').tableByName('big')
  if (table === null) throw new Error('There is no large table')
  const etag = async (): Promise<string> => {
    const headers: [string, string][] = [['authorization', `Bearer ${key}`]]
    const path = `/tables/${table.id}/rows`
    const request = { method: 'HEAD', path, query: '', headers, body: NO_BODY }
    return String((await contract.handle(request)).headers['etag'])
  }
  const before = await etag()
  const [row] = (await table.page({ limit: 1 })).rows
  await table.updateRow(row?.$rowID ?? '', { text: `written after ${before}` })
  return [before, await etag()]
}

const NO_BODY = (async function* (): AsyncGenerator<Uint8Array> {})()

function raised({ versions }: Content, times: number): readonly number[] {
  return versions.map((version) => version + times * RESTORED_VERSION_STEP)
}

describe.skipIf(missing !== undefined)(`on PostgreSQL${missing ? `, but ${missing}` : ''}`, () => {
  test.each([
    ['PostgreSQL', false],
    ['PostgreSQL and S3', true],
  ])('a store goes to %s and back, is the same, and repeats no version', async (name, isInS3) => {
    const [source, back] = [join(folder, `source of ${name}`), join(folder, `back from ${name}`)]
    const files = await makeSource(source)
    const before = await contentIn(source, files)
    expect([...before.digests.values()]).not.toContain('missing')
    const { url, schema } = newSchema()
    const bucket = isInS3 ? await bucketOf(schema) : undefined
    const env = bucket?.env ?? {}

    const there = await runCli(cli.path, ['move', '--from', source, '--to', url], env)
    if (BIG_ROWS > CHUNK_ROWS) console.log('there', there)
    expect(there).toMatchObject({ code: 0 })
    expect(there.stdout).toMatch(/^[0-9]+ records and [0-9]+ objects of .*, verified\n$/)
    const store = await openMoved(schema, bucket?.options)
    const moved = await contentOf(store, files)
    expect(moved.digests).toEqual(before.digests)
    expect(moved.versions).toEqual(raised(before, 1))
    const seen = [...(await writeOnce(store))]
    const written = await contentOf(store, files)
    await store.close()
    expect((await objectsIn(schema)) === 0).toBe(isInS3)

    const again = await runCli(cli.path, ['move', '--to', back], { ...env, ROWSTASH_POSTGRES: url })
    if (BIG_ROWS > CHUNK_ROWS) console.log('back', again)
    expect(again).toMatchObject({ code: 0 })
    const returned = await contentIn(back, files)
    expect(returned.digests).toEqual(written.digests)
    expect(returned.versions).toEqual(raised(written, 1))
    seen.push(...(await within(back, writeOnce)))

    // The source is written to again, although it should not be: its versions differ from those of both targets.
    expect(await contentIn(source, files)).toEqual(before)
    seen.push(...(await within(source, writeOnce)))
    expect(new Set(seen).size).toBe(6)
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
    expect(ended.stderr).toContain(
      'open; stop the server first: the copy would miss its later changes',
    )
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
    expect(opened.stderr).toContain('is incomplete: a copy into it is running, or was interrupted')

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

/** A bucket for a store, and the variables that make commands use it. */
async function bucketOf(name: string) {
  const double = await S3Double.start()
  onTestFinished(() => double.stop())
  const options = double.options({ keyPrefix: `${name}/` })
  const { endpoint, bucket, region, credentials } = options
  if (typeof credentials === 'function') throw new Error('The keys of the double are constant')
  const env = {
    ROWSTASH_S3: `${endpoint}/${bucket}/${name}`,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: region ?? '',
  }
  return { options, env }
}

/** The number of objects in tables of a schema. */
async function objectsIn(schema: string): Promise<number> {
  const client = await connectTo(database)
  const { rows } = await client.query(
    `select to_regclass('${schema}.objects') is not null as exist`,
  )
  if (rows[0]?.exist !== true) return 0
  return (await client.query(`select count(*)::int from ${schema}.objects`)).rows[0]?.count
}

/** Overwrites some bytes of the first object. */
async function damageAnObject(objects: string): Promise<void> {
  const names = await readdir(objects, { recursive: true, withFileTypes: true })
  const file = names.find((found) => found.isFile())
  if (file === undefined) throw new Error('There is no object')
  await writeFile(join(file.parentPath, file.name), 'damaged')
}
