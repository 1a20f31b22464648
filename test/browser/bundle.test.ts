// Goal: a bundler turns the package into a working program, for Node and for a browser, without polyfills of ours.
// Method: esbuild as users call it. The programs run in Node and in a real browser, where the package `level` keeps its
// databases in IndexedDB.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BuildOptions } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../support/project.js'
import { findChromium } from './chromium.js'
import { bundle, openSite } from './program-page.js'

const run = promisify(execFile)
const found = findChromium()

let folder: string

beforeAll(async () => {
  // Below node_modules, so that bundles find the packages that they do not include.
  const cache = join(ROOT, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  folder = await mkdtemp(join(cache, 'rowstash-bundle-'))
})

afterAll(() => rm(folder, { recursive: true }))

function bundleOf(entry: string, options: BuildOptions): Promise<string> {
  return bundle(entry, join(folder, `${entry.replace(/\W/g, '-')}.mjs`), options)
}

const ROWS = `{ csv: 'id,total\\n1,34.50\\n2,7\\n' }`

test.each([
  ['in memory', `import { openMemory } from 'SRC/src/index.ts'`, 'openMemory()'],
  [
    'in a directory',
    `import { openDirectory } from 'SRC/adapters/node.ts'`,
    `openDirectory(process.argv[2])`,
  ],
])('an ES module of esbuild for Node has a store %s', async (where, imports, opening) => {
  const entry = join(folder, `${where.replaceAll(' ', '-')}.ts`)
  await writeFile(
    entry,
    `${imports.replace('SRC', ROOT)}
     const store = await ${opening}
     const made = await store.team('t').createTable({ name: 'T', rows: ${ROWS} })
     console.log(JSON.stringify((await store.team('t').table(made.tableId).get(made.rowIds.at(0))).row.total))
     await store.close()`,
  )

  const outfile = await bundleOf(entry, { platform: 'node' })

  const { stdout } = await run(process.execPath, [outfile, join(folder, 'data')])
  expect(stdout).toBe('34.5\n')
})

describe.skipIf(found.path === undefined)('in Chromium', () => {
  let browser: Browser
  let programs: Readonly<Record<string, string>>

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: found.path ?? '', timeout: 60_000 })
    const platform = 'browser'
    const alias = { 'node:assert/strict': join(ROOT, 'test/browser/bundles/assert.ts') }
    programs = {
      '/store.mjs': await bundleOf('test/browser/bundles/store-program.ts', { platform }),
      '/suites.mjs': await bundleOf('test/browser/bundles/suites.ts', { platform, alias }),
    }
  })

  afterAll(() => browser?.close())

  async function openPage(program: string): Promise<Page> {
    return (await openSite(browser, programs, program)).openPage()
  }

  test('a store is kept in IndexedDB, by one tab at a time', async () => {
    const page = await openPage('/store.mjs')

    expect(await page.evaluate('rowstash.inMemory()')).toBe(2)
    const filled = (await page.evaluate('rowstash.fill()')) as Record<string, string>
    await page.reload()
    const read = await page.evaluate(`rowstash.readBack(${JSON.stringify(filled)})`)

    expect(filled['locked']).toBe('STORE_LOCKED')
    const twice = [
      { id: 1, total: 34.5, name: 'Ann' },
      { id: 2, total: 0.30000000000000004, name: 'B, C' },
    ]
    expect(read).toEqual({
      rows: [...twice, ...twice, { id: 3, total: 1, name: 'D' }],
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      bytes: 200_000,
      ok: true,
      damageCount: 0,
    })
  })

  test('the suites of both ports pass on IndexedDB', async () => {
    const page = await openPage('/suites.mjs')

    const { count, failed } = (await page.evaluate('runSuites()')) as {
      count: number
      failed: string[]
    }

    expect(failed).toEqual([])
    expect(count).toBeGreaterThan(90)
  })
})
