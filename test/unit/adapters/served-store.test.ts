// `rowstash verify` and `rowstash backup` of a directory that `rowstash serve` has open.
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { CommandIo } from '../../../adapters/cli/command/command.js'
import { runBackup } from '../../../adapters/cli/commands/backup.js'
import { runServe } from '../../../adapters/cli/commands/serve.js'
import { runVerify } from '../../../adapters/cli/commands/verify.js'
import { openDirectory, restoreDirectory } from '../../../adapters/node.js'

let folder: string
let directory: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-served-'))
  directory = join(folder, 'store')
  onTestFinished(() => rm(folder, { recursive: true }))
})

type Io = CommandIo & Readonly<{ printed: string[] }>

function newIo(signal = new AbortController().signal): Io {
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  return { printed, print, warn: print, env: {}, signal }
}

async function serve(): Promise<{ stop: () => Promise<void> }> {
  const ending = new AbortController()
  const io = newIo(ending.signal)
  const args = ['--directory', directory, '--port', '0', '--key=a-key-for-tests-alone=t']
  const serving = runServe(args, io)
  await expect.poll(() => io.printed.join('\n')).toContain('listening on')
  const stop = async (): Promise<void> => {
    ending.abort()
    await serving
  }
  onTestFinished(stop)
  return { stop }
}

async function makeStore(): Promise<void> {
  const store = await openDirectory(directory, {
    inlineRowsMax: 0,
    maintenance: { garbageCollectionIntervalMs: 0 },
  })
  await store.team('t').createTable({ name: 'one', rows: [{ n: 1 }, { n: 2 }] })
  await store.close()
}

async function damageTheObject(): Promise<void> {
  const names = await readdir(join(directory, 'objects'), { recursive: true })
  const [name = ''] = names.filter((path) => /[0-9a-f]{32}$/.test(path))
  const path = join(directory, 'objects', name)
  const bytes = await readFile(path)
  bytes[15] = (bytes[15] ?? 0) ^ 1
  await writeFile(path, bytes)
}

test('verify is done by the server, with the same output and exit code', async () => {
  await makeStore()
  await serve()
  const io = newIo()

  expect(await runVerify([directory, '--full'], io)).toBe(0)

  expect(io.printed).toEqual([
    expect.stringMatching(/^full verify of 1 tables, 2 rows, .*: nothing is damaged$/),
  ])
})

test('a server that was killed is not asked: what it left behind says only where it was', async () => {
  await makeStore()
  const store = await openDirectory(directory)
  onTestFinished(() => store.close())
  await writeFile(join(directory, 'served'), 'http://127.0.0.1:1\nrs_an-admin-key-of-before\n')
  const io = newIo()

  expect(await runVerify([directory], io)).toBe(2)
  expect(io.printed).toEqual([
    expect.stringMatching(
      /^rowstash: This process already has the directory .* open; wait until it has ended/,
    ),
  ])
  await expect(runBackup([directory, join(folder, 'backup')], io)).rejects.toMatchObject({
    message: expect.stringContaining(' open; wait until it has ended'),
    cause: { code: 'STORE_LOCKED' },
  })
})

test('damage that the server finds ends verify with 1', async () => {
  await makeStore()
  await damageTheObject()
  await serve()
  const io = newIo()

  expect(await runVerify([directory, '--full'], io)).toBe(1)

  expect(io.printed.join('\n')).toMatch(/damage: segment: /)
})

test('a backup by way of the server is whole, and for its owner only', async () => {
  await makeStore()
  await serve()
  const file = join(folder, 'backup')

  await runBackup([directory, file], newIo())

  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const { records } = await restoreDirectory(join(folder, 'restored'), createReadStream(file))
  expect(records).toBeGreaterThan(0)
})

test('the key of the server is for the owner of the directory only, and gone when it ends', async () => {
  await makeStore()
  const { stop } = await serve()
  const path = join(directory, 'served')
  expect((await stat(path)).mode & 0o777).toBe(0o600)

  await stop()

  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(await runVerify([directory], newIo())).toBe(0)
})

test('what a killed server left is not used', async () => {
  await makeStore()
  await writeFile(join(directory, 'served'), 'http://127.0.0.1:1\na-key-of-a-server-that-is-gone\n')

  expect(await runVerify([directory], newIo())).toBe(0)
})

test('a directory that another program has open cannot be verified from outside', async () => {
  await makeStore()
  const store = await openDirectory(directory)
  onTestFinished(() => store.close())
  const io = newIo()

  expect(await runVerify([directory], io)).toBe(2)

  expect(io.printed.join('\n')).toContain('This process already has the directory')
})
