// How commands end: exit codes, interrupts, and outputs that nobody reads.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { type BuiltCli, buildCli, type Ended, runCli, serveCli } from '../support/built-cli.js'
import { type Asked, fakeServer } from '../support/fake-server.js'
import { freePort } from '../support/free-port.js'

let cli: BuiltCli
let folder: string
let rowsFile: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-'))
  rowsFile = join(folder, 'rows.csv')
  await writeFile(rowsFile, 'a,b\n1,x\n2,y\n')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

const KEY = 'a-key-for-the-tests'
const COMMANDS = ['serve', 'import', 'verify', 'backup', 'restore']

function importInto(url: string, ...args: string[]): string[] {
  return ['import', rowsFile, '--url', url, '--key', KEY, '--table', 'Rows', ...args]
}

/** A command whose output is read up to here; it can be sent signals. */
function start(args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [cli.path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (piece) => {
      texts[name] += piece
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...texts }))
  return { child, ended }
}

describe('help', () => {
  test.each(COMMANDS)('of %s is told by -h, by --help and by help', async (name) => {
    const [short, long, named] = await Promise.all([
      runCli(cli.path, [name, '-h']),
      runCli(cli.path, [name, '--help']),
      runCli(cli.path, ['help', name]),
    ])

    expect(short).toMatchObject({ code: 0, stderr: '' })
    expect(short.stdout).toMatch(new RegExp(`^Usage: rowstash ${name} [^]*-h, --help `))
    expect([long, named]).toEqual([short, short])
  })

  test('of all commands is told by -h', async () => {
    const ended = await runCli(cli.path, ['-h'])

    expect(ended).toMatchObject({ code: 0, stderr: '' })
    for (const name of COMMANDS) expect(ended.stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  })
})

test('a command does not end before it has its answer, though nothing else keeps the process alive', async () => {
  const fetch = `globalThis.fetch = () =>
    new Promise((resolve) => setTimeout(() => resolve(new Response('rowstash_rows 3')), 50).unref())`
  const args = ['stats', '--url', 'http://127.0.0.1:8080', '--key', KEY]
  const start = `--import=data:text/javascript,${encodeURIComponent(fetch)}`
  const ended = await runCli(cli.path, args, { NODE_OPTIONS: start })

  expect(ended).toEqual({ code: 0, stdout: 'rowstash_rows\t3\n', stderr: '' })
})

describe('a wrong command line is one line that names the help', () => {
  test.each([
    ...COMMANDS.map((name): [string[], string] => [[name, '-x'], `rowstash ${name} --help`]),
    ...COMMANDS.map((name): [string[], string] => [[name, '--x=1'], `rowstash ${name} --help`]),
    [['serve', '--port'], 'rowstash serve --help'],
    [['serve', '--port', '-1'], 'rowstash serve --help'],
    [['serve', 'a', 'b'], 'rowstash serve --help'],
    [['import'], 'rowstash import --help'],
    [
      ['import', 'package.json', '--url', 'x:y', '--table', 'T', '--key', KEY],
      'rowstash import --help',
    ],
    [['verify'], 'rowstash verify --help'],
    [['backup', 'a'], 'rowstash backup --help'],
    [['restore', 'a', 'b', 'c'], 'rowstash restore --help'],
    [['--x'], 'rowstash --help'],
  ])('%j', async (args, help) => {
    const ended = await runCli(cli.path, args)

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: [^\n]+(?:; see|\? See) [^\n]+\n$/)
    expect(ended.stderr.endsWith(`ee ${help}\n`)).toBe(true)
  })
})

test.each([
  [['imprt', 'a.csv'], `No command "imprt"; did you mean "import"? See rowstash --help`],
  [['list'], `No command "list"; see rowstash --help`],
  [
    ['import', 'a.csv', '--tabel', 'T'],
    `Unknown option '--tabel'; did you mean --table? See rowstash import --help`,
  ],
  [
    ['rows', '--key', '--url'],
    '--key needs a value; a value that begins with a dash is given as --key=VALUE; see rowstash rows --help',
  ],
])('%j is told what was meant', async (args, line) => {
  expect(await runCli(cli.path, args)).toEqual({
    code: 2,
    stdout: '',
    stderr: `rowstash: ${line}\n`,
  })
})

