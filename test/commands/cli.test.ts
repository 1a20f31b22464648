import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseImportArgs } from '../../adapters/cli/commands/import-args.js'
import { parseServeArgs, parseTeamKey, runServe } from '../../adapters/cli/commands/serve.js'
import { type BuiltCli, buildCli, runCli, type Serving, serveCli } from '../support/built-cli.js'
import { sampleOf } from '../support/what-runs.js'

let cli: BuiltCli
let folder: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function serve(...args: string[]): Promise<Serving> {
  const serving = await serveCli(cli.path, args)
  onTestFinished(async () => {
    if (serving.child.exitCode === null) await serving.stop()
  })
  return serving
}

type Answer = { data: Record<string, unknown>[]; continuation?: string }

async function fetchJson(url: string, key: string): Promise<Answer> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  return (await response.json()) as Answer
}

/** All rows of the only table, without their IDs, read page by page. */
async function allRows(url: string, key: string): Promise<unknown[]> {
  const tables = await fetchJson(`${url}/tables`, key)
  const rows: unknown[] = []
  let continuation: string | undefined
  do {
    const query = continuation === undefined ? '' : `&continuation=${continuation}`
    const path = `/tables/${tables.data.at(-1)?.['id']}/rows?limit=700${query}`
    const page = await fetchJson(url + path, key)
    for (const { $rowID, ...row } of page.data) rows.push(row)
    continuation = page.continuation
  } while (continuation !== undefined)
  return rows
}

const KEY = 'a-key-for-the-tests'

