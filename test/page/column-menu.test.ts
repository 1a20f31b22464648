// Goal: a person sorts, filters, hides and changes a column from its header, by mouse and by keyboard alone; widths stay;
// numbers that are chosen are summed.
// Method: the page of `rowstash open` in a real browser.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillShop } from './shop.js'
import {
  faults,
  HAS_BROWSER,
  makeShownDirectory,
  picture,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'

const LONG = 'a_title_that_is_longer_than_any_column_shows_at_first'

describe.skipIf(!HAS_BROWSER)('the menu of a column in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory(async (store) => {
      await store
        .team('default')
        .createTable({ name: 'Long', rows: [{ [LONG]: 0.1 }, { [LONG]: 0.2 }] })
      return fillShop(store, 100)
    }, '--write')
  })

  afterAll(() => directory?.remove())

  async function showOrders(): Promise<Page> {
    const page = await showDirectory(directory)
    await page.goto(`${directory.origin}/#/table/${directory.made}`)
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    return page
  }

  const head = (page: Page, name: string) =>
    page.getByRole('columnheader', { name: new RegExp(`^${name}\\b`) })
  const openMenu = (page: Page, name: string) => head(page, name).locator('.opener').click()
  const choose = (page: Page, name: string) => page.getByRole('menuitem', { name }).click()
  const query = (page: Page) => new URLSearchParams(page.url().split('?')[1] ?? '')
  const press = async (page: Page, ...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const focused = (page: Page) =>
    page.evaluate(() => {
      const { activeElement: at } = document
      return at?.getAttribute('aria-label') ?? at?.textContent ?? ''
    })

  test('sorts, filters and hides by mouse', async () => {
    const page = await showOrders()
    await openMenu(page, 'total')
    expect(await page.getByRole('menu').getAttribute('aria-label')).toBe('Menu of total')
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual([
      'Sort ascending',
      'Sort descending',
      'Filter by this column',
      'Hide',
      'Rename',
      'Change the type',
      'Delete',
    ])
    expect(await faults(page)).toEqual([])
    await picture(page, 'column-menu')
    await choose(page, 'Sort descending')
    await expect.poll(() => query(page).getAll('sort')).toEqual(['-total'])
    expect(await head(page, 'total').getAttribute('aria-sort')).toBe('descending')
    await head(page, 'total').click({ button: 'right' })
    await choose(page, 'Do not sort')
    await expect.poll(() => query(page).getAll('sort')).toEqual([])
    expect(await head(page, 'total').getAttribute('aria-sort')).toBe('none')

    await openMenu(page, 'city')
    await choose(page, 'Filter by this column')
    expect(await page.getByRole('combobox', { name: 'Column' }).inputValue()).toBe('city')
    expect(await focused(page)).toBe('Value')
    await page.keyboard.type('zurich')
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'Zürich' }).first().waitFor()
    await expect.poll(() => page.getByRole('gridcell', { name: 'Berlin' }).count()).toBe(0)
    // Another one is asked for beside it.
    await openMenu(page, 'customer')
    await choose(page, 'Filter by this column')
    const columns = page.getByRole('combobox', { name: 'Column' })
    expect(
      await columns.evaluateAll((all) => all.map((one) => (one as HTMLSelectElement).value)),
    ).toEqual(['city', 'customer'])
    await page.getByRole('button', { name: 'Clear' }).click()

    await openMenu(page, 'photo')
    await choose(page, 'Hide')
    await expect.poll(() => head(page, 'photo').count()).toBe(0)
    await page.locator('summary', { hasText: 'Columns' }).click()
    expect(await page.getByRole('checkbox', { name: 'photo' }).isChecked()).toBe(false)
    // Whoever goes elsewhere closes it.
    await openMenu(page, 'id')
    await page.getByRole('searchbox').click()
    expect(await page.getByRole('menu').count()).toBe(0)
  })

  test('is used by keyboard alone, and leads to the schema', async () => {
    const page = await showOrders()
    await page.getByRole('grid').focus()
    await press(page, 'ArrowUp', 'ArrowRight', 'ArrowRight', 'Alt+ArrowDown')
    expect(await page.getByRole('menu').getAttribute('aria-label')).toBe('Menu of customer')
    expect(await focused(page)).toBe('Sort ascending')
    await press(page, 'ArrowDown')
    expect(await focused(page)).toBe('Sort descending')
    await press(page, 'ArrowUp', 'ArrowUp')
    expect(await focused(page)).toBe('Delete') // It goes round.
    await press(page, 'Escape')
    expect(await page.getByRole('menu').count()).toBe(0)
    expect(await focused(page)).toBe('Orders') // The grid.
    await press(page, 'Alt+ArrowDown', 'Enter')
    await expect.poll(() => query(page).getAll('sort')).toEqual(['customer'])
    const at = async (name: string) => {
      await page.getByRole('grid').focus()
      await press(page, 'Alt+ArrowDown')
      for (let steps = 0; (await focused(page)) !== name; steps++) {
        expect(steps).toBeLessThan(9)
        await press(page, 'ArrowDown')
      }
      await press(page, 'Enter')
    }
    await at('Rename')
    expect(await focused(page)).toBe('Name of the column customer')
    await at('Delete')
    await page.getByText('Will be deleted with 100 values.').first().waitFor()
    expect(await focused(page)).toBe('Keep the column customer')
    await press(page, 'Enter')
    await at('Change the type')
    await page.getByRole('dialog', { name: 'Change the type of customer' }).waitFor()
    expect(await faults(page)).toEqual([])
    await press(page, 'Escape')
    await at('Hide')
    await expect.poll(() => head(page, 'customer').count()).toBe(0)
  })

  test('leaves the arrow of the order in a header that is too narrow, whose width stays', async () => {
    const page = await showDirectory(directory)
    await page.getByRole('link', { name: 'Long' }).click()
    await head(page, LONG).click()
    const arrow = page.locator('.arrow')
    const end = async () => {
      const [inner, outer] = [await arrow.boundingBox(), await head(page, LONG).boundingBox()]
      return (outer?.x ?? 0) + (outer?.width ?? 0) - (inner?.x ?? 0) - (inner?.width ?? 0)
    }
    await expect.poll(end).toBeGreaterThan(0)
    await page.getByRole('grid').focus()
    await press(page, 'ArrowUp', ...Array.from({ length: 4 }, () => 'Alt+ArrowLeft'))
    const width = async () => (await head(page, LONG).boundingBox())?.width
    await expect.poll(width).toBe(320 - 4 * 16)
    await expect.poll(end).toBeGreaterThan(0)
    await page.reload()
    await expect.poll(width).toBe(320 - 4 * 16)
  })

  test('numbers of a block are summed, once all of them are there', async () => {
    const page = await showDirectory(directory)
    const sums = page.locator('.sums')
    await page.getByRole('link', { name: 'Long' }).click()
    await page.getByRole('gridcell', { name: '0.1' }).waitFor()
    await page.getByRole('grid').focus()
    expect(await sums.isVisible()).toBe(false)
    await press(page, 'Shift+ArrowDown')
    await expect
      .poll(() => sums.innerText())
      .toBe('Sum 0.3 · average 0.15 · min 0.1 · max 0.2 · count 2')
    await press(page, 'Escape')
    await expect.poll(() => sums.isVisible()).toBe(false)
    // By mouse, with a column of text and an empty cell in it.
    const orders = await showOrders()
    const cell = (row: number, column: number) =>
      orders.locator(`[aria-rowindex="${row + 1}"] [aria-colindex="${column}"]`)
    await cell(1, 5).click()
    await cell(3, 6).click({ modifiers: ['Shift'] })
    const text = 'Sum 237.57 · average 79.19 · min 0 · max 158.38 · count 3'
    await expect.poll(() => orders.locator('.sums').innerText()).toBe(text)
    expect(await faults(orders)).toEqual([])
  })
})
