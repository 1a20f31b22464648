// Goal: the core over the package `level` is an offline-first store in a browser. It answers the contract in the page,
// and keeps what it has acknowledged, even if the page never closes it.
// Method: a real browser, where `level` keeps its databases in IndexedDB; a reload, and a page that crashes.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../support/project.js'
import { findChromium } from './chromium.js'
import { bundle, openSite } from './program-page.js'

const found = findChromium()
const PROGRAM = '/offline.mjs'

/** Fewest rows that a page has acknowledged before it crashes. */
const ACKNOWLEDGED_MIN = 20

describe.skipIf(found.path === undefined)('in Chromium', () => {
  let browser: Browser
  let folder: string
  let programs: Readonly<Record<string, string>>

  beforeAll(async () => {
    const cache = join(ROOT, 'node_modules', '.cache')
    await mkdir(cache, { recursive: true })
    folder = await mkdtemp(join(cache, 'rowstash-level-'))
    browser = await chromium.launch({ executablePath: found.path ?? '', timeout: 60_000 })
    const outfile = join(folder, 'offline.mjs')
    const entry = 'test/browser/bundles/offline-program.ts'
    programs = { [PROGRAM]: await bundle(entry, outfile, { platform: 'browser' }) }
  })

  afterAll(async () => {
    await browser?.close()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  test('tables and files that the contract made in a page are there after a reload', async () => {
    const page = await (await openSite(browser, programs, PROGRAM)).openPage()

    const made = (await page.evaluate('offline.fill()')) as Record<string, unknown>
    await page.reload()
    const read = await page.evaluate(`offline.read(${JSON.stringify(made)})`)

    expect(made).toMatchObject({ rows: 2_000, refused: 412 })
    expect(read).toEqual({
      names: ['Orders'],
      count: 2_000,
      sum: (2_000 * 2_001) / 2,
      total: 500,
      isFileWhole: true,
      version: made['version'],
    })
  })

  test('a page that crashes loses no acknowledged row', async () => {
    const site = await openSite(browser, programs, PROGRAM)
    const page = await site.openPage()
    const { tableId, acknowledged } = await addUntilCrash(page)

    const next = await site.openPage()
    const { numbers, ...verified } = (await next.evaluate(`offline.numbersIn('${tableId}')`)) as {
      numbers: number[]
    }

    expect(verified).toEqual({ ok: true, damageCount: 0 })
    expect(numbers.length).toBeGreaterThan(acknowledged)
    expect(numbers).toEqual(numbers.map((_, at) => at))
  })
})

/** Lets a page add rows until it crashes. @returns the number of acknowledged rows */
async function addUntilCrash(page: Page): Promise<{ tableId: string; acknowledged: number }> {
  let tableId = ''
  let acknowledged = 0
  const enough = new Promise<void>((reached) => {
    page.on('console', (message) => {
      const [what, value = ''] = message.text().split(' ')
      if (what === 'table') tableId = value
      if (what === 'row') acknowledged = Number(value)
      if (acknowledged >= ACKNOWLEDGED_MIN) reached()
    })
  })
  const crashed = page.waitForEvent('crash')
  const adding = page.evaluate('offline.addForever()')
  await Promise.race([enough, adding])
  adding.catch(() => undefined) // It ends with the page.
  page.goto('chrome://crash').catch(() => undefined)
  await crashed
  return { tableId, acknowledged }
}
