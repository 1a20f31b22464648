// Goal: a person sees what others change and how much, and loads the changes without losing the position.
// Method: the page of `startServer` in a real browser, while the library changes the tables of its store.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../adapters/http/start-server.js'
import { openMemory, type Store, type Table } from '../../src/index.js'
import { faults, HAS_BROWSER, launchBrowser, openPage, picture } from './shown-page.js'

const KEY = 'a-key-of-a-person'
const ROWS = 3_000

describe.skipIf(!HAS_BROWSER)('what others change', () => {
  let browser: Browser
  let context: BrowserContext
  let store: Store

  beforeAll(async () => {
    browser = await launchBrowser()
    context = await browser.newContext()
    store = await openMemory()
  })

  afterAll(async () => {
    await browser?.close()
    await store?.close()
  })

  async function shown(feedsPerKeyMax = 100): Promise<Page> {
    const keys = [{ key: KEY, teamId: 'default' }]
    const server = await startServer(store, { keys, port: 0, page: true, feedsPerKeyMax })
    const page = await openPage(context, `${server.url}/`)
    onTestFinished(() => server.close())
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    return page
  }

  async function makeTable(name: string): Promise<Table> {
    const rows = Array.from({ length: ROWS }, (_, id) => ({ id, name: `row ${id}` }))
    const { tableId } = await store.team('default').createTable({ name, rows })
    return store.team('default').table(tableId)
  }

  async function showMiddle(page: Page, name: string): Promise<void> {
    await page.getByRole('link', { name }).click()
    await row(page, 1).waitFor()
    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 2_000 * 30 + 11
    })
    await row(page, 2_005).waitFor()
  }

  const row = (page: Page, id: number) =>
    page.getByRole('gridcell', { name: `row ${id}`, exact: true })
  const added = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: from + at, name: `row ${from + at}` }))
  /** The first visible row, and the number of rows. The message takes the place of the last ones. */
  const place = async (page: Page) =>
    (await page.locator('.place').innerText()).replace(/–.* of /, '–')

  test('is said with its number of rows, and taken where the person is', async () => {
    const table = await makeTable('Followed')
    const page = await shown()
    await showMiddle(page, 'Followed')
    const before = await place(page)
    await table.addRows(added(ROWS, 7))
    await page.getByText('7 rows changed.').waitFor()
    await table.addRows(added(ROWS + 7, 5))
    await page.getByText('12 rows changed.').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'changed')
    await page.getByRole('button', { name: 'Show the new version' }).click()
    await expect.poll(() => place(page)).toBe(before.replace('3,000', '3,012'))
    await row(page, 2_005).waitFor()
    expect(await page.getByText('rows changed.').isVisible()).toBe(false)

    // At once, by keyboard: the box stays, so that it can be unchecked.
    await table.addRows(added(ROWS + 12, 1))
    await page.getByText('1 row changed.').waitFor()
    await page.getByRole('checkbox', { name: 'Show changes at once' }).press(' ')
    await expect.poll(() => place(page)).toBe(before.replace('3,000', '3,013'))
    await table.addRows(added(ROWS + 13, 2))
    await expect.poll(() => place(page)).toBe(before.replace('3,000', '3,015'))
    await page.getByText('2 rows changed.').waitFor()
    await row(page, 2_005).waitFor()
    const box = page.getByRole('checkbox', { name: 'Show changes at once' })
    await box.press(' ')
    await box.waitFor({ state: 'hidden' })
    await table.delete()
  })

  test('is said without a feed, and the feed is held only while the tab is seen', async () => {
    const table = await makeTable('Refused')
    const page = await shown(0)
    await showMiddle(page, 'Refused')
    await table.addRows(added(ROWS, 2))
    await page.getByText('it is now at version 2').waitFor() // It asks every 5 seconds.
    expect(await page.getByText('rows changed.').isVisible()).toBe(false)

    const other = await shown()
    const feed = other.waitForRequest(/\/changes\?/)
    await other.getByRole('link', { name: 'Refused' }).click()
    const ended = other.waitForEvent('requestfailed', (each) => each.url().includes('/changes?'))
    await feed
    const see = (isHidden: boolean) =>
      other.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)
    const third = await shown()
    await third.getByRole('link', { name: 'Refused' }).click()
    await row(third, 1).waitFor()
    const asked: string[] = []
    other.on('request', (each) => asked.push(each.url()))
    await see(true)
    await ended
    await table.addRows(added(ROWS + 2, 3))
    await third.getByText('3 rows changed.').waitFor() // A visible tab is notified meanwhile.
    expect([asked, await other.getByText('rows changed.').isVisible()]).toEqual([[], false])
    await see(false)
    await other.getByText('3 rows changed.').waitFor()
    await table.delete()
  })

  test('is listed', async () => {
    const first = await makeTable('First')
    const page = await shown()
    const line = (name: RegExp) => page.getByRole('row', { name })
    await line(/^First 3,000/).waitFor()
    const second = await makeTable('Second')
    await line(/^Second 3,000/).waitFor()
    await first.addRows(added(ROWS, 2))
    await line(/^First 3,002/).waitFor()
    await page.getByRole('link', { name: 'Second' }).focus()
    await first.delete()
    await line(/^First/).waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Second')
    await second.delete()
    await page.getByText('There are no tables yet.').waitFor()
  })
})
