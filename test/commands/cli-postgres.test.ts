// Goal: any number of `rowstash serve --postgres` processes can serve one store, and the other commands work on it too.
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseServeArgs } from '../../adapters/cli/commands/serve.js'
import {
  openSharedPorts,
  type PostgresPlace,
  parsePostgresPlace,
} from '../../adapters/cli/stores/postgres-place.js'
import { type Environment, runCli, type Serving, serveCli } from '../support/built-cli.js'
import { cliOnPostgres } from '../support/cli-on-postgres.js'
import { connectTo } from '../support/postgres-client.js'
import { ROOT, readText } from '../support/project.js'
import { S3Double } from '../support/s3-double.js'

const { cli, folder, url: database, missing } = await cliOnPostgres()

const KEY = 'a-key-for-the-tests'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

let schemas = 0

/** The URL of the server, with a new schema. */
function newUrl(): string {
  return `${database}&schema=c${++schemas}`
}

async function serve(env: Environment, ...args: string[]): Promise<Serving> {
  const serving = await serveCli(cli.path, args, env)
  serving.child.stdout?.resume()
  onTestFinished(async () => {
    if (serving.child.exitCode === null && serving.child.signalCode === null) await serving.stop()
  })
  return serving
}

async function ask(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, { headers: HEADERS, ...init })
  return { status: answer.status, body: (await answer.json()) as { data: unknown } }
}

async function post(url: string, body: unknown) {
  const { status, body: answer } = await ask(url, { method: 'POST', body: JSON.stringify(body) })
  expect(status).toBe(201)
  return answer.data as { tableID: string; rowIDs: string[] }
}

/** The rows of a table, from all of its pages. */
async function rowsOf(url: string, tableId: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let continuation = ''; ; ) {
    const query = continuation === '' ? '' : `&continuation=${continuation}`
    const { body } = await ask(`${url}/tables/${tableId}/rows?limit=1000${query}`)
    const page = body as { data: unknown[]; continuation?: string }
    rows.push(...page.data)
    if (page.continuation === undefined) return rows
    continuation = page.continuation
  }
}

const PEOPLE = Array.from({ length: 3_000 }, (_, n) => ({
  n,
  name: `Person ${n}`,
  odd: n % 2 === 1,
}))

async function killed({ child }: Serving): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

/** Two processes at once: one finishes the work that the other acknowledged and did not live to do. */
async function exchange(env: Environment): Promise<string> {
  const [first, second] = await Promise.all([serve(env), serve(env)])
  const { tableID } = await post(`${first.url}/tables`, { name: 'People', rows: PEOPLE })
  const rows = await rowsOf(second.url, tableID)
  expect(rows).toMatchObject(PEOPLE)
  const rowId = (rows[7] as { $rowID: string }).$rowID
  const chunk = JSON.stringify([{ n: -1 }, { n: -2 }])
  const put = await fetch(`${first.url}/stashes/s/0`, {
    method: 'PUT',
    headers: HEADERS,
    body: chunk,
  })
  expect(put.ok).toBe(true)

  await killed(first)
  const row = `${second.url}/tables/${tableID}/rows/${rowId}`
  const patch = { method: 'PATCH', body: JSON.stringify({ name: 'Changed' }) }
  expect((await ask(row, patch)).status).toBe(200)
  await post(`${second.url}/tables/${tableID}/rows`, { $stashID: 's' })

  const third = await serve(env)
  const found = await rowsOf(third.url, tableID)
  expect(found).toHaveLength(PEOPLE.length + 2)
  expect(found[7]).toMatchObject({ ...PEOPLE[7], name: 'Changed' })
  expect(found.slice(-2)).toMatchObject([{ n: -1 }, { n: -2 }])
  return tableID
}

