// Goal: `rowstash keys` manages the keys of a directory, whether or not a server has it open.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CommandIo } from '../../adapters/cli/command/command.js'
import { runKeys } from '../../adapters/cli/commands/keys.js'
import { runServe } from '../../adapters/cli/commands/serve.js'
import { openDirectory } from '../../adapters/node.js'

const TABLE = '00000000-0000-4000-8000-000000000000'
const DAY_MS = 86_400_000

type Run = Readonly<{ printed: string[]; warned: string[] }>

function openIo(signal = new AbortController().signal): CommandIo & Run {
  const [printed, warned]: [string[], string[]] = [[], []]
  return {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    env: {},
    signal,
    printed,
    warned,
  }
}

async function run(...args: string[]): Promise<Run> {
  const io = openIo()
  await runKeys(args, io)
  return io
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rowstash-cli-keys-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return join(path, 'store')
}

async function emptyStore(): Promise<string> {
  const path = await folder()
  await (await openDirectory(path)).close()
  return path
}

async function servedStore(): Promise<Readonly<{ path: string; url: string }>> {
  const path = await folder()
  const ended = new AbortController()
  const io = openIo(ended.signal)
  const serving = runServe(['--directory', path, '--port', '0'], io)
  onTestFinished(async () => {
    ended.abort()
    await serving
  })
  for (;;) {
    const line = io.printed.find((printed) => printed.startsWith('listening on '))
    if (line !== undefined) return { path, url: line.slice('listening on '.length) }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function statusOf(url: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  return (await fetch(`${url}/tables`, { headers })).status
}

/** Adds a key, lists the keys, and revokes it. */
async function walk(path: string): Promise<Readonly<{ key: string; id: string }>> {
  const before = Date.now()
  const directory = ['--directory', path]
  const rights = ['--team', 'acme', '--scope', 'read', '--scope', 'upload', '--table', TABLE]
  const added = await run('add', ...directory, ...rights, '--label', 'a report', '--expires', '2')
  const [key = ''] = added.printed
  const id = key.slice(4, 20)
  expect(added.printed).toHaveLength(1)
  expect(key).toMatch(/^rsk_/)
  expect(added.warned.join()).toMatch(new RegExp(`^${id} .*cannot be shown again$`))
  expect(added.warned.join()).not.toContain(key.slice(-8))

  const { printed } = await run('list', ...directory, '--json')
  expect(printed.map((line) => JSON.parse(line))).toEqual([
    {
      id,
      teamId: 'acme',
      label: 'a report',
      scopes: ['read', 'upload'],
      tables: [TABLE],
      createdAt: expect.any(Number),
      expiresAt: expect.any(Number),
      tail: key.slice(-4),
    },
  ])
  const { expiresAt } = JSON.parse(printed[0] ?? '')
  expect(Math.abs(expiresAt - before - 2 * DAY_MS)).toBeLessThan(60_000)
  expect((await run('list', ...directory, '--team', 'acme')).printed).toEqual([
    expect.stringMatching(new RegExp(`^${id} {2}….{4} {2}team acme {2}read,upload {2}1 tables`)),
  ])
  expect((await run('list', ...directory, '--team', 'other')).printed).toEqual([])
  return { key, id }
}

test('keys of a directory that nobody has open', async () => {
  const path = await emptyStore()
  const { key, id } = await walk(path)

  const store = await openDirectory(path)
  expect(await store.keys.find(key)).toMatchObject({ id, teamId: 'acme' })
  await store.close()
  expect((await run('revoke', id, '--directory', path)).printed).toEqual([`revoked ${id}`])
  await expect(run('revoke', id, '--directory', path)).rejects.toMatchObject({
    kind: 'failed',
    message: `The store has no API key with the ID "${id}"`,
  })
})

test('keys of a directory that is served', async () => {
  const { path, url } = await servedStore()
  const { key, id } = await walk(path)

  expect(await statusOf(url, key)).toBe(200)
  await run('revoke', id, '--directory', path)
  expect(await statusOf(url, key)).toBe(404)
  await expect(run('revoke', id, '--directory', path)).rejects.toMatchObject({ kind: 'failed' })
  await expect(run('add', '--directory', path, '--scope', 'all')).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('scopes must be a list of read, write, upload'),
  })
})

describe('wrong calls', () => {
  test.each<[what: string, args: string[], message: RegExp]>([
    ['no command', [], /add, list or revoke/],
    ['an unknown command', ['remove'], /add, list or revoke/],
    ['no directory', ['list'], /--directory/],
    ['no ID', ['revoke', '--directory', 'x'], /the ID of one key/],
    ['two IDs', ['revoke', 'a', 'b', '--directory', 'x'], /the ID of one key/],
    ['an operand', ['list', 'a', '--directory', 'x'], /keys list takes only options/],
    ['an option of another command', ['list', '--label', 'x'], /keys list does not accept --label/],
    ['an expiry of nothing', ['add', '--directory', 'x', '--expires', '0'], /from 1 to 36500/],
  ])('%s', async (_, args, message) => {
    await expect(run(...args)).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(message),
    })
  })

  test('a directory without a store', async () => {
    await expect(run('list', '--directory', await folder())).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('There is no store'),
    })
  })
})
