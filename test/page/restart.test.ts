// Goal: an import in the page of `rowstash serve --page` survives kill -9 of the server, and the end of its tab.
// Method: a file is dropped from the disk. The server is killed in the middle and restarted. Another import is
// interrupted by closing its tab, and continued in a new one. No driver is connected to the tab meanwhile, so its
// memory is its own. ROWSTASH_PAGE_IMPORT_ROWS sets the largest size, and prints the time of each import and the memory
// of the tab.
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { findChromium } from '../browser/chromium.js'
import { type BuiltCli, buildCli, type Serving, serveCli } from '../support/built-cli.js'
import { freePort } from '../support/free-port.js'
import { Gate } from './gate.js'
import { makeDirectory } from './opened-store.js'
import { dropFile, HAS_BROWSER, rendererMemory } from './shown-page.js'

const GIVEN = process.env['ROWSTASH_PAGE_IMPORT_ROWS']
const ROWS = Number(GIVEN ?? 50_000)
/** How long each import may take. */
const IMPORT_MS_MAX = GIVEN === undefined ? 60_000 : 600_000
const KEY = 'a-key-of-a-person'
const NOTE = 'delivered to the door '.repeat(Number(process.env['ROWSTASH_PAGE_IMPORT_NOTE'] ?? 4))
const CSV = (id: number) => `${id},Row ${id},${id / 4},${NOTE}${id}\n`
const NDJSON = (id: number) =>
  `{"id":${id},"title":"Row ${id}","share":${id / 4},"note":"${NOTE}${id}"}\n`