describe('an import that cannot begin', () => {
  test.each(['127.0.0.1', 'localhost'])(
    'ends at once, with one line, where nothing listens on %s',
    async (host) => {
      const url = `http://${host}:${await freePort()}`
      const ended = await runCli(cli.path, importInto(url))

      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toMatch(/^rowstash: No server answers at [^\n]+ ECONNREFUSED [^\n]+\n$/)
      expect(ended.stderr).toContain(url)
    },
  )

  test('ends with one line where the host is not known', async () => {
    const ended = await runCli(cli.path, importInto('http://no-such-host.invalid'))

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: No server answers at [^\n]+ (ENOTFOUND|EAI_AGAIN) /)
    expect(ended.stderr.split('\n')).toHaveLength(2)
  })

  test('ends at once, with one line, where what answers is not HTTP', async () => {
    let asked = 0
    const server = createServer((socket) => {
      asked++
      socket.on('error', () => undefined)
      socket.end('SSH-2.0-x\r\n')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo

    const ended = await runCli(cli.path, importInto(`http://127.0.0.1:${port}`))

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /^rowstash: No server answers at [^\n]+: Response does not match[^\n]+\n$/,
    )
    expect(asked).toBe(1)
  })

  test('ends with one line where the server speaks no TLS', async () => {
    const { url } = await fakeServer(() => ({ status: 200 }))

    const ended = await runCli(cli.path, importInto(url.replace('http:', 'https:')))

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: No server answers at https:[^\n]+\n$/)
  })

  test.each([
    [
      'another server',
      {},
      /There is no rowstash API at (.*\/api)\/\S+ \(status 404\): is the base path,/,
    ],
    [
      'another path',
      { error: { type: 'request_error', message: 'Unknown path' } },
      /Unknown path; is (.*) the URL of the server, with its base path\?\n$/,
    ],
  ])('names its URL where it is that of %s', async (_, body, message) => {
    const { url } = await fakeServer(() => ({ status: 404, body }))

    const ended = await runCli(cli.path, importInto(`${url}/api`))

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(message.exec(ended.stderr)?.[1]).toBe(`${url}/api`)
  })

  test('ends with one line where its key is wrong', async () => {
    const { url, stop } = await serveCli(cli.path, ['--memory', '--key', KEY])
    onTestFinished(async () => void (await stop()))
    const args = [
      'import',
      rowsFile,
      '--url',
      url,
      '--table',
      'T',
      '--key',
      'no-key-of-this-server',
    ]

    const ended = await runCli(cli.path, args)

    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^rowstash: API key not found, or duplicate no\*{4}er: the server at http\S+ does not know this key\n$/,
      ),
    })
  })
})

describe('a server that is busy is asked again, and stderr says so', () => {
  test.each([
    ['tables', '--url'],
    ['export', 'FOLDER/never-written.csv', '--table', 'T', '--url'],
    ['rows', '--table', 'T', '--url'],
    ['stashes', '--url'],
    ['import', 'package.json', '--format', 'json', '--table', 'T', '--url'],
  ])('%s', async (...args) => {
    const { url, asked } = await fakeServer((_, turn) => {
      if (turn > 0) return { status: 400, body: { error: { type: 'x', message: 'That is all' } } }
      const error = { type: 'overloaded', message: 'Busy' }
      return { status: 503, headers: { 'retry-after': '1' }, body: { error } }
    })

    const placed = args.map((arg) => arg.replace('FOLDER', folder))
    const ended = await runCli(cli.path, [...placed, url, '--key', KEY])

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /^(?:rowstash: )?Busy; trying again in 1 s\nrowstash: .*That is all.*\n$/,
    )
    expect(asked.length).toBeGreaterThan(1)
  })
})

