// Goal: a person corrects a row in the pane beside the grid, by keyboard, by mouse and by finger, and overwrites nothing
// that others write; a phone shows rows, not tools.
// Method: the page of `rowstash open` in a real browser, in one tab and in two.
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fillShop } from './shop.js'
import {
  faults,
  HAS_BROWSER,
  hold,
  makeShownDirectory,
  openPage,
  picture,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'

const PHONE = { viewport: { width: 390, height: 844 } }

describe.skipIf(!HAS_BROWSER)('a row in the pane in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, 100), '--write')
  })

  afterAll(() => directory?.remove())

  const address = () => `${directory.origin}/#/table/${directory.made}`

  async function showOrders(options = {}): Promise<Page> {
    const page = await showDirectory(directory, options)
    await page.goto(address())
    await page.getByRole('gridcell').first().waitFor()
    return page
  }

  const pane = (page: Page) => page.getByRole('complementary')
  const field = (page: Page, name: string): Locator => pane(page).getByLabel(name, { exact: true })
  const cell = (page: Page, row: number, column: number): Locator =>
    page.locator(`[aria-rowindex="${row + 1}"] [aria-colindex="${column + 1}"]`)
  const CUSTOMER = 3
  const CITY = 4
  const saved = (page: Page) => page.locator('.editState').getByText('Saved').waitFor()
  const focused = (page: Page) =>
    page.evaluate(() => {
      const { activeElement: at } = document
      return at?.getAttribute('aria-label') ?? at?.textContent ?? ''
    })

  test('is opened and edited by keyboard alone', async () => {
    const page = await showOrders()
    await page.getByRole('grid').focus()
    for (const key of ['ArrowDown', ' ']) await page.keyboard.press(key)
    await field(page, 'customer').waitFor()
    for (let tabs = 0; (await focused(page)) !== 'customer'; tabs++) {
      expect(tabs).toBeLessThan(20)
      await page.keyboard.press('Tab')
    }
    const release = await hold(page, /\/rows\//, (method) => method === 'PATCH')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('Alan M. Turing')
    await page.keyboard.press('Tab') // Whoever leaves it saves it.
    expect(await focused(page)).toBe('city')
    expect(await cell(page, 2, CUSTOMER).innerText()).toBe('Alan M. Turing')
    expect(await field(page, 'customer').getAttribute('aria-description')).toBe('is being saved')
    release()
    await saved(page)
    await expect.poll(() => field(page, 'customer').getAttribute('aria-description')).toBeNull()
    // Escape gives up what is typed, then closes the pane.
    await page.keyboard.type('nowhere')
    await page.keyboard.press('Escape')
    expect(await field(page, 'city').inputValue()).toBe('Zürich')
    expect(await focused(page)).toBe('city')
    await page.keyboard.press('Tab')
    await page.keyboard.type('many')
    await pane(page).getByText('Must be a number, such as 1234.50.').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'pane')
    // What does not fit stays, also if another row is wanted.
    await pane(page).getByRole('button', { name: 'Next' }).press('Enter')
    expect(await focused(page)).toBe('total')
    await page.getByRole('heading', { name: 'Row 2' }).waitFor()
    await page.keyboard.press('Escape')
    await pane(page).getByRole('button', { name: 'Next' }).press('Enter')
    await page.getByRole('heading', { name: 'Row 3' }).waitFor()
    await pane(page).press('Escape')
    await pane(page).waitFor({ state: 'hidden' })
    await page.keyboard.press('Control+z')
    await expect.poll(() => cell(page, 2, CUSTOMER).innerText()).toBe('Alan Turing')
    await saved(page)
  })

  test('is opened by a button, and each kind has its input for a mouse', async () => {
    const page = await showOrders()
    await cell(page, 5, CUSTOMER).click()
    await page.getByRole('button', { name: 'Open row' }).click()
    await page.getByRole('heading', { name: 'Row 5' }).waitFor()
    const paid = field(page, 'paid')
    expect([await paid.getAttribute('role'), await paid.isChecked()]).toEqual(['switch', true])
    await paid.click() // It is saved at once.
    await expect.poll(() => cell(page, 5, 6).innerText()).toBe('false')
    await pane(page).getByRole('button', { name: 'Empty paid' }).click()
    await expect.poll(() => cell(page, 5, 6).innerText()).toBe('')
    await saved(page)
    expect(await field(page, 'day').getAttribute('type')).toBe('date')
    await field(page, 'Tags').fill('gift\nslow')
    await field(page, 'note').click()
    await expect.poll(() => pane(page).locator('.pending').count()).toBe(0)
    await saved(page)
    await page.reload()
    await expect.poll(() => field(page, 'Tags').inputValue()).toBe('gift\nslow')
    await pane(page).getByText('empty', { exact: true }).waitFor() // The switch, as it is stored.
    await field(page, 'city').fill('')
    await field(page, 'city').press('Enter')
    await expect.poll(() => cell(page, 5, CITY).innerText()).toBe('')
    await saved(page)
  })

  test('is saved as of what was seen: a conflict shows both values', async () => {
    const [mine, theirs] = [await showOrders(PHONE), await showOrders()]
    await mine.locator('.gutter').nth(10).click()
    await field(mine, 'customer').waitFor()
    const write = async (row: number, column: number, label: string, text: string) => {
      await cell(theirs, row, column).dblclick()
      await theirs.getByLabel(`${label}, row ${row}`).fill(text)
      await theirs.keyboard.press('Enter')
      await saved(theirs)
    }
    await write(10, CUSTOMER, 'customer', 'Theirs')
    await field(mine, 'customer').fill('Mine')
    await field(mine, 'customer').press('Enter')
    const problem = mine.getByRole('region', { name: 'Changes that were not saved' })
    expect(await problem.getByRole('listitem').innerText()).toMatch(
      /Theirs\s+Theirs\s+Yours\s+Mine/,
    )
    expect(await field(mine, 'customer').getAttribute('aria-description')).toBe('conflict')
    expect(await faults(mine)).toEqual([])
    await picture(mine, 'pane-conflict')
    await problem.getByRole('button', { name: 'Keep theirs' }).click()
    await expect.poll(() => field(mine, 'customer').inputValue()).toBe('Theirs')

    // A cell that was saved here, and that others have changed since, is no longer the one that was seen.
    await field(mine, 'city').fill('Bonn')
    await field(mine, 'city').press('Enter')
    await saved(mine)
    await theirs.reload()
    await cell(theirs, 10, CITY).getByText('Bonn').waitFor()
    await write(10, CITY, 'city', 'Köln')
    await field(mine, 'total').fill('7')
    await field(mine, 'total').press('Enter')
    await saved(mine)
    await expect.poll(() => field(mine, 'city').inputValue()).toBe('Köln')
  })

  test('a row that others have changed is shown as it is when it is opened, and changed as of then', async () => {
    const [mine, theirs] = [await showOrders(), await showOrders()]
    await cell(theirs, 12, CITY).dblclick()
    await theirs.getByLabel('city, row 12').fill('Lima')
    await theirs.keyboard.press('Enter')
    await saved(theirs)
    await mine.locator('.gutter').nth(12).click()
    await expect.poll(() => field(mine, 'city').inputValue()).toBe('Lima')
    expect(await cell(mine, 12, CITY).innerText()).not.toBe('Lima') // Its rows are of one version.
    await field(mine, 'city').fill('Quito')
    await field(mine, 'city').press('Enter')
    await saved(mine)
    expect(await mine.locator('.editProblems').isVisible()).toBe(false)
  })

  test('is opened by a tap on a phone, whose tools take one line', async () => {
    const context = await directory.browser.newContext({ hasTouch: true, ...PHONE })
    onTestFinished(() => context.close())
    const session = await sessionOf(directory)
    await context.addInitScript((kept) => sessionStorage.setItem('rowstash-session', kept), session)
    const page = await openPage(context, `${directory.origin}/`, PHONE)
    await page.goto(address())
    await cell(page, 3, CUSTOMER).waitFor()
    const grid = await page.getByRole('grid').boundingBox()
    expect(grid?.y).toBeLessThan(150)
    const more = page.getByRole('button', { name: 'More' })
    await more.tap()
    expect(await more.getAttribute('aria-expanded')).toBe('true')
    await page.getByRole('button', { name: 'Schema' }).waitFor()
    await picture(page, 'phone-more')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('button', { name: 'Schema' }).isVisible()).toBe(false)
    expect(await focused(page)).toBe('More')
    // By keyboard: a choice closes it.
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add row' }).press('Enter')
    await page.getByText('A row was added.').waitFor()
    await expect.poll(() => more.getAttribute('aria-expanded')).toBe('false')
    await page.getByRole('button', { name: 'Delete rows' }).waitFor({ state: 'hidden' })

    await page.reload()
    await cell(page, 3, CITY).tap()
    await page.getByRole('heading', { name: 'Row 3' }).waitFor()
    await field(page, 'city').fill('Oslo')
    await page.getByRole('button', { name: 'Close' }).tap()
    await expect.poll(() => cell(page, 3, CITY).innerText()).toBe('Oslo')
  })
})

/** What a tab of the directory has as its key. */
async function sessionOf({ context, origin }: ShownDirectory<unknown>): Promise<string> {
  const page = await context.newPage()
  await page.goto(`${origin}/`)
  const kept = await page.evaluate(() => sessionStorage.getItem('rowstash-session'))
  await page.close()
  return kept ?? ''
}
