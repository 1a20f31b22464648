// `rowstash verify`: what it prints, and its exit codes.
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { runVerify } from '../../../adapters/cli/commands/verify.js'
import { openDirectory } from '../../../adapters/node.js'

let folder: string
let directory: string

beforeEach(async () => {
  const made = await mkdtemp(join(tmpdir(), 'rowstash-verify-'))
  onTestFinished(() => rm(made, { recursive: true }))
  folder = made
  directory = join(folder, 'store')
})

async function makeStore(): Promise<void> {
  const store = await openDirectory(directory, {
    inlineRowsMax: 0,
    maintenance: { garbageCollectionIntervalMs: 0 },
  })
  await store.team('t').createTable({ name: 'one', rows: [{ n: 1 }, { n: 2 }] })
  await store.close()
}

type Ran = Readonly<{ code: number; printed: readonly string[]; warned: readonly string[] }>

async function run(...args: string[]): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []]
  const code = await runVerify(args, {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    env: {},
    signal: new AbortController().signal,
  })
  return { code, printed, warned }
}

async function onlyObject(): Promise<string> {
  const names = await readdir(join(directory, 'objects'), { recursive: true })
  const [name = ''] = names.filter((path) => /[0-9a-f]{32}$/.test(path))
  return join(directory, 'objects', name)
}

test('a store without damage is told so, with exit code 0', async () => {
  await makeStore()

  const { code, printed } = await run(directory, '--full')

  expect(code).toBe(0)
  expect(printed).toHaveLength(1)
  expect(printed[0]).toMatch(/^full verify of 1 tables, 2 rows, .*: nothing is damaged$/)
})

test('damage is told with its place, in words or in JSON, with exit code 1', async () => {
  await makeStore()
  const path = await onlyObject()
  const bytes = await readFile(path)
  bytes[15] = (bytes[15] ?? 0) ^ 1
  await writeFile(path, bytes)

  expect(await run(directory)).toMatchObject({ code: 0 }) // No frame is read.
  const text = await run(directory, '--full')
  expect(text.code).toBe(1)
  expect(text.printed[0]).toMatch(/^damage: segment: .* \(team t, table [0-9a-f-]{36}, extent 0, /)
  expect(text.printed.at(-1)).toMatch(/: 1 finding of damage$/)
  const json = await run(directory, '--full', '--json')
  expect(json.printed.map((line) => JSON.parse(line))).toMatchObject([
    { kind: 'segment', severity: 'damage', team: 't', extent: 0 },
    { ok: false, full: true, damageCount: 1, checked: { tables: 1 } },
  ])
})

test('orphans are counted, and listed where that is asked for', async () => {
  await makeStore()
  const object = await onlyObject()
  for (const end of ['0', '1', '2']) await copyFile(object, object.replace(/.{3}$/, `ff${end}`))

  const counted = await run(directory)
  const listed = await run(directory, '--verbose')
  const json = await run(directory, '--json')

  expect(counted).toMatchObject({ code: 0 })
  expect(counted.printed).toEqual([
    expect.stringMatching(/: nothing is damaged; orphans: 3 \(--verbose lists them\)$/),
  ])
  expect(listed.printed).toHaveLength(4)
  expect(listed.printed[0]).toMatch(/^information: orphan-object: /)
  expect(listed.printed[3]).toMatch(/; orphans: 3$/)
  expect(json.printed).toHaveLength(4)
})

test('damage that keeps the store closed is damage as well', async () => {
  await makeStore()
  await rm(join(directory, 'kv', 'CURRENT'))

  const { code, printed } = await run(directory, '--json')

  expect(code).toBe(1)
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ kind: 'store', severity: 'damage' })
})

test('what cannot be opened has exit code 2, and nothing is made', async () => {
  const missing = await run(directory)
  expect(missing).toMatchObject({ code: 2, printed: [] })
  expect(missing.warned[0]).toContain('There is no store')
  expect(await readdir(folder)).toEqual([])

  const store = await openDirectory(directory)
  onTestFinished(() => store.close())
  expect(await run(directory)).toMatchObject({ code: 2 })
})

test('a command line without a directory is refused', async () => {
  await expect(run()).rejects.toMatchObject({ kind: 'usage' })
  await expect(run('a', 'b')).rejects.toMatchObject({ kind: 'usage' })
})