describe.skipIf(missing !== undefined)(`on PostgreSQL${missing ? `, but ${missing}` : ''}`, () => {
  test('two processes serve one store, and go on when one is killed', async () => {
    const env = { ROWSTASH_POSTGRES: newUrl(), ROWSTASH_KEY: KEY }
    const tableId = await exchange(env)

    const verified = await runCli(cli.path, ['verify', '--full'], env)
    expect(verified).toMatchObject({ code: 0 })
    expect(verified.stdout).toMatch(/^full verify of 1 tables, 3002 rows.*nothing is damaged/)

    const file = join(folder, 'of-postgres.backup')
    expect(await runCli(cli.path, ['backup', file], env)).toMatchObject({ code: 0 })
    const directory = join(folder, 'restored')
    expect(await runCli(cli.path, ['restore', file, directory])).toMatchObject({ code: 0 })
    const restored = await serve({}, '--directory', directory, '--key', KEY)
    expect(await rowsOf(restored.url, tableId)).toHaveLength(3_002)
  })

  test('segments are in S3 if it is named, and a process that names another place is refused', async () => {
    const double = await S3Double.start()
    onTestFinished(() => double.stop())
    const { endpoint, bucket, credentials, region } = double.options()
    const { accessKeyId, secretAccessKey } = credentials as { [name: string]: string }
    const aws = {
      AWS_ACCESS_KEY_ID: accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: secretAccessKey ?? '',
      AWS_REGION: region ?? '',
    }
    const env = { ...aws, ROWSTASH_POSTGRES: newUrl(), ROWSTASH_KEY: KEY }
    const s3 = `${new URL(endpoint).origin}/${bucket}/store/one`

    // A command without a bucket does not bind a store that has no objects yet.
    expect(await runCli(cli.path, ['keys', 'add'], env)).toMatchObject({ code: 0 })
    await exchange({ ...env, ROWSTASH_S3: s3 })

    const keys = double.asked.filter(({ method }) => method === 'PUT').map(({ key }) => key)
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter((key) => !key.startsWith('store/one/'))).toEqual([])
    const without = await runCli(cli.path, ['serve', '--port', '0'], env)
    expect(without).toMatchObject({ code: 1, stdout: '' })
    expect(without.stderr).toContain('The objects of this store are in another bucket or prefix')
    const named = `s3://${bucket}/store/two`
    const other = await runCli(cli.path, ['verify', '--s3', named], {
      ...env,
      AWS_ENDPOINT_URL: new URL(endpoint).origin,
    })
    expect(other).toMatchObject({ code: 2, stdout: '' })
  })

  test('keys are those of the store; without any it does not serve', async () => {
    const url = newUrl()
    const none = await runCli(cli.path, ['serve', '--postgres', url, '--port', '0'])
    expect(none).toMatchObject({ code: 2, stdout: '' })
    expect(none.stderr).toContain('The store in PostgreSQL has no API key; create one with')

    const added = await runCli(cli.path, ['keys', 'add', '--postgres', url])
    expect(added.code).toBe(0)
    const serving = await serve({}, '--postgres', url)
    const headers = { authorization: `Bearer ${added.stdout.trim()}` }
    expect((await ask(`${serving.url}/tables`, { headers })).status).toBe(200)
    expect((await ask(`${serving.url}/tables`)).status).toBe(404)
  })

  test('what the server of PostgreSQL refuses is told, with its place and advice', async () => {
    const url = newUrl()
    const wrong = url.replace('/postgres?', '/missing?').replace('rowstash@', 'rowstash:secret@')
    const ended = await runCli(cli.path, ['verify', '--postgres', wrong])

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/PostgreSQL at \S+:5432\/missing cannot be used: .*create it/)
    expect(ended.stderr).toContain('Other users of this machine see the password in --postgres')
    expect(ended.stderr).not.toContain('secret')
  })

  test('a standby is not taken for missing: the message names it', async () => {
    const client = await connectTo(database)
    await client.query('create role reader login')
    await client.query('alter role reader set default_transaction_read_only = on')
    const url = newUrl().replace('rowstash@', 'reader@')

    await expect(openAt(url)).rejects.toThrow('it is a standby')
  })

  test('other places need neither pg nor aws4fetch', async () => {
    const lone = join(folder, 'lone')
    await cp(dirname(cli.path), lone, { recursive: true })
    await writeFile(join(lone, 'package.json'), '{ "type": "module" }')
    await mkdir(join(lone, 'node_modules'))
    const { dependencies } = JSON.parse(readText('package.json')) as { dependencies: object }
    for (const name of Object.keys(dependencies)) {
      await symlink(join(ROOT, 'node_modules', name), join(lone, 'node_modules', name))
    }
    const path = join(lone, basename(cli.path))

    const serving = await serveCli(path, ['--memory', '--key', KEY])
    expect(await serving.stop()).toBe(0)
    const ended = await runCli(path, ['serve', '--postgres', newUrl(), '--key', KEY])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('npm install pg')
  })
})