describe('a restore', () => {
  test.each([
    ['is missing', 'no-such-file', 'There is no file '],
    ['is a directory', '.', ' is a directory; specify the file of a backup'],
  ])('of a file that %s ends with one line, and leaves nothing', async (_, name, problem) => {
    const into = await mkdtemp(join(folder, 'restore-'))

    const ended = await runCli(cli.path, ['restore', join(folder, name), join(into, 'store')])

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: [^\n]+\n$/)
    expect(ended.stderr).toContain(problem)
    expect(await readdir(into)).toEqual([])
  })
})

/** Waits until a process is asleep, so that it has done everything that a signal makes it do. */
async function untilAsleep({ pid }: ChildProcess): Promise<void> {
  const stat = `/proc/${pid}/stat`
  for (let still = 0; still < 50; await pause(1)) {
    const isAsleep = !existsSync(stat) || /\) S /.test(readFileSync(stat, 'latin1'))
    still = isAsleep ? still + 1 : 0
  }
}

describe('an import that is interrupted', () => {
  const NO_TABLES = { status: 200, body: { data: [] } }
  const putsOf = (asked: readonly Asked[]) => asked.filter(({ method }) => method === 'PUT').length

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s deletes its stash and ends with %d', async (signal, code) => {
    let answer: () => void = () => undefined
    const done: string[] = []
    const { url, asked } = await fakeServer(async ({ method }) => {
      if (method === 'GET') return NO_TABLES
      if (method === 'PUT') {
        await new Promise<void>((resolve) => {
          answer = resolve
        })
      }
      done.push(method)
      return { status: 200 }
    })
    const { child, ended } = start(importInto(url))
    await expect.poll(() => putsOf(asked)).toBe(1)

    child.kill(signal)
    await untilAsleep(child)
    answer()

    expect(await ended).toEqual({ code, stdout: '', stderr: `rowstash: Stopped by ${signal}\n` })
    expect(done).toEqual(['PUT', 'DELETE'])
  })

  test('twice ends at once, also while its server is silent', async () => {
    const { url, asked } = await fakeServer(({ method }) => {
      return method === 'GET' ? NO_TABLES : new Promise(() => undefined)
    })
    const { child, ended } = start(importInto(url))
    await expect.poll(() => putsOf(asked)).toBe(1)

    child.kill('SIGINT')
    const isOver = setInterval(() => child.kill('SIGINT'), 50)
    await ended
    clearInterval(isOver)

    expect(child.signalCode).toBe('SIGINT')
  })
})

test.skipIf(process.platform === 'win32')(
  'a server whose lock was removed says so by itself, and ends with 1',
  async () => {
    const directory = join(folder, 'taken')
    const serving = ['serve', '--port', '0', '--directory', directory, '--key', 'k'.repeat(20)]
    const { child, ended } = start(serving)
    await expect.poll(() => existsSync(join(directory, 'served'))).toBe(true)

    await rm(join(directory, 'kv', 'LOCK'))
    child.kill('SIGTERM')

    const { code, stderr } = await ended
    const lines = stderr.split('\n').filter((line) => !line.startsWith('('))
    expect(code).toBe(1)
    expect(stderr).toMatch(/ROWSTASH_DIRECTORY_TAKEN/)
    expect(lines).toEqual([expect.stringMatching(/^rowstash: .*LOCK was removed while/), ''])
  },
)

describe('an output that nobody reads', () => {
  test.each([
    [['--help'], false],
    [['serve', '--help'], false],
    [['verify', 'store'], true],
    [['verify', 'store', '--json'], true],
  ])('ends %j without a word', async (args, needsStore) => {
    const directory = await mkdtemp(join(folder, 'unread-'))
    if (needsStore) await (await openDirectory(join(directory, 'store'))).close()
    const child = spawn(process.execPath, [cli.path, ...args], { cwd: directory })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (piece) => {
      stderr += piece
    })
    const [code] = await once(child, 'close')

    expect({ code, stderr }).toEqual({ code: 141, stderr: '' })
  })

  test('on stderr hinders no command', async () => {
    const child = spawn(process.execPath, [cli.path, 'serve', '--x'])
    child.stderr.destroy()
    const [code] = await once(child, 'close')

    expect(code).toBe(2)
  })
})
