// Goal: a person can view tables of any size in a browser, by mouse and by keyboard, and their content cannot act.
// Method: the page of `rowstash open` in a real browser.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillShop, MARKUP, MISSING } from './shop.js'
import {
  copiedText,
  faults,
  HAS_BROWSER,
  makeShownDirectory,
  PICTURES,
  picture,
  type ShownDirectory,
  showDirectory,
  type TabOptions,
} from './shown-page.js'

const ROWS = 20_000

describe.skipIf(!HAS_BROWSER)('the page in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS))
  })

  afterAll(() => directory?.remove())

  async function showOrders(options: TabOptions = {}): Promise<Page> {
    const page = await showDirectory(directory, options)
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    return page
  }

  const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })

  test('lists the tables, and shows the rows of one', async () => {
    const page = await showDirectory(directory)
    const line = page.getByRole('row', { name: /Orders/ })
    await expect.poll(() => line.innerText()).toMatch(/20,000\s+[\d.]+ MB\s+11\s+/)
    expect(new URL(page.url()).search).toBe('')
    expect(await faults(page)).toEqual([])
    await picture(page, 'tables')

    await page.getByRole('link', { name: 'Orders' }).click()
    await cell(page, 'Grace Hopper').first().waitFor()

    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe(String(ROWS + 1))
    const thumbnail = page.locator('.thumb').first()
    await expect
      .poll(() => thumbnail.evaluate((image) => (image as HTMLImageElement).naturalWidth))
      .toBe(72)
    await picture(page, 'table-light')
    await picture(page, 'readme', { width: 1_040, height: 420 })
    await picture(page, 'wide', { width: 1_920, height: 900 })

    // A missing file is shown by its URL, and so is a file that is no picture.
    await page.getByRole('grid').evaluate((grid, row) => {
      grid.scrollTop = (row - 3) * 30
    }, MISSING)
    await cell(page, 'file https://files.example/files/rsf-gone').waitFor()
    await cell(page, String(MISSING)).dblclick()
    await page.getByText('The file is missing, or is not a picture.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollLeft = grid.scrollWidth
    })
    await page.getByRole('gridcell', { name: /^file .*rsf-(?!gone)/ }).waitFor()
  })

  test('goes to the middle by the scrollbar, and shows the rows that are there', async () => {
    const page = await showOrders()

    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = grid.scrollHeight / 2
    })

    await cell(page, '10005').waitFor()
    // A row number stands beside the cells of its row.
    const row = page.getByRole('row', { name: /^10006 / })
    expect(await row.getAttribute('aria-rowindex')).toBe('10007')
    expect(await row.getByRole('gridcell').first().innerText()).toBe('10005')
    const shown = await page.getByRole('row').count()
    expect(shown).toBeLessThan(60)

    // The edge of a column is dragged, and the columns after it move along.
    const head = (name: string) => page.getByRole('columnheader', { name: new RegExp(`^${name} `) })
    const [before, behind] = [await head('id').boundingBox(), await head('photo').boundingBox()]
    const at = { x: (before?.x ?? 0) + (before?.width ?? 0) - 3, y: (before?.y ?? 0) + 10 }
    await page.mouse.move(at.x, at.y)
    await page.mouse.down()
    await page.mouse.move(at.x + 30, at.y, { steps: 3 })
    await page.mouse.move(at.x + 60, at.y, { steps: 3 })
    await page.mouse.up()
    await expect
      .poll(async () => (await head('id').boundingBox())?.width)
      .toBe((before?.width ?? 0) + 60)
    expect((await head('photo').boundingBox())?.x).toBe((behind?.x ?? 0) + 60)
    await page.mouse.move(at.x + 90, at.y) // no longer dragged
    expect((await head('id').boundingBox())?.width).toBe((before?.width ?? 0) + 60)
    // The width belongs to the column: it stays when others are hidden, and when the table is opened again.
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'photo' }).uncheck()
    await expect.poll(() => head('photo').count()).toBe(0)
    expect((await head('id').boundingBox())?.width).toBe((before?.width ?? 0) + 60)
    await page.getByRole('link', { name: 'Tables' }).click()
    await page.getByRole('link', { name: 'Orders' }).click()
    await head('photo').waitFor()
    expect((await head('id').boundingBox())?.width).toBe((before?.width ?? 0) + 60)
  })

  test('is used by keyboard alone', async () => {
    const page = await showOrders()
    const active = () => page.locator('#active-cell').innerText()
    await page.getByRole('grid').focus()

    await page.keyboard.press('ArrowDown')
    await expect.poll(active).toBe('1')
    await page.keyboard.press('PageDown')
    await expect.poll(async () => Number(await active())).toBeGreaterThan(10)
    await page.keyboard.press('Control+End')
    await expect.poll(active).toMatch(/^Delivered/)
    const grid = page.getByRole('grid')
    expect(await grid.getAttribute('aria-activedescendant')).toBe('active-cell')
    await page.keyboard.press('Home')
    await expect.poll(active).toBe(String(ROWS - 1))
    await page.keyboard.press('Enter')
    const pane = page.getByRole('complementary')
    await pane.getByRole('heading', { name: 'Row 20,000' }).waitFor()
    await expect.poll(() => pane.innerText()).toContain('last changed in version 1')
    await page.keyboard.press('Escape')
    await pane.waitFor({ state: 'hidden' })
    expect(await grid.evaluate((element) => document.activeElement === element)).toBe(true)

    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowUp')
    const width = () =>
      page
        .getByRole('columnheader')
        .nth(1)
        .evaluate((head) => head.clientWidth)
    const before = await width()
    await page.keyboard.press('Alt+ArrowRight')
    await expect.poll(width).toBe(before + 16)
    await page.keyboard.press('Alt+ArrowLeft')
    await page.keyboard.press('Alt+ArrowLeft')
    await expect.poll(width).toBe(before - 16)
  })

  test('copies a cell, and the rows on the screen, by keyboard alone', async () => {
    await directory.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await showOrders()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await page.getByRole('grid').focus()
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'Control+c'])
      await page.keyboard.press(key)
    await expect.poll(copied).toBe('Alan Turing')

    await page.locator('summary', { hasText: 'Copy' }).focus()
    for (const key of ['Enter', 'Tab', 'Enter']) await page.keyboard.press(key)
    await expect.poll(copied).toMatch(/^\[/)
    const rows = JSON.parse(await copied()) as readonly { customer: string }[]
    expect(rows.slice(0, 2).map(({ customer }) => customer)).toEqual(['Ada Byron', 'Alan Turing'])
    // The focus returns, so the next format is as near.
    for (const key of ['Enter', 'Tab', 'Tab', 'Enter']) await page.keyboard.press(key)
    await expect.poll(copied).toMatch(/^\$rowID,id,photo,customer,/)
  })

  test('is walked through from the list to a filtered table by keyboard alone', async () => {
    const page = await showDirectory(directory)
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    const tabTo = async (text: string) => {
      for (let tabs = 0; (await focused()) !== text; tabs++) {
        expect(tabs, `the way to ${text}`).toBeLessThan(40)
        await press('Tab')
      }
    }
    await press('Tab')
    expect(await focused()).toBe('Skip to the content')
    await press('Enter', 'Tab')
    await page.keyboard.type('ord') // into the search
    await tabTo('Orders')
    await press('Enter')
    await cell(page, 'Ada Byron').first().waitFor()
    await tabTo('Filter')
    await press('Enter') // The focus goes to the first condition.
    await press('c', 'Tab', 'Tab') // the column "customer", and the value
    await page.keyboard.type('Ada Byron')
    await press('Enter')
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/ of [\d,]+\+?$/)
    await expect.poll(() => cell(page, 'Alan Turing').count()).toBe(0)
    await tabTo('Columns')
    await press('Enter', 'Tab')
    await tabTo('Only the first')
    await press('Enter', 'Escape')
    await expect.poll(() => page.getByRole('columnheader').count()).toBe(2)
    await cell(page, '5').waitFor() // The keypress removed the old grid: these are the new rows.
    expect(await focused()).toBe('Columns')
    await page.getByRole('grid').focus()
    await press('ArrowDown', 'Enter')
    await page.getByRole('heading', { name: 'Row 2' }).waitFor()
  })

  test('filters rows, and says why a condition is refused', async () => {
    const page = await showOrders({ colorScheme: 'dark' })
    await page.getByRole('button', { name: 'Filter' }).click()
    const column = page.getByRole('combobox', { name: 'Column' })
    const value = page.getByRole('textbox', { name: 'Value' })

    await column.selectOption('total')
    await page.getByRole('combobox', { name: 'Operator' }).selectOption('gte')
    await value.fill('999.9')
    await value.press('Enter')
    // 7919 and 100,000 have no common factor, so every total occurs once in 100,000 rows.
    const totals = Array.from({ length: ROWS }, (_, index) => ((index * 7919) % 100_000) / 100)
    const expected = totals.filter((total) => total >= 999.9).length
    await expect.poll(() => page.locator('.place').innerText()).toBe(`1–${expected} of ${expected}`)
    await cell(page, String(totals.indexOf(Math.max(...totals)))).waitFor()

    await value.fill('abc')
    await value.press('Enter')
    await expect
      .poll(() => page.locator('.condition .problem').innerText())
      .toContain('gte of column "total"')
    await page.getByRole('button', { name: 'Clear' }).click()
    await cell(page, 'Grace Hopper').first().dblclick()
    await page.getByRole('complementary').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'table-dark')
  })

  test('shows columns that are chosen, and copies what is on the screen', async () => {
    await directory.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await showOrders()
    const copied = (format: string) =>
      copiedText(page, async () => {
        await page.locator('summary', { hasText: 'Copy' }).click()
        await page.getByRole('button', { name: format }).click()
      })
    await page.locator('summary', { hasText: 'Columns' }).click()
    expect(await faults(page)).toEqual([])
    await page.locator('summary', { hasText: 'Columns' }).click() // A phone has closed it.
    await page.getByRole('button', { name: 'Only the first' }).click()
    await cell(page, '5').waitFor()
    expect(await page.getByRole('columnheader').allInnerTexts()).toHaveLength(2)
    await page.keyboard.press('Escape')

    const rows = JSON.parse(await copied('as JSON')) as readonly { id: number }[]
    expect(rows.slice(0, 3).map(({ id }) => id)).toEqual([0, 1, 2])
    expect(Object.keys(rows[1] ?? {})).toEqual(['$rowID', 'id'])
    expect((await copied('as CSV')).split('\r\n').slice(0, 2)).toEqual([
      '$rowID,id',
      expect.stringMatching(/^[\w-]{22},0$/),
    ])
    // No shell has the key of a session.
    expect(await page.getByRole('button', { name: 'as a curl command' }).count()).toBe(0)

    // A row is shown with all its columns, even hidden ones.
    await cell(page, '5').dblclick()
    const pane = page.getByRole('complementary')
    await expect.poll(() => pane.innerText()).toContain('Delivered to the door, parcel 155.')
    const whole = await copiedText(page, () =>
      pane.getByRole('button', { name: 'Copy as JSON' }).click(),
    )
    expect(JSON.parse(whole)).toMatchObject({ id: 5, customer: 'Ada Byron', city: 'Nairobi' })
  })

  test('shows markup as text wherever it stands', async () => {
    const page = await showOrders()
    await cell(page, '3').dblclick()
    await expect.poll(() => page.getByRole('complementary').innerText()).toContain(MARKUP)
    await page.getByRole('link', { name: 'Tables' }).click()
    await page.getByRole('link', { name: MARKUP }).click()
    await page.getByRole('heading', { name: MARKUP }).waitFor()
    await page.getByRole('gridcell', { name: MARKUP }).dblclick()
    await page.getByRole('button', { name: 'Schema' }).click()
    await page.getByRole('cell', { name: MARKUP }).first().waitFor()
    await page.goto(`${page.url().split('#')[0]}#/table/${encodeURIComponent(MARKUP)}`)
    await expect.poll(() => page.getByRole('alert').first().innerText()).toContain('<img src=x')

    expect(await page.title()).not.toBe('acted')
    expect(
      await page.evaluate(() => document.querySelectorAll('img[src="x"], body script').length),
    ).toBe(0)
  })

  test('fits a phone', async () => {
    const page = await showOrders({ viewport: { width: 390, height: 780 } })
    expect(await faults(page)).toEqual([])
    const overflow = await page.evaluate(() => document.body.scrollWidth > innerWidth)
    expect(overflow).toBe(false)
    await picture(page, 'phone')
  })

  test('shows how the server does, and verifies the store', async () => {
    const page = await showDirectory(directory)
    if (PICTURES !== undefined) await page.clock.install()
    await page.getByRole('link', { name: 'Health' }).click()
    if (PICTURES !== undefined) await workFor(page, 60)
    await page.getByRole('button', { name: 'Verify everything' }).click()
    await page
      .getByText(/^No damage was found\. Checked: 2 tables, 20,001 rows, 1 file, /)
      .waitFor()
    const facts = (at: number) => page.locator('.facts').nth(at).innerText()
    await expect.poll(() => facts(0)).toMatch(/accepts writes\s+yes\s+Running jobs\s+0/)
    // Nothing has counted them, so the lists were requested.
    await expect.poll(() => facts(1)).toMatch(/Rows of tables\s+5\.\d MB\s+Staged rows\s+0 bytes/)
    await page.getByText('does no background work').waitFor()
    expect(await page.locator('.plot path.line').count()).toBe(9)
    expect(await faults(page)).toEqual([])
    await page.evaluate(() => scrollTo(0, 0))
    await picture(page, 'health', { width: 1100, height: 900 })
  })

  test('shows how far a verification has come, and what it has found', async () => {
    const page = await showDirectory(directory)
    await page.getByRole('link', { name: 'Health' }).click()
    // The stored bytes tell how much there is to read.
    await page
      .locator('.facts')
      .getByText(/^5\.\d MB$/)
      .waitFor()
    const say = await sayVerified(page)
    await page.getByRole('button', { name: 'Verify everything' }).click()
    const bar = page.getByRole('progressbar', { name: 'Verify the store' })
    await bar.waitFor()
    expect(await bar.getAttribute('value')).toBeNull()
    const checked = { tables: 1, rows: 9_000, files: 0, bytes: 2_800_000 }
    const line = JSON.stringify({ checked })
    await say(line.slice(0, 20)) // A piece of the answer may end anywhere.
    await say(`${line.slice(20)}\n`)
    await page.getByText('So far: 1 table, 9,000 rows, 0 files, 2.8 MB read').waitFor()
    expect(Number(await bar.getAttribute('value'))).toBeCloseTo(0.5, 1)
    const damage = { kind: 'segment', severity: 'damage', message: MARKUP, tableId: 'T' }
    await say(`${JSON.stringify({ finding: damage })}\n`)
    await expect
      .poll(() => page.locator('.findings').innerText())
      .toBe(`Damage: ${MARKUP} tableId T`)
    expect(await faults(page)).toEqual([])
    await say(`${JSON.stringify({ report: { ok: false, damageCount: 1, checked } })}\n`)
    await say(undefined)
    await page.getByText('Damage found: 1. Checked: 1 table, 9,000 rows').waitFor()
    await page.getByText(MARKUP).waitFor() // Its findings stay.
    expect(await page.getByRole('button', { name: 'Verify everything' }).isEnabled()).toBe(true)
  })
})

