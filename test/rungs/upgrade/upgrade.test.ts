// Every version reads what every version of its format wrote. The directories and backups under test/format/golden were
// written by released formats, and stay as they are. `ROWSTASH_WRITE_GOLDEN=1` creates missing ones, and never replaces
// one.
import { createReadStream, existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDirectory, restoreDirectory } from '../../../adapters/node.js'
import { report, suiteSeed } from '../../support/ladder.js'
import { SETTLES } from '../sim/world.js'
import {
  contentOf,
  copyOf,
  type GoldenContent,
  hashOf,
  makeGolden,
  openGolden,
  stagedRows,
  writeSomething,
} from './golden-directory.js'

/** Released formats. */
const FORMATS = ['1'] as const
/** The number of cases below. */
const CASES = 3 * FORMATS.length + 5

const GOLDEN = fileURLToPath(new URL('../../format/golden', import.meta.url))
const startedAt = performance.now()
let folder: string
/** Successful cases. */
let runs = 0
let copies = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-t16-'))
  const [directory, backup, list] = placesOf('1')
  if (!existsSync(directory) && process.env['ROWSTASH_WRITE_GOLDEN'] === '1') {
    await makeGolden(directory, backup, list)
  }
})

afterAll(async () => {
  await rm(folder, { recursive: true })
  const seconds = (performance.now() - startedAt) / 1_000
  report({
    suite: 'T16 upgrade',
    seed: suiteSeed(),
    runs: CASES,
    seconds,
    violations: CASES - runs,
  })
})

function placesOf(format: string): readonly [directory: string, backup: string, list: string] {
  const start = join(GOLDEN, `store-${format}`)
  return [start, `${start}.backup`, `${start}.json`]
}

async function goldenCopy(format: string): Promise<string> {
  const copy = join(folder, `copy-${copies++}`)
  await copyOf(placesOf(format)[0], copy)
  return copy
}

async function expected(format: string): Promise<GoldenContent> {
  return JSON.parse(await readFile(placesOf(format)[2], 'utf8')) as GoldenContent
}

test.each(FORMATS)(
  'a store of format %s is read, verified, written and read again',
  async (format) => {
    const copy = await goldenCopy(format)
    const content = await expected(format)
    const files = content.files.map(({ id }) => id)
    const store = await openGolden(copy)

    expect(await store.verify({ full: true })).toMatchObject({ ok: true, damageCount: 0 })
    expect(await contentOf(store, files)).toEqual(content)
    await writeSomething(store)
    const written = await contentOf(store, files)
    await store.close()
    const again = await openGolden(copy)
    expect(await contentOf(again, files)).toEqual(written)
    expect(await again.verify({ full: true })).toMatchObject({ ok: true })
    await again.close()
    runs++
  },
)

test.each(FORMATS)(
  'the segments of a store of format %s are recompressed, and nothing else changes',
  async (format) => {
    const content = await expected(format)
    const files = content.files.map(({ id }) => id)
    const untouched = await openGolden(await goldenCopy(format))
    const copy = await goldenCopy(format)
    const store = await openGolden(copy, SETTLES)

    expect((await store.maintain()).recompressed).toBeGreaterThan(0)
    await store.maintain() // deletes the old objects
    expect(await store.maintain()).toMatchObject({ recompressed: 0, objects: 0 })
    expect(await contentOf(store, files)).toEqual(content)
    await store.close()
    const again = await openGolden(copy)
    expect(await contentOf(again, files)).toEqual(content)
    expect(await stagedRows(again)).toEqual(await stagedRows(untouched))
    expect(await again.verify({ full: true })).toMatchObject({ ok: true, damageCount: 0 })
    await again.close()
    await untouched.close()
    runs++
  },
)

test.each(FORMATS)('a backup of format %s is restored', async (format) => {
  const [, backup] = placesOf(format)
  const copy = join(folder, `restored-${format}`)
  await restoreDirectory(copy, createReadStream(backup))
  const content = await expected(format)
  const store = await openGolden(copy)
  const found = await contentOf(
    store,
    content.files.map(({ id }) => id),
  )
  await store.close()

  const raised = content.tables.map((table) => ({
    ...table,
    version: table.version + 2 ** 32,
    rows: table.rows.map(({ row, version }) => ({ row, version: version + 2 ** 32 })),
  }))
  expect(found).toEqual({ ...content, tables: raised })
  runs++
})

test.each([
  ['a newer format', 'format 2', (text: string) => text.replace('format: 1\n', 'format: 2\n')],
  ['another form', 'format 3', () => 'rowstash store\nformat: 3\nsomething: else\n'],
  ['a new feature', 'sharding', (text: string) => text.replace('1\n', '1\nrequires: sharding\n')],
  ['two of them', 'b c', (text: string) => text.replace('1\n', '1\nrequires: b c\n')],
])('a store of %s is refused with its name, and left as it is', async (_, name, change) => {
  const copy = await goldenCopy('1')
  const path = join(copy, 'FORMAT')
  await writeFile(path, change(await readFile(path, 'utf8')))
  const before = await hashOf(copy)

  const refusal = { code: 'FORMAT_UNKNOWN', message: expect.stringContaining(name) }
  await expect(openDirectory(copy)).rejects.toMatchObject(refusal)
  expect(await hashOf(copy)).toBe(before)
  runs++
})

test('a backup of a newer version is refused, and nothing is made', async () => {
  const bytes = await readFile(placesOf('1')[1])
  bytes[4] = 2
  const source = join(folder, 'newer.backup')
  await writeFile(source, bytes)
  const target = join(folder, 'newer')

  await expect(restoreDirectory(target, createReadStream(source))).rejects.toMatchObject({
    code: 'FORMAT_UNKNOWN',
  })
  expect(existsSync(target)).toBe(false)
  runs++
})
