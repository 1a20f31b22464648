// Goal: a person sorts, searches and copies rows, by mouse and by keyboard alone, and a link shows the same view.
// Method: the page of `rowstash open` in a real browser. The rows are compared with rows sorted here.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillShop } from './shop.js'
import {
  copiedText,
  faults,
  HAS_BROWSER,
  makeShownDirectory,
  picture,
  type ShownDirectory,
  showDirectory,
  type TabOptions,
} from './shown-page.js'

const ROWS = 20_000
const TOTALS = Array.from({ length: ROWS }, (_, index) => ((index * 7919) % 100_000) / 100)

describe.skipIf(!HAS_BROWSER)('the order of rows in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS))
  })

  afterAll(() => directory?.remove())

  async function showOrders(query = '', options: TabOptions = {}): Promise<Page> {
    const page = await showDirectory(directory, options)
    await page.goto(`${directory.origin}/#/table/${directory.made}${query}`)
    await page.getByRole('grid').waitFor()
    return page
  }

  const head = (page: Page, name: string) =>
    page.getByRole('columnheader', { name: new RegExp(`^${name}\\b`) })
  /** The texts of a column in the visible rows, by the column's number. */
  const column = async (page: Page, at: number): Promise<readonly string[]> => {
    const rows = page.locator('.row:not(.head):not([hidden])')
    const found = await rows.evaluateAll(
      (elements, index) =>
        elements.map((row) => [
          Number(row.getAttribute('aria-rowindex')),
          row.querySelector(`[aria-colindex="${index}"]`)?.textContent ?? '',
        ]),
      at,
    )
    return found.sort(([a], [b]) => Number(a) - Number(b)).map(([, text]) => String(text))
  }
  const first = (page: Page, at: number) => async () => (await column(page, at)).slice(0, 3)
  const ID = 2
  const TOTAL = 6
  const query = (page: Page) => new URLSearchParams(page.url().split('?')[1] ?? '')
  const ordered = (compare: (a: number, b: number) => number) =>
    TOTALS.map((_, index) => index).sort(compare)
  const DOWN = ordered((a, b) => (TOTALS[b] ?? 0) - (TOTALS[a] ?? 0))

  test('is chosen by clicks on headers, and goes to any place', async () => {
    const page = await showOrders()
    const total = head(page, 'total')
    expect(await total.getAttribute('aria-sort')).toBe('none')
    expect(await head(page, 'Tags').getAttribute('aria-sort')).toBeNull()
    await total.click()
    await expect.poll(first(page, ID)).toEqual(DOWN.slice(-3).reverse().map(String))
    expect(await total.getAttribute('aria-sort')).toBe('ascending')
    await total.click()
    await expect.poll(first(page, ID)).toEqual(DOWN.slice(0, 3).map(String))
    expect(await total.getAttribute('aria-sort')).toBe('descending')

    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 15_000 * 30
    })
    await expect.poll(first(page, ID)).toEqual(DOWN.slice(15_000, 15_003).map(String))
    // The position stays when the order is removed.
    await total.click()
    await expect.poll(first(page, ID)).toEqual(['15000', '15001', '15002'])
    expect(await total.getAttribute('aria-sort')).toBe('none')

    // Shift adds a column to the order; dragging an edge sorts nothing.
    await head(page, 'customer').click()
    await total.click({ modifiers: ['Shift'] })
    await total.click({ modifiers: ['Shift'] })
    expect(query(page).getAll('sort')).toEqual(['customer', '-total'])
    expect(await head(page, 'customer').innerText()).toMatch(/↑1/)
    expect(await total.innerText()).toMatch(/↓2/)
    const box = await total.boundingBox()
    const at = { x: (box?.x ?? 0) + (box?.width ?? 0) - 3, y: (box?.y ?? 0) + 10 }
    await page.mouse.move(at.x, at.y)
    await page.mouse.down()
    await page.mouse.move(at.x + 40, at.y, { steps: 3 })
    await page.mouse.up()
    await page.mouse.click(at.x + 40, at.y)
    expect(query(page).getAll('sort')).toEqual(['customer', '-total'])
    expect(await faults(page)).toEqual([])
    await picture(page, 'sorted')
  })

  test('is chosen by keyboard alone, which stays where it was', async () => {
    const page = await showOrders()
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    await page.getByRole('grid').focus()
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const active = () => page.locator('#active-cell').getAttribute('aria-sort')
    await press('ArrowUp', 'ArrowRight', 'ArrowRight', 'Enter')
    await expect.poll(active).toBe('ascending')
    await press('ArrowRight', 'ArrowRight', 'Shift+ ', 'Shift+Enter')
    await expect.poll(active).toBe('descending')
    expect(query(page).getAll('sort')).toEqual(['customer', '-total'])
    const adas = DOWN.filter((index) => index % 5 === 0)
    await expect.poll(first(page, ID)).toEqual(adas.slice(0, 3).map(String))
    await press('Enter') // only this one
    await expect.poll(active).toBe('ascending')
    expect(query(page).getAll('sort')).toEqual(['total'])
    await press('ArrowDown')
    await expect.poll(() => page.locator('#active-cell').innerText()).toBe('0')
  })

  test('stands in the address with filter, columns, place and row, and back goes back', async () => {
    const page = await showOrders()
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox', { name: 'Column' }).selectOption('customer')
    await page.getByRole('textbox', { name: 'Value' }).fill('Ada Byron')
    await page.keyboard.press('Enter')
    const adas = DOWN.filter((index) => index % 5 === 0)
    const place = () => page.locator('.place').innerText()
    await expect.poll(() => query(page).getAll('filter')).toHaveLength(1)
    await head(page, 'total').click()
    await head(page, 'total').click()
    await expect.poll(first(page, ID)).toEqual(adas.slice(0, 3).map(String))
    await expect.poll(place).toMatch(/ of 4,000$/)
    await page.locator('summary', { hasText: 'Columns' }).click()
    for (const name of ['photo', 'city']) await page.getByRole('checkbox', { name }).uncheck()
    await page.keyboard.press('Escape')
    const height = () => page.getByRole('grid').evaluate(({ scrollHeight }) => scrollHeight)
    await expect.poll(height).toBeGreaterThan(4_000 * 30) // The rows are counted again for other columns.
    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 2_000 * 30
    })
    await expect.poll(first(page, ID)).toEqual(adas.slice(2_000, 2_003).map(String))
    await page.getByRole('gridcell', { name: String(adas[2_003]), exact: true }).dblclick()
    const opened = page.getByRole('complementary').getByRole('heading', { name: 'Row 2,004' })
    await opened.waitFor()
    await expect.poll(() => query(page).get('at')).toBe('2000')

    const asSeen = async () => {
      await expect.poll(first(page, ID)).toEqual(adas.slice(2_000, 2_003).map(String))
      await opened.waitFor()
      expect(await head(page, 'total').getAttribute('aria-sort')).toBe('descending')
      expect(await head(page, 'photo').count()).toBe(0)
      expect(await page.getByRole('textbox', { name: 'Value' }).inputValue()).toBe('Ada Byron')
    }
    const link = page.url()
    await page.reload()
    await asSeen()
    await page.getByRole('link', { name: 'Tables' }).click()
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    await page.goBack()
    await asSeen()
    const other = await showOrders(link.slice(link.indexOf('?')))
    await expect.poll(first(other, ID)).toEqual(adas.slice(2_000, 2_003).map(String))

    await page.goBack()
    await opened.waitFor({ state: 'hidden' })
    await expect.poll(first(page, ID)).toEqual(adas.slice(2_000, 2_003).map(String))
    for (const name of ['city', 'photo']) {
      await page.goBack()
      await head(page, name).waitFor()
    }
    await page.goBack()
    await expect.poll(async () => head(page, 'total').getAttribute('aria-sort')).toBe('ascending')
    await page.goBack()
    await page.goBack()
    await expect.poll(place).toMatch(/ of 20,000$/)
    await page.goForward()
    await expect.poll(place).toMatch(/ of 4,000$/) // with one filter, before all its rows are read
  })

  test('goes with the text that is looked for in all columns', async () => {
    const page = await showOrders()
    const search = page.getByRole('searchbox')
    await search.fill('PARCEL 3100.')
    await expect.poll(() => column(page, ID)).toEqual(['100'])
    await search.fill('ada')
    await head(page, 'total').click()
    await head(page, 'total').click()
    const adas = DOWN.filter((index) => index % 5 === 0)
    await expect.poll(first(page, TOTAL)).toEqual(adas.slice(0, 3).map((at) => `${TOTALS[at]}`))
    // A number is also looked for as a value, and accents are not needed.
    await search.fill('79.190')
    await expect.poll(() => column(page, ID)).toEqual(['1'])
    await search.fill('sao p')
    await expect
      .poll(() => column(page, 5).then((cities) => new Set(cities)))
      .toEqual(new Set(['São Paulo']))
    await search.fill('ada')
    await expect.poll(first(page, TOTAL)).toEqual(adas.slice(0, 3).map((at) => `${TOTALS[at]}`))
    await page.reload()
    await expect.poll(first(page, TOTAL)).toEqual(adas.slice(0, 3).map((at) => `${TOTALS[at]}`))
    expect(await search.inputValue()).toBe('ada')
    await page.goBack()
    await page.goBack()
    await expect.poll(() => query(page).get('search')).toBe('ada')
    await page.goBack()
    await expect.poll(() => search.inputValue()).toBe('')
    expect(query(page).get('search')).toBeNull()
  })

  test('stays with a block of cells, which is copied from wherever its rows are', async () => {
    await directory.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await showOrders('?column=id&column=customer&column=note')
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    const copied = () => copiedText(page, () => page.keyboard.press('Control+c'))
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const note = (index: number) => `"Delivered to the door, parcel ${index * 31}.\nSecond line."`
    await page.getByRole('grid').focus()
    await press('ArrowDown', 'ArrowRight', 'Shift+ArrowDown', 'Shift+ArrowRight')
    expect(await copied()).toBe(`Alan Turing\t${note(1)}\r\nGrace Hopper\t${note(2)}\r\n`)
    expect(await page.locator('[aria-selected=true]').count()).toBe(4)
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/2 × 2 chosen$/)
    expect(await faults(page)).toEqual([])
    await head(page, 'customer').click() // Another order: the click removes the block.
    await expect.poll(() => page.locator('[aria-selected=true]').count()).toBe(0)

    // All rows, the first of which are no longer loaded.
    await press('ArrowDown', 'Home', 'Shift+Control+End')
    const lines = (await copied()).split(/\r\n/)
    expect(lines).toHaveLength(ROWS + 1)
    expect(lines[0]?.split('\t').slice(0, 2)).toEqual(['0', 'Ada Byron'])
    await press('Escape')
    await expect.poll(() => page.locator('[aria-selected=true]').count()).toBe(0)
    await press('Control+a')
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/20,000 × 3 chosen$/)

    // By mouse: the cells over which it is drawn, also beyond the edge; then up to a click with shift.
    await page.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 0
    })
    const at = async (row: number, place: number) => {
      const cell = page.locator(`.row[aria-rowindex="${row + 2}"] [aria-colindex="${place}"]`)
      const box = await cell.boundingBox()
      return [(box?.x ?? 0) + 20, (box?.y ?? 0) + 10] as const
    }
    await expect.poll(first(page, ID)).toEqual(['0', '5', '10'])
    await page.mouse.move(...(await at(1, ID)))
    await page.mouse.down()
    await page.mouse.move(...(await at(2, ID)))
    await page.mouse.move(...(await at(3, ID + 1)))
    await page.mouse.up()
    const three = [5, 10, 15].map((id) => `${id}\tAda Byron\r\n`).join('')
    expect(await copied()).toBe(three)
    expect(await page.getByRole('complementary').count()).toBe(0) // No row was opened.
    await page.mouse.click(...(await at(0, ID)))
    await page.keyboard.down('Shift')
    await page.mouse.click(...(await at(1, ID)))
    await page.keyboard.up('Shift')
    expect(await copied()).toBe('0\r\n5\r\n')
    await page.mouse.move(...(await at(1, ID)))
    await page.mouse.down()
    await page.mouse.move(300, 900)
    await expect.poll(() => page.locator('.place').innerText()).toMatch(/[5-9]\d × \d chosen$/)
    await page.mouse.up()
  })
})
