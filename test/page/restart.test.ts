// Goal: an import in the page of `rowstash serve --page` survives kill -9 of the server, and the end of its tab.
// Method: a large file is dropped from the disk; its server is killed in the middle and started again; another import is
// left by closing its tab, and goes on in a new one. The largest size by ROWSTASH_PAGE_IMPORT_ROWS, which also prints how
// long it took, and the memory of the tab.
import { once } from 'node:events'
import { open, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { findChromium } from '../browser/chromium.js'
import { type BuiltCli, buildCli, type Serving, serveCli } from '../support/built-cli.js'
import { freePort } from '../support/free-port.js'
import { makeDirectory } from './opened-store.js'
import { dropFile, HAS_BROWSER, openPage, rendererMemory } from './shown-page.js'

const GIVEN = process.env['ROWSTASH_PAGE_IMPORT_ROWS']
const ROWS = Number(GIVEN ?? 50_000)
const KEY = 'a-key-of-a-person'
const NOTE = 'delivered to the door '.repeat(Number(process.env['ROWSTASH_PAGE_IMPORT_NOTE'] ?? 4))
const LINE = (index: number) => `${index},Row ${index},${index / 4},${NOTE}${index}\n`

describe.skipIf(!HAS_BROWSER)(`an import of ${ROWS} rows`, () => {
  let cli: BuiltCli
  let browser: Browser
  let directory: Awaited<ReturnType<typeof makeDirectory>>
  let serving: Serving
  let port: number
  const start = () =>
    serveCli(cli.path, [
      ...['--directory', directory.path],
      ...['--key', KEY, '--port', String(port), '--page'],
    ])
  const file = () => join(directory.path, '../orders.csv')

  beforeAll(async () => {
    cli = await buildCli()
    directory = await makeDirectory(async () => undefined)
    port = await freePort()
    browser = await chromium.launch({ executablePath: findChromium().path ?? '', timeout: 30_000 })
    serving = await start()
    await writeFile(file(), 'id,title,share,note\n')
    const handle = await open(file(), 'a')
    for (let from = 0; from < ROWS; from += 10_000) {
      const length = Math.min(10_000, ROWS - from)
      await handle.write(Array.from({ length }, (_, index) => LINE(from + index)).join(''))
    }
    await handle.close()
  })

  afterAll(async () => {
    await browser?.close()
    await serving?.stop()
    await cli?.remove()
    await directory?.remove()
  })

  async function openImport(): Promise<Page> {
    const page = await openPage(browser, `http://127.0.0.1:${port}/`, {}, async () => undefined)
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Import', exact: true }).click()
    await page.getByText('Drop a file here').waitFor()
    await dropFile(page, file())
    await page.getByRole('columnheader', { name: 'share (number)' }).waitFor()
    return page
  }

  /** Resolves when so many chunks were acknowledged. @returns how many were, from then on */
  async function afterChunks(page: Page, count: number): Promise<() => number> {
    let puts = 0
    await new Promise<void>((done) => {
      page.on('response', (response) => {
        if (response.request().method() === 'PUT' && response.ok() && ++puts === count) done()
      })
    })
    return () => puts
  }

  async function begin(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name of the table').fill(name)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
  }

  test('goes on after its server was killed, and after its tab was closed', async () => {
    const page = await openImport()
    const began = performance.now()
    const some = afterChunks(page, 2)
    await begin(page, 'Killed')
    await some
    serving.child.kill('SIGKILL')
    await once(serving.child, 'exit')
    serving = await start()
    await page.getByRole('heading', { name: 'The import is done.' }).waitFor({ timeout: 600_000 })
    const importMs = performance.now() - began
    if (GIVEN !== undefined) console.log({ ROWS, importMs, tab: await rendererMemory(browser) })
    expect(await page.locator('.receipt').innerText()).toContain(ROWS.toLocaleString('en'))

    const closed = await openImport()
    const half = afterChunks(closed, 3)
    await begin(closed, 'Closed')
    const staged = (await half)()
    await closed.close({ runBeforeUnload: false })
    const again = await openImport()
    await again.getByText('was begun').waitFor()
    const puts = { count: 0 }
    again.on('request', (request) => {
      if (request.method() === 'PUT') puts.count++
    })
    await begin(again, 'Closed')
    await again.getByRole('heading', { name: 'The import is done.' }).waitFor({ timeout: 600_000 })
    const { size } = await stat(file())
    expect(puts.count).toBeLessThanOrEqual(Math.ceil(size / 2 ** 20) + 1 - staged)

    await serving.stop()
    const store = await openDirectory(directory.path)
    const tables = await store.team('default').tables()
    for (const name of ['Killed', 'Closed']) {
      const table = await store.team('default').tableByName(name)
      let index = 0
      for await (const { $rowID, ...row } of table?.scan() ?? []) {
        if (row['id'] !== index || row['title'] !== `Row ${index}`) break
        index++
      }
      expect([name, index]).toEqual([name, ROWS])
    }
    expect(tables.map(({ rowCount }) => rowCount)).toEqual([ROWS, ROWS])
    expect(await store.team('default').stashes()).toEqual([])
    await store.close()
    serving = await start()
  }, 900_000)
})
