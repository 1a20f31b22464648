// What `rowstash serve --json` and `open --json` print when they are ready, for programs that start them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { type BuiltCli, buildCli, runCli } from '../support/built-cli.js'

let cli: BuiltCli
let folder: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-ready-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** Starts a command. @returns the first line that it prints */
async function firstLine(...args: string[]): Promise<Record<string, unknown>> {
  const env = { PATH: process.env['PATH'] }
  const child: ChildProcess = spawn(process.execPath, [cli.path, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
  })
  if (child.stdout !== null) {
    for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line)
  }
  throw new Error('It ended before it was ready')
}

async function statusOf(url: unknown, key: unknown): Promise<number> {
  return (await fetch(`${url}/tables`, { headers: { authorization: `Bearer ${key}` } })).status
}

const SERVE = ['serve', '--port', '0', '--json']

test('a server tells its URL, its directory, and its key once', async () => {
  const directory = join(folder, 'served')
  const keyFile = join(directory, 'key')
  const given = await firstLine(
    ...SERVE,
    '--directory',
    join(folder, 'given'),
    '--key',
    'k'.repeat(20),
  )
  const made = await firstLine(...SERVE, '--memory')
  const first = await firstLine(...SERVE, '--directory', directory)

  const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(given).toEqual({ url, directory: join(folder, 'given') })
  expect(made).toEqual({ url, key: expect.any(String) })
  const key = (await readFile(keyFile, 'utf8')).trim()
  expect(first).toEqual({ url, directory, keyFile, key })
  expect(await statusOf(made['url'], made['key'])).toBe(200)
  expect(await statusOf(first['url'], key)).toBe(200)
})

test('a server whose key is in a file names the file only, also beside its log', async () => {
  const directory = join(folder, 'kept')
  const { child } = await startOnce(directory)
  child.kill('SIGTERM')
  await once(child, 'exit')

  const again = await firstLine(...SERVE, '--log', '--directory', directory)

  expect(again).toEqual({ url: again['url'], directory, keyFile: join(directory, 'key') })
})

/** A server that has created its key and is ready. */
async function startOnce(directory: string): Promise<Readonly<{ child: ChildProcess }>> {
  const child = spawn(process.execPath, [cli.path, ...SERVE, '--directory', directory])
  await once(child.stdout, 'data')
  return { child }
}

test('the page of a directory tells the URL that opens it', async () => {
  const directory = join(folder, 'shown')
  await (await openDirectory(directory)).close()

  const { url, ...rest } = await firstLine('open', directory, '--json')

  expect(rest).toEqual({ directory, team: 'default', writable: false })
  const { origin, hash } = new URL(String(url))
  const headers = { authorization: hash.replace('#token=', 'Bearer '), origin }
  const answer = await fetch(`${origin}/page/session`, { method: 'POST', headers })
  expect(await answer.json()).toMatchObject({ mode: 'session', team: 'default', writable: false })
})

test('the page of a new directory creates a store with --write only', async () => {
  const directory = join(folder, 'new')

  const { code, stderr } = await runCli(cli.path, ['open', directory])
  const problem = `There is no store in ${directory}; with --write, open creates one`
  expect([code, stderr]).toEqual([1, `rowstash: ${problem}\n`])
  await expect(access(directory)).rejects.toThrow('ENOENT')

  const { writable } = await firstLine('open', directory, '--write', '--json')
  expect(writable).toBe(true)
  await access(directory)
})

test.each([['serve', '--directory'], ['open']])(
  'a failure of %s is a line on stderr, and nothing is printed',
  async (...args) => {
    const directory = join(folder, args[0] ?? '')
    await using _ = await openDirectory(directory)

    const ended = await runCli(cli.path, [...args, directory, '--json'])

    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rowstash: [^\n]+\n$/),
    })
  },
)

test('a server of several teams without limits warns that one can fill the disk', async () => {
  const keys = ['a', 'b'].flatMap((team) => ['--key', `${team.repeat(20)}=${team}`])
  const warningOf = async (...more: string[]): Promise<string> => {
    const args = [...SERVE, '--directory', join(folder, 'shared'), ...keys, ...more]
    const child = spawn(process.execPath, [cli.path, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const closed = once(child, 'close')
    let warning = ''
    child.stderr.on('data', (piece) => {
      warning += piece
    })
    for await (const _ of createInterface({ input: child.stdout })) child.kill('SIGTERM')
    await closed
    return warning
  }
  const names = ['teamRowBytesMax', 'stashBytesMax', 'teamFileBytesMax']
  expect(await warningOf()).toMatch(/^rowstash: Several teams share the disk of this store/)
  expect(await warningOf(...names.flatMap((name) => ['--limit', `${name}=1000000`]))).toBe('')
})