describe('rowstash serve', () => {
  test('makes a key at the first start, keeps it for its owner only, and does not print it again', async () => {
    const directory = join(folder, 'with-key')
    const first = await serve('--directory', directory)
    const [, key] = /^key (\S+) \(kept in .*key\)$/.exec(first.lines[0] ?? '') ?? []
    await first.stop()
    const second = await serve('--directory', directory)

    expect(first.lines).toHaveLength(2)
    expect(await readFile(join(directory, 'key'), 'utf8')).toBe(`${key}\n`)
    expect((await stat(join(directory, 'key'))).mode & 0o777).toBe(0o600)
    const names = await readdir(directory)
    expect(names.map((name) => name.replace(/^OWNER\..+/, 'OWNER')).sort()).toEqual([
      'FORMAT',
      'HIGHWATER',
      'OWNER', // the record of the second server, which is running
      'key',
      'kv',
      'objects',
      'served',
    ])
    expect(second.lines.join()).not.toContain(key)
    expect(await fetchJson(`${second.url}/tables`, key ?? '')).toEqual({ data: [] })
  })

  test('ends with 1 when another process has the directory', async () => {
    const directory = join(folder, 'held')
    const first = await serve('--directory', directory, '--key', KEY)

    const second = await runCli(cli.path, ['serve', '--directory', directory, '--port', '0'])

    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toMatch(
      /^rowstash: Another process \(\d+ on \S+\) has the directory .*held open\n$/,
    )
    expect(await first.stop()).toBe(0)
  })

  test('serves also where it cannot note its address', async () => {
    const directory = join(folder, 'unnoted')
    await (await serve('--directory', directory, '--key', KEY)).stop()
    await mkdir(join(directory, 'served'))

    const { url, stop } = await serve('--directory', directory, '--key', KEY)

    expect(await fetchJson(`${url}/tables`, KEY)).toEqual({ data: [] })
    expect(await stop()).toBe(0)
  })

  test('ends with 1 in a directory of somebody else, which stays as it is', async () => {
    const directory = await mkdtemp(join(folder, 'foreign-'))
    await writeFile(join(directory, 'letter.txt'), 'Dear Ada')

    const ended = await runCli(cli.path, ['serve', '--directory', directory, '--port', '0'])

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/neither empty nor a store\n$/)
    expect(await readdir(directory)).toEqual(['letter.txt'])
  })

  test('ends with 1 when its port is in use', async () => {
    const { url } = await serve('--memory', '--key', KEY)
    const args = ['serve', '--memory', '--key', KEY, '--port', new URL(url).port]

    const ended = await runCli(cli.path, args)

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: Port [0-9]+ of 127\.0\.0\.1 is in use\n$/)
  })

  test('finishes what it was asked before SIGTERM, then ends with 0', async () => {
    const { url, child } = await serve('--memory', '--key', KEY)
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const sent = request(`${url}/stashes/slow/0`, { method: 'PUT', headers })
    const status = new Promise((resolve, reject) => {
      sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
    })
    await new Promise((written) => sent.write('[{"a":', written))
    // When the second answer arrives, the server has accepted the other connection and read its bytes.
    for (const _ of ['first', 'second']) await fetch(`${url}/tables`, { headers })

    child.kill('SIGTERM')
    const refused = () => fetch(`${url}/tables`).catch((failure: Error) => failure.name)
    await expect.poll(refused, { interval: 5 }).toBe('TypeError')
    sent.end('1}]')

    expect(await status).toBe(200)
    await expect.poll(() => child.exitCode).toBe(0)
  })

  test('ends after SIGTERM, whatever a client does, and logs without secrets', async () => {
    const { url, child } = await serve('--memory', '--key', KEY, '--log')
    let log = ''
    child.stdout?.on('data', (piece) => {
      log += piece
    })
    child.stdout?.resume()
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    await fetch(`${url}/tables?secret`, { headers })
    const held = request(`${url}/stashes/held/0`, { method: 'PUT', headers })
    held.on('error', () => {})
    await new Promise((written) => held.write('[{"a":', written))
    for (const _ of ['first', 'second']) await fetch(`${url}/tables?secret`, { headers })

    child.kill('SIGTERM')
    await expect.poll(() => child.exitCode).toBe(0)

    const [line = ''] = log.split('\n').filter((text) => text.startsWith('{'))
    expect(JSON.parse(line)).toMatchObject({ level: 'info', operation: 'GET /tables', status: 200 })
    expect(log).not.toMatch(/secret|Bearer/)
    expect(log).not.toContain(KEY)
  })

  test('answers under the path of its base URL, to the keys of its teams', async () => {
    const base = 'http://example.test/api/v2/'
    const child = await serve(
      '--memory',
      '--host',
      '127.0.0.1',
      '--base-url',
      base,
      '--key',
      `${KEY}=a`,
    )

    expect(child.url).toBe('http://example.test/api/v2')
  })

  test('fetches uploads by URL, from private addresses only where it is told to', async () => {
    const source = createServer((_, response) => response.end('a file'))
    await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void source.close())
    const sourceURL = `http://127.0.0.1:${(source.address() as AddressInfo).port}/a.txt`
    const upload = async (url: string) => {
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ sourceURL })
      const answer = await fetch(`${url}/apps/a/uploads`, { method: 'POST', headers, body })
      return (await answer.json()) as { data?: { url: string }; error?: { type: string } }
    }
    const closed = await serve('--memory', '--key', KEY)
    const files = ['--public-base-url', 'https://files.example.test/x/']
    const open = await serve('--memory', '--key', KEY, '--allow-private-sources', ...files)

    expect((await upload(closed.url)).error?.type).toBe('source_url_not_allowed')
    const { data } = await upload(open.url)
    expect(data?.url).toMatch(/^https:\/\/files\.example\.test\/x\/files\/rsf-[^/]{32}\/a\.txt$/)
    const read = await fetch(data?.url.replace(/^.*\/x/, open.url) ?? '')
    expect(await read.text()).toBe('a file')
  })
})