/** Answers the page's verification with a test's lines. @returns sends a line; undefined: ends the answer */
async function sayVerified(page: Page): Promise<(text: string | undefined) => Promise<void>> {
  await page.evaluate(() => {
    const ask = window.fetch
    const lines = new TransformStream<Uint8Array, Uint8Array>()
    const writer = lines.writable.getWriter()
    const say = (text?: string) =>
      text === undefined ? writer.close() : writer.write(new TextEncoder().encode(text))
    Object.assign(window, {
      say,
      fetch: async (url: string, init: RequestInit) =>
        url.includes('/admin/verify') ? new Response(lines.readable) : ask(url, init),
    })
  })
  return (text) => page.evaluate(`void say(${JSON.stringify(text)})`) as Promise<void>
}

/** Keeps the server busy during a number of readings of its metrics. */
async function workFor(page: Page, readings: number): Promise<void> {
  for (let reading = 0; reading < readings; reading++) {
    const requests = Math.round(6 + 5 * Math.sin(reading / 6) + (reading % 3))
    await page.evaluate(async (count) => {
      const authorization = `Bearer ${sessionStorage.getItem('rowstash-session')}`
      const ask = (path: string) => fetch(path, { headers: { authorization } })
      const tables = (await (await ask('tables')).json()) as { data: { id: string }[] }
      for (let index = 0; index < count; index++)
        await ask(`tables/${tables.data[0]?.id}/rows?limit=${20 + 7 * index}`)
    }, requests)
    const read = page.waitForResponse(/\/metrics$/)
    await page.clock.runFor(2_000)
    await read
  }
}
