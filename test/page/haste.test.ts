// Goal: a person who is faster than the server or the screen loses neither the position, nor the focus, nor a choice.
// Method: the page of `startServer` in a real browser. Answers, files and timers are held until the person has acted.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../adapters/http/start-server.js'
import { openMemory, type Store } from '../../src/index.js'
import { HAS_BROWSER, hold, launchBrowser, openPage } from './shown-page.js'

const KEY = 'a-key-of-a-person'
const ADMIN_KEY = 'a-key-of-an-admin'
const ROWS = 3_000
const CSV = { name: 'items.csv', mimeType: 'text/csv', buffer: Buffer.from('n,code\n1,a\n2,b\n') }

describe.skipIf(!HAS_BROWSER)('a person in haste', () => {
  let browser: Browser
  let context: BrowserContext
  let store: Store

  beforeAll(async () => {
    browser = await launchBrowser()
    context = await browser.newContext()
    store = await openMemory({ historyRetentionMs: 86_400_000 })
    const team = store.team('default')
    const schema = { columns: ['n', 'code'].map((id) => ({ id, type: { kind: 'string' } })) }
    const keyed = { name: 'Keyed', schema, key: ['code'], rows: [{ n: '1', code: 'a' }] } as const
    await team.createTable(keyed as never)
    const rows = Array.from({ length: ROWS }, (_, id) => ({ id, name: `row ${id}`, city: 'Rome' }))
    const { tableId, rowIds } = await team.createTable({ name: 'Long', rows })
    await team.table(tableId).updateRow(rowIds.get(0), { city: 'Oslo' })
  })

  afterAll(async () => {
    await browser?.close()
    await store?.close()
  })

  async function shown(): Promise<Page> {
    const keys = [{ key: KEY, teamId: 'default' }]
    const server = await startServer(store, { keys, adminKeys: [ADMIN_KEY], port: 0, page: true })
    const page = await openPage(context, `${server.url}/`)
    onTestFinished(() => server.close())
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    return page
  }

  const row = (page: Page, id: number) =>
    page.getByRole('gridcell', { name: `row ${id}`, exact: true })
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '')
  const frame = (page: Page) => page.evaluate(() => new Promise(requestAnimationFrame))

  async function showLong(): Promise<Page> {
    const page = await shown()
    await page.getByRole('link', { name: 'Long' }).click()
    await row(page, 1).waitFor()
    return page
  }

  /** Filters the table: all rows match. */
  async function filterLong(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox', { name: 'Operator' }).selectOption('gte')
    await page.getByRole('textbox', { name: 'Value' }).fill('0')
    await page.keyboard.press('Enter')
  }

  test('moves from the first row, also while no row has come', async () => {
    const page = await showLong()
    const release = await hold(page, /\/rows\?.*where/)
    await filterLong(page)
    await row(page, 1).waitFor({ state: 'detached' })
    await page.getByRole('grid').focus()
    for (const key of ['ArrowDown', 'Control+End', 'Home']) await page.keyboard.press(key)
    release()
    await row(page, 1).waitFor()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.locator('#active-cell').innerText()).toBe('1')
  })

  test('scrolls on just when the place of the scrollbar is settled', async () => {
    const page = await showLong()
    const at = await page.getByRole('grid').evaluate(async (grid) => {
      let settle = (): void => undefined
      const { setTimeout } = window
      Object.assign(window, {
        setTimeout: (work: () => void) => {
          settle = work
        },
      })
      grid.scrollTop = 1_000
      await new Promise((done) => grid.addEventListener('scroll', done, { once: true }))
      Object.assign(window, { setTimeout })
      grid.scrollTop = 30_000 // Its event comes with the next frame.
      settle()
      return grid.scrollTop
    })
    expect(at).toBe(30_000)
    await row(page, 1_005).waitFor()
  })

  test('keeps the place among matches when columns are chosen before the rows have come', async () => {
    const page = await showLong()
    const place = async () => (await page.locator('.place').innerText()).split(' of ')[0]
    await filterLong(page)
    const end = async () => {
      await page.getByRole('grid').press('Control+End')
      return page.getByRole('grid').getAttribute('aria-rowcount')
    }
    await expect.poll(end).toBe('3001') // All are read.
    await page.getByRole('grid').press('Control+Home')
    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 54_011
    })
    await row(page, 1_805).waitFor()
    const found = await place()

    const release = await hold(page, /\/rows\?.*where/)
    await page.locator('summary', { hasText: 'Columns' }).click()
    for (const name of ['id', 'city']) {
      await page.getByRole('checkbox', { name }).uncheck()
      await frame(page)
      await frame(page)
    }
    release()
    await row(page, 1_805).waitFor()
    await expect.poll(place).toBe(found)
    expect(await page.getByRole('columnheader').count()).toBe(2)
  })

  test('scrolls before it is known how many rows match, and stays there', async () => {
    const page = await showLong()
    const release = await hold(page, /\/rows\?.*total=true/)
    await page.goto(`${page.url().split('?')[0]}?search=row&sort=-name`)
    const grid = page.getByRole('grid')
    await expect
      .poll(() => grid.evaluate(({ scrollHeight }) => scrollHeight))
      .toBeGreaterThan(9_000)
    await grid.evaluate((element) => {
      element.scrollTop = 200 * 30
    })
    await frame(page)
    release()
    await page.getByRole('rowheader', { name: '201', exact: true }).waitFor()
    expect(await page.locator('.place').innerText()).toMatch(/^201–\d+ of 3,000$/)
  })

  test('goes far in an order that is sorted meanwhile, and is told', async () => {
    const page = await showLong()
    const release = await hold(page, /\/rows\?.*from=2999&limit=1\b/)
    const asked = page.waitForRequest(/from=2999&limit=1\b/) // before anybody goes there
    await page.goto(`${page.url().split('?')[0]}?sort=-name`)
    await asked
    await page.getByRole('grid').evaluate((element) => {
      element.scrollTop = 2_000 * 30
    })
    await expect
      .poll(() => page.locator('.place').innerText())
      .toMatch(/^2,001–2,\d+ of 3,000 · sorting all rows …$/)
    release()
    await page.getByRole('rowheader', { name: '2001', exact: true }).waitFor()
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/ of 3,000$/)
  })

  test('is told how many rows match before they are read', async () => {
    const page = await showLong()
    await page.goto(`${page.url().split('?')[0]}?search=rome`)
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/^1–\d+ of 2,999$/)
  })

  test('looks through the history of a row by one button, and closes the pane from there', async () => {
    const page = await showLong()
    await page.getByRole('grid').focus()
    await page.keyboard.press('Space')
    const pane = page.getByRole('complementary')
    const more = pane.getByRole('button', { name: /^Show (?:the previous|an earlier) version$/ })
    await more.focus()
    let asked = 0
    page.on('request', (request) => {
      asked += request.url().includes('/rows/') ? 1 : 0
    })
    const release = await hold(page, /\/rows\//)
    for (const key of ['Enter', 'Enter']) await page.keyboard.press(key)
    await frame(page)
    expect(await more.isEnabled()).toBe(false)
    expect(await focused(page)).toBe('Show the previous version')
    release()
    await pane.getByText('Changed in version 2', { exact: true }).waitFor()
    await expect.poll(() => focused(page)).toBe('Show an earlier version')
    expect(await more.isEnabled()).toBe(true)
    expect(asked).toBe(1)
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toMatch(/^Added in version 1\./)
    await page.keyboard.press('Escape')
    await pane.waitFor({ state: 'hidden' })
    expect(await page.getByRole('grid').evaluate((grid) => document.activeElement === grid)).toBe(
      true,
    )
  })

  test('goes from row to row of the pane by one button', async () => {
    const page = await showLong()
    await page.getByRole('grid').focus()
    await page.keyboard.press('Space')
    const pane = page.getByRole('complementary')
    await pane.getByRole('button', { name: 'Next' }).focus()
    for (const title of ['Row 2', 'Row 3']) {
      await page.keyboard.press('Enter')
      await pane.getByRole('heading', { name: title }).waitFor()
    }
    await page.keyboard.press('Escape')
    await pane.waitFor({ state: 'hidden' })
  })

  test('begins one verification by the same key twice, and is at its button after cancelling', async () => {
    const page = await shown()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    const verify = page.getByRole('button', { name: 'Verify everything' })
    let asked = 0
    const release = await hold(page, /admin\/verify/, () => ++asked > 0)
    await verify.focus()
    for (const key of ['Enter', 'Enter']) await page.keyboard.press(key)
    await expect.poll(() => asked).toBe(1)
    expect(await focused(page)).toBe('Verify everything')
    expect(await verify.isEnabled()).toBe(false)
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Cancel')
    await page.keyboard.press('Enter')
    await page.getByText('The verification was cancelled.').waitFor()
    expect(await focused(page)).toBe('Verify everything')
    expect(await verify.isEnabled()).toBe(true)
    release()
    await page.keyboard.press('Enter')
    await page.getByText('No damage was found.').waitFor()
    expect(asked).toBe(2)
  })

  test('merges by the key of the table, also if it is known before the columns of the file', async () => {
    const page = await shown()
    await page.getByRole('link', { name: 'Import' }).click()
    await page.getByText('Drop a file anywhere').waitFor()
    // The file is read once to check that it is text, and then for its first rows: these reads are held.
    await page.evaluate(() => {
      const { stream } = Blob.prototype
      let reads = 0
      const released = new Promise<void>((release) => Object.assign(window, { release }))
      Blob.prototype.stream = function () {
        const transform: Transformer['transform'] = async (piece, controller) => {
          await released
          controller.enqueue(piece)
        }
        const whole = stream.call(this)
        return reads++ === 0 ? whole : whole.pipeThrough(new TransformStream({ transform }))
      }
    })
    const known = page.waitForResponse(/\/tables\/[\w-]+$/)
    await page.locator('#file').setInputFiles(CSV)
    await (await known).finished()
    await frame(page)
    await page.evaluate('release()')
    await page.getByRole('columnheader', { name: 'code' }).waitFor()
    await page.getByLabel('Import as').selectOption('merge')
    expect(await page.getByLabel('Key column').inputValue()).toBe('code')
  })

  test('finds what an import has done, also if it ends while another view is opened', async () => {
    const page = await shown()
    await page.getByRole('link', { name: 'Import' }).click()
    await page.locator('#file').setInputFiles(CSV)
    await page.getByRole('columnheader', { name: 'code' }).waitFor()
    const commit = await hold(page, /\/tables\?(?!.*validate)/)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Committing …').waitFor()
    const show = await hold(page, /\/tables$/, (method) => method === 'GET')
    await page.getByRole('link', { name: 'Tables' }).click()
    commit()
    const done = page.getByRole('heading', { name: 'The import is complete.' })
    await done.waitFor()
    show()
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    await page.getByRole('link', { name: 'Import' }).click()
    await done.waitFor()
    expect(await page.locator('.receipt').innerText()).toMatch(/Rows of the file\s+2/)
  })
})