describe.skipIf(!HAS_BROWSER)(`an import of ${ROWS} rows`, () => {
  let cli: BuiltCli
  let browser: Browser
  let debugging: string
  let directory: Awaited<ReturnType<typeof makeDirectory>>
  let serving: Serving
  let port: number
  let gate: Gate
  let address: string
  const pathOf = (name: string) => join(directory.path, '..', name)
  const start = () =>
    serveCli(cli.path, [
      ...['--directory', directory.path],
      ...['--key', KEY, '--port', String(port), '--page'],
    ])

  beforeAll(async () => {
    directory = await makeDirectory(async () => undefined)
    port = await freePort()
    const debuggingPort = await freePort()
    debugging = `http://127.0.0.1:${debuggingPort}`
    gate = new Gate(port)
    const launched = chromium.launch({
      executablePath: findChromium().path ?? '',
      args: [`--remote-debugging-port=${debuggingPort}`],
      timeout: 60_000,
    })
    cli = await buildCli()
    browser = await launched
    serving = await start()
    address = await gate.listen()
  })

  afterAll(async () => {
    await browser?.close()
    gate?.close()
    await serving?.stop()
    await directory?.remove()
  })

  /** Writes the rows to a file. @returns its path, and its bytes */
  async function writeRows(name: string, head: string, line: (id: number) => string) {
    const path = pathOf(name)
    await writeFile(path, head)
    const handle = await open(path, 'a')
    for (let from = 0; from < ROWS; from += 10_000) {
      const length = Math.min(10_000, ROWS - from)
      await handle.write(Array.from({ length }, (_, index) => line(from + index)).join(''))
    }
    const { size } = await handle.stat()
    await handle.close()
    return { path, size }
  }

  /**
   * Drives the browser for a while. A connected driver makes tabs keep their requests and answers, so it disconnects.
   */
  async function drive<T>(use: (context: BrowserContext) => Promise<T>): Promise<T> {
    const driver = await chromium.connectOverCDP(debugging)
    const [context] = driver.contexts()
    if (context === undefined) throw new Error('The browser has no tabs')
    context.setDefaultTimeout(60_000)
    return use(context).finally(() => driver.close())
  }

  const lastTab = (context: BrowserContext) => context.pages().at(-1) as Page

  /** Drops a file in a new tab, and begins to import it. */
  async function begin(
    path: string,
    table: string,
    notices: readonly string[] = [],
  ): Promise<void> {
    await drive(async (context) => {
      const page = await context.newPage()
      await page.goto(`${address}/`)
      await page.getByLabel('API key').fill(KEY)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Import', exact: true }).click()
      await page.getByText('Drop a file anywhere').waitFor()
      await dropFile(page, path)
      await page.getByRole('columnheader', { name: 'share (number)' }).waitFor()
      for (const notice of notices) await page.getByText(notice).waitFor()
      await page.getByLabel('Name of the table').fill(table)
      await page.getByRole('button', { name: 'Import', exact: true }).click()
    })
  }

  /** Waits until a table exists. @returns the peak memory of a tab meanwhile, in bytes */
  async function untilImported(table: string): Promise<number> {
    const headers = { authorization: `Bearer ${KEY}` }
    const tables = (): Promise<string> => {
      const asked = fetch(`${address}/tables`, { headers }).then((answer) => answer.text())
      return asked.catch(() => '') // It is being restarted.
    }
    const end = performance.now() + IMPORT_MS_MAX
    let most = 0
    while (!(await tables()).includes(`"${table}"`)) {
      if (performance.now() > end) throw new Error(`The import of ${table} has not ended`)
      if (GIVEN !== undefined) most = Math.max(most, ...(await rendererMemory(browser)))
      await new Promise((done) => setTimeout(done, 50))
    }
    return most
  }

  /** Completes an import that was begun in the last tab. */
  async function finish(what: string, table: string): Promise<void> {
    const began = performance.now()
    const most = await untilImported(table)
    const seconds = Math.round(performance.now() - began) / 1_000
    if (GIVEN !== undefined) console.log(JSON.stringify({ what, ROWS, seconds, tab: most }))
    await drive(async (context) => {
      const page = lastTab(context)
      await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
      expect(await page.locator('.receipt').innerText()).toContain(ROWS.toLocaleString('en'))
      await page.close()
    })
  }

  /** Number of chunks put before an import is stopped: half of them. */
  const halfOf = (bytes: number) => Math.max(2, Math.floor(bytes / 2 ** 21))

  test(
    'goes on after its server was killed, and after its tab was closed',
    async () => {
      const csv = await writeRows('orders.csv', 'id,title,share,note\n', CSV)
      const half = gate.holdAfter(halfOf(csv.size))
      await begin(csv.path, 'Killed')
      await half
      serving.child.kill('SIGKILL')
      await once(serving.child, 'exit')
      await gate.failHeld()
      serving = await start()
      gate.letThrough()
      await finish('its server was killed in the middle', 'Killed')

      const { path: plain, size } = await writeRows('orders.ndjson', '', NDJSON)
      const path = `${plain}.gz`
      await pipeline(createReadStream(plain), createGzip({ level: 1 }), createWriteStream(path))
      const before = gate.stored
      const other = gate.holdAfter(halfOf(size))
      await begin(path, 'Closed')
      await other
      await drive((context) => lastTab(context).close({ runBeforeUnload: false }))
      gate.letThrough()
      const { sent, stored } = gate
      await begin(path, 'Closed', ['was started'])
      await finish('its tab was closed in the middle', 'Closed')
      expect(stored - before).toBeGreaterThanOrEqual(halfOf(size))
      expect(gate.sent - sent).toBeLessThanOrEqual(
        Math.ceil(size / 2 ** 20) + 1 - (stored - before),
      )

      await serving.stop()
      const store = await openDirectory(directory.path)
      const team = store.team('default')
      for (const name of ['Killed', 'Closed']) {
        const table = await team.tableByName(name)
        let index = 0
        for await (const { $rowID, ...row } of table?.scan() ?? []) {
          if (row['id'] !== index || row['title'] !== `Row ${index}`) break
          index++
        }
        expect([name, index]).toEqual([name, ROWS])
      }
      expect((await team.tables()).map(({ rowCount }) => rowCount)).toEqual([ROWS, ROWS])
      expect(await team.stashes()).toEqual([])
      await store.close()
    },
    3 * IMPORT_MS_MAX,
  )
})
