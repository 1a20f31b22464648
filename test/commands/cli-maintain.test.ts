// `rowstash stashes`, `stats` and `maintain`: what is staged, how many bytes are stored, and how many are freed.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CommandIo } from '../../adapters/cli/command/command.js'
import { runMaintain } from '../../adapters/cli/commands/maintain.js'
import { runServe } from '../../adapters/cli/commands/serve.js'
import { runStashes } from '../../adapters/cli/commands/stashes.js'
import { runStats } from '../../adapters/cli/commands/stats.js'
import { openDirectory, startServer } from '../../adapters/node.js'

type Run = (args: readonly string[], io: CommandIo) => Promise<unknown>

let folder: string
let directory: string

function openIo(signal = new AbortController().signal): CommandIo & { readonly lines: string[] } {
  const lines: string[] = []
  const print = (text: string): void => void lines.push(...text.split('\n'))
  return { print, warn: print, env: {}, signal, lines }
}

async function printed(run: Run, ...args: string[]): Promise<readonly string[]> {
  const io = openIo()
  await run(args, io)
  return io.lines
}

const here = (run: Run, ...args: string[]) => printed(run, '--directory', directory, ...args)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-upkeep-'))
  directory = join(folder, 'store')
  const store = await openDirectory(directory)
  const team = store.team('default')
  await team.stash('kept').put('0', [{ a: 1 }, { a: 2 }])
  await team.stash('kept').put('1', [{ a: 3 }])
  await team.createTable({ name: 'T', rows: team.stash('kept') })
  await store.close()
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

test('stashes of a directory are listed, and the chunks of one, and it is deleted', async () => {
  const [line = ''] = await here(runStashes)
  const [json = ''] = await here(runStashes, '--json')

  expect(line).toMatch(/^kept\t2\t3\t[0-9]{4}-[0-9T:.-]+Z$/)
  expect(JSON.parse(json)).toMatchObject({
    id: 'kept',
    chunks: 2,
    rows: 3,
    expiresAt: Date.parse(line.split('\t')[3] ?? ''),
  })
  expect(await here(runStashes, '--stash', 'kept')).toEqual(['0\t2', '1\t1'])
  await expect(here(runStashes, '--stash', 'none')).rejects.toThrow("'none' holds no chunk")
  await expect(here(runStashes, '--delete')).rejects.toThrow('--delete needs --stash ID')
})

test('a server tells the chunks of a stash, lists all, and deletes one', async () => {
  const store = await openDirectory(join(folder, 'served'))
  await store
    .team('default')
    .stash('s')
    .put('7', [{ a: 1 }])
  const key = 'a-key-for-the-tests'
  const server = await startServer(store, { keys: [{ key, teamId: 'default' }], port: 0 })
  const asked = (...args: string[]) => {
    return printed(runStashes, '--url', server.url, '--key', key, ...args)
  }
  try {
    expect(await asked('--stash', 's', '--json')).toEqual(['{"serial":"7","rows":1}'])
    expect(await asked()).toEqual([expect.stringMatching(/^s\t1\t1\t/)])
    expect(await asked('--stash', 's', '--delete')).toEqual(['deleted s'])
    await expect(asked('--stash', 's')).rejects.toThrow(/^(?!.*\n).*stash/i)
    await expect(printed(runStats, '--url', server.url, '--key', key)).rejects.toThrow(
      'only to admin keys, and this key is not one',
    )
    await expect(printed(runMaintain, '--url', server.url)).rejects.toThrow(
      'A server does this on its own',
    )
  } finally {
    await server.close()
    await store.close()
  }
  await expect(printed(runStats, '--url', server.url, '--key', key)).rejects.toThrow(
    `No server answers at ${server.url}: connect ECONNREFUSED`,
  )
})

test('stats of a directory count what it holds', async () => {
  const [json = ''] = await here(runStats, '--json')
  const numbers = JSON.parse(json)

  expect(numbers).toMatchObject({
    tables: 1,
    rows: 3,
    stashes: 1,
    stashedChunks: 2,
    stashedRows: 3,
  })
  expect(numbers.tableBytes).toBeGreaterThan(0)
  expect(numbers.directoryBytes).toBeGreaterThan(numbers.tableBytes)
  expect((await here(runStats)).slice(0, 2)).toEqual(['tables\t1', 'rows\t3'])
})

test('stats of a directory that a server has open are its metrics', async () => {
  const ended = new AbortController()
  const io = openIo(ended.signal)
  const serving = runServe(['--directory', directory, '--port', '0'], io)
  await expect.poll(() => io.lines.some((line) => line.startsWith('listening on'))).toBe(true)
  const lines = await here(runStats)
  const [json = ''] = await here(runStats, '--json')
  ended.abort()
  await serving

  expect(lines).toContainEqual(expect.stringMatching(/^rowstash_rows_out_total\t0$/))
  expect(JSON.parse(json)).toMatchObject({ rowstash_rows_out_total: 0 })
})

test('a garbage collection gives back what a deleted stash held', async () => {
  expect(await here(runStashes, '--stash', 'kept', '--delete')).toEqual(['deleted kept'])
  const [json = ''] = await here(runMaintain, '--json')

  expect(Object.keys(JSON.parse(json))).toEqual(
    expect.arrayContaining(['compactions', 'recompressed', 'objects', 'stashes', 'files']),
  )
  expect(await here(runMaintain)).toContainEqual(expect.stringMatching(/^objects\t[0-9]+$/))
  await expect(printed(runMaintain)).rejects.toThrow('Specify a store with --directory')
})

test.skipIf(!('zstdCompressSync' in zlib))(
  'a garbage collection compresses what was just imported, and frees its space (needs zstd of Node 22.15)',
  async () => {
    const place = join(folder, 'young')
    const store = await openDirectory(place)
    const row = { text: 'the same words again and again, as texts of rows are '.repeat(8) }
    await store
      .team('default')
      .createTable({ name: 'T', rows: Array.from({ length: 20_000 }, () => row) })
    await store.close()
    const [before = ''] = await printed(runStats, '--directory', place, '--json')
    const [report = ''] = await printed(runMaintain, '--directory', place, '--json')
    const [after = ''] = await printed(runStats, '--directory', place, '--json')

    expect(JSON.parse(report)).toMatchObject({ recompressed: 3 }) // each of at most 4 MiB
    const bytesOf = (json: string): number => JSON.parse(json).directoryBytes
    expect(bytesOf(before)).toBeGreaterThan(5_000_000)
    expect(bytesOf(after)).toBeLessThan(bytesOf(before) / 5)
    const again = await openDirectory(place)
    expect((await again.verify({ full: true })).ok).toBe(true)
    await again.close()
  },
)