describe('the command line', () => {
  const REFUSED: readonly (readonly [string[], string])[] = [
    [[], 'Usage: rowstash COMMAND'],
    [['server'], 'No command "server"'],
    [['serve', '--prot', '1'], "Unknown option '--prot'"],
    [['serve', '--port', '65536'], '--port must be an integer from 0 to 65535, not "65536"'],
    [['serve', '--memory', '--directory', 'x'], 'not both'],
    [['serve', '--base-url', 'localhost:80'], '--base-url must be an http or https URL'],
    [['serve', '--base-url', 'http://a:b@c'], '--base-url must be an http or https URL'],
    [['serve', '--keyless-per-address', '0'], '--keyless-per-address must be an integer from 1 to'],
    [['serve', '--public-base-url', 'ftp://x'], '--public-base-url must be an http or https URL'],
    [['import', '--url', 'http://x', '--key', 'k', '--table', 'T'], 'Specify at least one file'],
    [['import', 'a.json', '--url', 'http://x', '--table', 'T'], 'Specify --key'],
    [['import', 'a.json', '--key', 'k', '--table', 'T'], 'Specify --directory or --url'],
    [
      ['import', 'a.txt', '--url', 'http://x', '--key', 'k', '--table', 'T'],
      'use --format csv, tsv, json, ndjson',
    ],
    [
      ['import', 'a.json', 'b.json', '--url', 'http://x', '--key', 'k'],
      'Several files need --table or --table-id',
    ],
    [
      ['import', 'a.json', '--url', 'http://x', '--key', 'k', '--table-id', 'i', '--mode', 'x'],
      '--mode must be create, add, overwrite or merge',
    ],
    [
      ['import', 'a.json', '--directory', 'x', '--table', 'T', '--mode', 'merg', '--by', 'email'],
      '--mode must be create, add, overwrite or merge, not "merg"; did you mean "merge"?',
    ],
    [
      ['import', 'a.json', '--url', 'http://x', '--key', 'k', '--table-id', 'i', '--mode', 'merge'],
      '--mode merge needs --by COLUMN',
    ],
  ]
  test.each(sampleOf(REFUSED, 4))('%j is refused with 2', async (args, problem) => {
    const ended = await runCli(cli.path, args)

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(problem)
  })

  test.each([[['--help']], [['serve', '--help']], [['import', '--help']]])(
    '%j tells the usage',
    async (args) => {
      const ended = await runCli(cli.path, args)

      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect(ended.stdout).toMatch(/^Usage: rowstash/)
    },
  )

  test('tells its version', async () => {
    const { version } = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    )

    expect((await runCli(cli.path, ['--version'])).stdout).toBe(`${version}\n`)
  })

  test('takes port and key from the environment', () => {
    const env = { PORT: '99', ROWSTASH_KEY: 'k=t' }

    expect(parseServeArgs([], env)).toMatchObject({ port: 99, keys: [{ key: 'k', teamId: 't' }] })
    expect(parseServeArgs(['--keyless-per-address', '7'], env)).toMatchObject({
      connections: { keylessPerAddressMax: 7 },
    })
    expect(parseServeArgs(['--port', '1', '--key', 'x'], env)).toMatchObject({
      port: 1,
      keys: [{ key: 'x', teamId: 'default' }],
    })
  })

  test.each([
    ['', 'ROWSTASH_KEY is empty'],
    ['undefined', 'ROWSTASH_KEY is the string "undefined"'],
    ['null=team', 'ROWSTASH_KEY is the string "null"'],
    ['two words', 'ROWSTASH_KEY is not a key'],
  ])('names the variable when the key in it is %j', (text, problem) => {
    const wrong = expect.objectContaining({
      kind: 'usage',
      message: expect.stringContaining(problem),
    })
    const importing = ['rows.csv', '--url', 'http://localhost', '--table', 'Rows']

    expect(() => parseServeArgs([], { ROWSTASH_KEY: text })).toThrow(wrong)
    if (text.includes('=')) return
    expect(() => parseImportArgs(importing, { ROWSTASH_KEY: text })).toThrow(wrong)
    expect(() => parseImportArgs([...importing, '--key', text], {})).toThrow('--key')
  })

  test('warns of a key that can be guessed, and serves', async () => {
    const ended = new AbortController()
    const lines: string[] = []
    await runServe(['--memory', '--port', '0', '--key', 'short'], {
      print: () => ended.abort(),
      warn: (line) => lines.push(line),
      env: {},
      signal: ended.signal,
    })

    expect(lines).toEqual([
      expect.stringMatching(/^rowstash: API keys of fewer than 16 char.* \(short: --key\)$/),
    ])
  })

  test('reads a key with its team', () => {
    expect(parseTeamKey('abc')).toEqual({ key: 'abc', teamId: 'default' })
    expect(parseTeamKey('abc=team 1')).toEqual({ key: 'abc', teamId: 'team 1' })
    expect(parseTeamKey('YWJj==')).toEqual({ key: 'YWJj==', teamId: 'default' })
    expect(parseTeamKey('YWJj===team')).toEqual({ key: 'YWJj==', teamId: 'team' })
  })
})