function openAt(url: string) {
  const place = parsePostgresPlace({ postgres: [url] }, {}) as PostgresPlace
  return openSharedPorts(place, { warn: () => undefined, retryMsMax: 100 })
}

test('a server that cannot be reached is named, without the password', async () => {
  const opened = openAt('postgres://u:secret@127.0.0.1:1/rows')

  await expect(opened).rejects.toThrow(
    /^PostgreSQL at 127\.0\.0\.1:1\/rows cannot be used: .*: nothing listens there; start the server/,
  )
  await expect(opened).rejects.not.toThrow(/secret/)
})

test.each([
  [
    ['--directory', 'd', '--postgres', 'postgres://h/d'],
    {},
    '--postgres cannot be combined with a directory',
  ],
  [['--memory', '--s3', 's3://b'], {}, '--s3 cannot be combined with a directory or --memory'],
  [['--s3', 's3://b'], {}, '--s3 needs --postgres or ROWSTASH_POSTGRES, too'],
  [[], { ROWSTASH_S3: 's3://b' }, 'ROWSTASH_S3 needs --postgres or ROWSTASH_POSTGRES, too'],
  [['--postgres', 'mysql://u:secret@h'], {}, '--postgres must be a URL of the form postgres://'],
  [['--postgres', 'postgres://u:secret@h:99999/d'], {}, '--postgres must be a URL of the form'],
  [[], { ROWSTASH_POSTGRES: 'postgres://u:se#cret@h' }, 'ROWSTASH_POSTGRES must be a URL'],
  [
    ['--postgres', 'postgres://h', '--accept-loss'],
    {},
    '--accept-loss cannot be combined with --postgres',
  ],
  [
    ['--postgres', 'postgres://a?schema=x', '--postgres', 'postgres://b?schema=y'],
    {},
    'The URLs of --postgres must have the same schema and pgbouncer',
  ],
  [['--postgres', 'postgres://h', '--s3', 's3://b'], {}, 'no server is set; set AWS_R'],
  [
    ['--postgres', 'postgres://h', '--s3', 'https://u:secret@h/b'],
    {},
    '--s3 must have no credentials; set AWS_ACCESS_KEY_ID',
  ],
  [['--postgres', 'postgres://h', '--s3', 'https://h'], {}, '--s3 has no bucket; write s3://'],
  [['--postgres', 'postgres://h', '--s3', 'ftp://h/b'], {}, '--s3 must be a URL of the form s3://'],
  [
    ['--postgres', 'postgres://h', '--s3', 'https://h/b'],
    { AWS_ACCESS_KEY_ID: 'a' },
    '--s3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment',
  ],
])('serve %j with %j is refused', (args, env, problem) => {
  const message = expect.stringContaining(problem)
  const parse = () => parseServeArgs(args, env)

  expect(parse).toThrow(expect.objectContaining({ kind: 'usage', message }))
  expect(parse).not.toThrow(/secret|se#cret/)
})

test('places are read from options, else from the environment', () => {
  const aws = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'eu-x-1' }
  const env = { ROWSTASH_POSTGRES: 'postgres://a/d postgres://b/d', ROWSTASH_S3: 's3://rows/p/q' }

  expect(parseServeArgs([], { ...env, ...aws })).toMatchObject({
    directory: undefined,
    postgres: {
      urls: ['postgres://a/d', 'postgres://b/d'],
      schema: undefined,
      pgBouncer: false,
      exposed: undefined,
      s3: {
        endpoint: 'https://s3.eu-x-1.amazonaws.com',
        bucket: 'rows',
        keyPrefix: 'p/q/',
        region: 'eu-x-1',
        credentials: { accessKeyId: 'a', secretAccessKey: 's' },
      },
    },
  })
  const given = ['--postgres', 'postgres://u:p@c/d?schema=x&pgbouncer=true', '--s3', 'http://h:9/b']
  expect(parseServeArgs(given, { ...env, ...aws })).toMatchObject({
    postgres: {
      urls: ['postgres://u:p@c/d?schema=x&pgbouncer=true'],
      schema: 'x',
      pgBouncer: true,
      exposed: '--postgres',
      s3: { endpoint: 'http://h:9', bucket: 'b' },
    },
  })
  expect(parseServeArgs(['--memory'], env)).toMatchObject({ postgres: null })
  expect(parseServeArgs(['--directory', '/d'], env)).toMatchObject({
    directory: '/d',
    postgres: null,
  })
})
