// Goal: each view says what it is, what is wrong and what it waits for, and fits a phone.
// Method: the page of `rowstash open --write` in a real browser. The server's metrics of a day are invented.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory, startServer } from '../../adapters/node.js'
import { fillShop } from './shop.js'
import {
  faults,
  HAS_BROWSER,
  hold,
  makeShownDirectory,
  openPage,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'

const PHONE = { viewport: { width: 390, height: 844 } }
const SLOT_MS = 300_000

describe.skipIf(!HAS_BROWSER)('the views in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory(async (store) => {
      const team = store.team('default')
      const name = 'A table with a name that takes more than a line of a phone'
      await team.createTable({ name, rows: [{ n: 1 }] })
      await team.stash('page-left-behind').put('0', [{ n: 1 }])
      return fillShop(store, 200)
    }, '--write')
  })

  afterAll(() => directory?.remove())

  const goTo = (page: Page, name: string) =>
    page.getByRole('link', { name, exact: true }).first().click()

  /** Elements with content beyond their visible width. */
  const sideways = (page: Page) =>
    page.evaluate(() =>
      [...document.querySelectorAll('main, main :is(.page, .wide, .pane)')]
        .filter((element) => element.scrollWidth > element.clientWidth)
        .map(({ className }) => className),
    )

  test('lists, Storage, Health and a row are read on a phone without scrolling sideways', async () => {
    const page = await showDirectory(directory, PHONE)
    await expect.poll(() => page.locator('tbody').innerText()).not.toContain('…')
    await page.getByRole('button', { name: 'Delete the table Orders' }).waitFor()
    expect(await sideways(page)).toEqual([])

    await goTo(page, 'Storage')
    await page.getByText('page-left-behind').waitFor()
    await page.getByText('parcel.png').or(page.getByText('image/png')).first().waitFor()
    expect(await sideways(page)).toEqual([])
    expect(await faults(page)).toEqual([])

    await goTo(page, 'Health')
    await page.getByText('Nothing is wrong').waitFor()
    expect(await sideways(page)).toEqual([])
    const [first, second] = await page.locator('.lines .plot').all()
    const height = ((await second?.boundingBox())?.y ?? 0) - ((await first?.boundingBox())?.y ?? 0)
    expect(height).toBeLessThan(60) // one line each

    await goTo(page, 'Tables')
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    await page.locator('.gutter').nth(1).click()
    await page.locator('.pane').waitFor()
    expect(await sideways(page)).toEqual([])
  })

  test('Health says what is wrong before all else, and shows the last day', async () => {
    const page = await showDirectory(directory)
    const at = Date.now() - (Date.now() % SLOT_MS)
    const sample = (slots: number, requests: number, failed: number) => ({
      at: at - slots * SLOT_MS,
      requests,
      failed,
      rowsIn: 0,
      rowsOut: 0,
      commits: 0,
      writtenBytes: 0,
      memoryBytes: 50_000_000,
    })
    const samples = [sample(280, 3_000, 0), sample(36, 600, 2), sample(35, 60, 1), sample(0, 0, 0)]
    await page.route('**/admin/day', (route) =>
      route.fulfill({ json: { data: { seconds: 300, samples } } }),
    )
    await page.route('**/metrics', async (route) => {
      const answer = await route.fetch()
      const text = await answer.text()
      await route.fulfill({ body: text.replace('rowstash_writable 1', 'rowstash_writable 0') })
    })
    await goTo(page, 'Health')
    const wrong = page.locator('.health.wrong')
    await expect
      .poll(() => wrong.allInnerTexts())
      .toEqual([
        'The store accepts no changes: its disk is full, or a write has failed.\n\nRequests that the server could not answer in the last day: 3, the last of them 3 hours ago.',
      ])
    expect(await page.getByLabel('Period').inputValue()).toBe('day')
    const requests = page.getByRole('group', { name: 'Requests' })
    expect(await requests.innerText()).toContain('24 h ago\nhighest 10/s')
    const drawn = (await requests.locator('.line').getAttribute('d'))?.split('L') ?? []
    // For the last 281 times, most of which had no request.
    expect(drawn.length).toBe(281)
    expect(new Set(drawn.map((point) => point.split(',')[1])).size).toBe(4)
    expect(await faults(page)).toEqual([])

    await page.getByLabel('Period').selectOption('now')
    expect(await requests.innerText()).toContain('4 min ago')
    await page.unroute('**/metrics')
    await expect.poll(() => wrong.innerText()).not.toContain('accepts no changes')
  })

  test('a server tells its day', async () => {
    const page = await showDirectory(directory)
    const answered = page.waitForResponse('**/admin/day')
    await goTo(page, 'Health')
    const answer = await answered
    const { data } = (await answer.json()) as {
      data: { samples: { requests: number; memoryBytes: number }[] }
    }
    expect(data.samples.at(-1)?.requests).toBeGreaterThan(0)
    expect(data.samples.at(-1)?.memoryBytes).toBeGreaterThan(1_000_000)
  })

  test('a view that takes long is loading, and one that fails is not taken for the one before', async () => {
    const page = await showDirectory(directory)
    const link = page.getByRole('link', { name: 'Orders' })
    await link.waitFor()
    const release = await hold(page, /\/tables\/[^/]+$/, () => true, 404)
    await link.click()
    await page.locator('main[aria-busy]').waitFor()
    expect(await faults(page)).toEqual([])
    release()
    await page.getByRole('alert').getByText('held').waitFor()
    await page.getByRole('heading', { name: 'This cannot be shown.' }).waitFor()
    expect(await page.locator('main[aria-busy]').count()).toBe(0)
    expect(await link.count()).toBe(0)
    expect(await faults(page)).toEqual([])
    await page.unroute(/\/tables\/[^/]+$/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
  })

  test('an empty store is a place for a file; without --write it says why it takes none', async () => {
    for (const [args, text] of [
      [['--write'], 'Drop a file anywhere on this page'],
      [[], 'This store was opened read-only.'],
    ] as const) {
      const empty = await makeShownDirectory(async () => undefined, ...args)
      onTestFinished(empty.remove)
      const page = await showDirectory(empty)
      await page.getByText('There are no tables yet.').waitFor()
      await page.getByText(text).waitFor()
      expect(await faults(page)).toEqual([])
      expect(await page.locator('#file').count()).toBe(args.length)
      if (args.length === 0) continue
      await page.locator('#file').setInputFiles({
        name: 'first.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('a;b\n1,5;2\n'),
      })
      await page.getByRole('columnheader', { name: 'a (number)' }).waitFor()
      expect(await page.getByLabel('Name of the table').inputValue()).toBe('first')
    }
  })

  test('the sign-in says what a key is, where it is found, and which are not known', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-signin-'))
    const store = await openDirectory(folder)
    const keys = [{ key: 'a-key-that-may-only-read', teamId: 'default', scopes: ['read'] as const }]
    const server = await startServer(store, { keys, page: true, port: 0 })
    onTestFinished(async () => {
      await server.close()
      await store.close()
      await rm(folder, { recursive: true })
    })
    const page = await openPage(directory.context, `${server.url}/`)
    await page.getByText('An API key is the password').waitFor()
    await page.getByText('“rowstash serve” prints the key').waitFor()
    expect(await faults(page)).toEqual([])
    await page.getByLabel('API key').fill('a-key-that-nobody-has')
    await page.keyboard.press('Enter')
    await page.getByText('The server does not know this key.').waitFor()
    await page.getByLabel('API key').fill('a-key-that-may-only-read')
    await page.keyboard.press('Enter')
    await page.locator('#file').setInputFiles({
      name: 'first.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('a\n1\n'),
    })
    await page.getByText('The key of this page may not do that').waitFor()
    expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0)
  })
})
