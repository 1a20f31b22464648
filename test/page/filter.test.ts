// Goal: a person finds rows by conditions whose inputs suit the kind of their column, by mouse and by keyboard alone.
// Method: the page of `rowstash open` in a real browser. The matching rows are also counted here.
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

const ROWS = 2_100

describe.skipIf(!HAS_BROWSER)('the filter in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS))
  })

  afterAll(() => directory?.remove())

  async function showFilter(query = ''): Promise<Page> {
    const page = await showDirectory(directory)
    await page.goto(`${directory.origin}/#/table/${directory.made}${query}`)
    await page.getByRole('gridcell').first().waitFor()
    if (query === '') await page.getByRole('button', { name: 'Filter' }).click()
    return page
  }

  const rows = Array.from({ length: ROWS }, (_, index) => index)
  const dayOf = (index: number) =>
    new Date(Date.UTC(2024, 0, 1 + (index % 700))).toISOString().slice(0, 10)
  const place = (page: Page) => page.locator('.place')
  const matches = (page: Page, count: number) =>
    expect
      .poll(() => place(page).innerText())
      .toMatch(count === 0 ? /^No rows$/ : new RegExp(` of ${count.toLocaleString('en')}$`))
  const column = (page: Page) => page.getByRole('combobox', { name: 'Column' })
  const operator = (page: Page) => page.getByRole('combobox', { name: 'Operator' })
  const value = (page: Page) => page.getByLabel('Value')
  const end = (page: Page) => page.getByRole('grid').press('Control+End') // All matches are counted then.

  test('has a switch, a calendar and texts without case, and offers what is there most often', async () => {
    const page = await showFilter()
    await column(page).selectOption('paid')
    await page.getByRole('switch', { name: 'Value' }).press(' ')
    await page.keyboard.press('Enter')
    await end(page)
    await matches(page, rows.filter((index) => index % 3 === 0).length)
    expect(await faults(page)).toEqual([])

    await column(page).selectOption('day')
    await operator(page).selectOption({ label: 'is on or after' })
    expect(await value(page).getAttribute('type')).toBe('date')
    await value(page).fill('2025-11-01')
    await page.keyboard.press('Enter')
    await matches(page, rows.filter((index) => dayOf(index) >= '2025-11-01').length)

    await column(page).selectOption('placed')
    await operator(page).selectOption({ label: 'is before' })
    expect(await value(page).getAttribute('type')).toBe('datetime-local')
    await value(page).fill('2024-01-03T12:00')
    await page.keyboard.press('Enter')
    await matches(page, rows.filter((index) => dayOf(index) <= '2024-01-03').length)

    await column(page).selectOption('customer')
    await operator(page).selectOption('contains')
    await value(page).fill('ADA')
    await page.keyboard.press('Enter')
    await matches(page, 420)
    await page.getByLabel('Match case').check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('No row matches.').waitFor()

    await page.getByRole('button', { name: 'Grace Hopper 420' }).click()
    await matches(page, 420)
    expect(await value(page).inputValue()).toBe('Grace Hopper')
    expect(await operator(page).inputValue()).toBe('eq')
    expect(await page.locator('.chip').count()).toBe(5)
    expect(await page.getByRole('button', { name: 'Filter (1)' }).count()).toBe(1)
    expect(await faults(page)).toEqual([])
    await picture(page, 'filter')

    // The offered values satisfy the other conditions; an empty cell is one of them.
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await column(page).nth(1).selectOption('photo')
    await page.getByRole('button', { name: /^empty \d/ }).click()
    const graces = rows.filter((index) => index % 5 === 2)
    await matches(page, graces.length)
    await page.getByRole('button', { name: 'Filter (2)' }).waitFor()
    await page.reload()
    await matches(page, graces.length)
    expect(await operator(page).nth(1).inputValue()).toBe('isEmpty')
    expect(await page.getByLabel('Match case').first().isChecked()).toBe(true)
  })

  test('says beside its input why a value is refused, and offers all rows where none matches', async () => {
    const page = await showFilter()
    await column(page).selectOption('total')
    await operator(page).selectOption('gte')
    await value(page).fill('abc')
    await page.keyboard.press('Enter')
    const problem = page.locator('.condition .problem')
    await expect.poll(() => problem.innerText()).toContain('gte of column "total"')
    expect(await value(page).getAttribute('aria-invalid')).toBe('true')
    expect(await value(page).getAttribute('aria-describedby')).toBe(
      await problem.getAttribute('id'),
    )
    expect(await page.getByText('No row matches.').isVisible()).toBe(false)
    expect(await faults(page)).toEqual([])
    await value(page).fill('1e9')
    await page.keyboard.press('Enter')
    await page.getByText('No row matches.').waitFor()
    expect(await problem.isVisible()).toBe(false)
    expect(await faults(page)).toEqual([])
    await picture(page, 'no-match')
    await page.getByRole('button', { name: 'Show all rows' }).click()
    await matches(page, ROWS)
    expect(await page.getByText('No row matches.').isVisible()).toBe(false)
    await page.getByRole('searchbox').fill('nowhere')
    await page.getByRole('button', { name: 'Show all rows' }).click()
    await matches(page, ROWS)
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
  })

  test('is used by keyboard alone', async () => {
    const page = await showFilter()
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await press('c', 'Tab', 'Tab') // contains, in the column "customer"
    await page.getByRole('button', { name: 'Ada Byron 420' }).waitFor()
    await page.keyboard.type('hop')
    await press('Enter')
    await matches(page, 420)
    await press('Tab', 'Tab', 'Tab') // match case, remove, the first offered value
    await press('Tab', 'Enter')
    await expect.poll(() => operator(page).inputValue()).toBe('eq')
    await matches(page, 420)
    const remove = page.getByRole('button', { name: 'Remove the condition' })
    await page.getByRole('button', { name: 'Add a condition' }).focus()
    await press('Enter')
    expect(await remove.count()).toBe(2)
    await press('Tab', 'Tab', 'Tab', 'Enter')
    expect(
      await column(page)
        .first()
        .evaluate((each) => each === document.activeElement),
    ).toBe(true)
    await remove.press('Enter')
    expect(await remove.count()).toBe(1) // an empty one
    await page.getByRole('button', { name: 'Apply' }).press('Enter')
    await matches(page, ROWS)
  })
})