describe('rowstash import', () => {
  const rows = Array.from({ length: 2_345 }, (_, n) => ({
    id: n,
    name: `name "${n}", é\n😀`,
    price: n / 4,
    isOdd: n % 2 === 1,
  }))
  const csv = [
    'id,name,price,isOdd\r\n',
    ...rows.map(
      ({ id, name, price, isOdd }) => `${id},"${name.replaceAll('"', '""')}",${price},${isOdd}\r\n`,
    ),
  ].join('')
  const sources = {
    'rows.json': JSON.stringify(rows, null, 1),
    'rows.ndjson': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    'rows.csv': `\ufeff${csv}`,
    'rows.tsv': csv.replaceAll(',', '\t'),
  }

  async function importRows(url: string, paths: readonly string[], ...args: string[]) {
    return runCli(cli.path, ['import', ...paths, '--url', url, '--key', KEY, ...args])
  }

  test.each(Object.entries(sources))('of %s gives the same rows in order', async (name, text) => {
    const path = join(folder, name)
    await writeFile(path, text)
    const { url } = await serve('--memory', '--key', KEY)

    const ended = await importRows(url, [path], '--table', 'Rows', '--chunk-rows', '100')

    expect(ended.stderr).toBe('')
    expect(ended.stdout).toMatch(
      /^rows: 2345\nseconds: [\d.]+\nrows\/s: \d+\ntable: [-0-9a-f]{36}\ncolumns:\n/,
    )
    expect(ended.stdout.split('columns:\n')[1]).toBe(
      '  id     number\n  name   string\n  price  number\n  isOdd  boolean\n',
    )
    expect(await allRows(url, KEY)).toEqual(
      name === 'rows.tsv'
        ? rows.map((row) => ({ ...row, name: row.name.replace(',', '\t') }))
        : rows,
    )
    expect((await fetchJson(`${url}/tables`, KEY)).data).toMatchObject([{ name: 'Rows' }])
  })

  test('of several files makes one table, and later adds to it or overwrites it', async () => {
    const first = join(folder, 'first.csv')
    const second = join(folder, 'second.csv')
    await writeFile(first, 'a,b\n1,x\n2,y\n')
    await writeFile(second, 'b,a\nz,3\n')
    const { url } = await serve('--memory', '--key', KEY)
    const created = await importRows(url, [first, second], '--table', 'Both')
    const tableId = /table: (\S+)/.exec(created.stdout)?.[1] ?? ''
    const both = [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
      { a: 3, b: 'z' },
    ]
    expect(await allRows(url, KEY)).toEqual(both)

    const added = await importRows(url, [second], '--table-id', tableId, '--mode', 'add')
    expect(added).toMatchObject({ code: 0, stderr: '' })
    expect(await allRows(url, KEY)).toEqual([...both, both[2]])

    const written = await importRows(url, [first], '--table-id', tableId, '--mode', 'overwrite')
    expect(written.stdout).toContain(`rows: 2\n`)
    expect(written.stdout).toContain(`table: ${tableId}\n`)
    expect(await allRows(url, KEY)).toEqual(both.slice(0, 2))
  })

  test('shows the message of the server and ends with 1, and no table is left', async () => {
    const path = join(folder, 'bad.json')
    await writeFile(path, '[{"a":1},{"a":1 2}]')
    const { url } = await serve('--memory', '--key', KEY)

    const ended = await importRows(url, [path], '--table', 'Bad')

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: (?!Invalid request).* in \S+bad\.json, line 1.*\n$/)
    expect((await fetchJson(`${url}/tables`, KEY)).data).toEqual([])
  })

  test('with a wrong key fails, and the message says that the key is wrong', async () => {
    const path = join(folder, 'one.json')
    await writeFile(path, '[{"a":1}]')
    const { url } = await serve('--memory', '--key', KEY)
    const args = ['import', path, '--url', url, '--key', 'no-such-key', '--table', 'T']

    const ended = await runCli(cli.path, args)

    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('API key not found, or duplicate no****ey')
  })
})
