// Goal: a person corrects cells in the grid, by mouse and by keyboard, overwrites nothing that others write, and can
// undo changes.
// Method: the page of `rowstash open --write` in a real browser, in one tab and in two.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillShop, IMAGE } from './shop.js'
import {
  dropFile,
  faults,
  HAS_BROWSER,
  hold,
  makeShownDirectory,
  picture,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'

const ROWS = 500
/** How long two tabs edit the same cells. */
const TWO_TABS_MS = Number(process.env['ROWSTASH_PAGE_EDIT_MS'] ?? 0)
const COLUMNS = ['id', 'photo', 'customer', 'city', 'total', 'paid', 'day', 'placed', 'tags']

describe.skipIf(!HAS_BROWSER)('edits in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS), '--write')
  })

  afterAll(() => directory?.remove())

  async function showOrders(): Promise<Page> {
    const page = await showDirectory(directory)
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('gridcell', { name: 'Ada Byron' }).first().waitFor()
    return page
  }

  /** A cell of the row with a number, from 1. */
  function cellOf(page: Page, row: number, column: string): Locator {
    const index = COLUMNS.indexOf(column) + 2
    return page.locator(`[aria-rowindex="${row + 1}"] [aria-colindex="${index}"]`)
  }

  const saved = (page: Page) => page.locator('.editState').getByText('Saved').waitFor()

  /** The stored content of a row. */
  async function stored(page: Page, row: number): Promise<Record<string, unknown>> {
    return page.evaluate(
      async ([table, from]) => {
        const key = sessionStorage.getItem('rowstash-session')
        const answer = await fetch(`tables/${table}/rows?from=${from}&limit=1`, {
          headers: { authorization: `Bearer ${key}` },
        })
        return (await answer.json()).data[0]
      },
      [directory.made, row - 1] as const,
    )
  }

  test('a cell is edited by keyboard alone, and the change is taken back', async () => {
    const page = await showOrders()
    await page.getByRole('grid').focus()
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'Enter'])
      await page.keyboard.press(key)
    const input = page.getByLabel('customer, row 2')
    expect(await input.inputValue()).toBe('Alan Turing')
    const release = await hold(page, /\/rows\//, (method) => method === 'PATCH')
    await input.fill('Alan M. Turing')
    expect(await faults(page)).toEqual([])
    await picture(page, 'edit')
    await page.keyboard.press('Enter')
    const cell = cellOf(page, 2, 'customer')
    await expect.poll(() => cell.getAttribute('aria-description')).toBe('is being saved')
    expect(await cell.innerText()).toBe('Alan M. Turing')
    expect(await page.locator('#active-cell').innerText()).toBe('Grace Hopper') // It went down.
    release()
    await saved(page)
    await expect.poll(() => cell.getAttribute('aria-description')).toBeNull()
    expect((await stored(page, 2))['customer']).toBe('Alan M. Turing')
    expect(await page.getByText('The table has changed').count()).toBe(0)

    await page.keyboard.press('Control+z')
    await expect.poll(() => cell.innerText()).toBe('Alan Turing')
    await saved(page)
    expect((await stored(page, 2))['customer']).toBe('Alan Turing')
    await page.keyboard.press('Control+Shift+z')
    await expect.poll(() => cell.innerText()).toBe('Alan M. Turing')
    await expect.poll(async () => (await stored(page, 2))['customer']).toBe('Alan M. Turing')
    // Typing begins an edit with the typed key, Escape cancels it, Delete empties the cell.
    await page.keyboard.press('Home')
    await page.keyboard.type('12')
    expect(await page.getByLabel('id, row 2').inputValue()).toBe('12')
    await page.keyboard.press('Escape')
    expect(await cellOf(page, 2, 'id').innerText()).toBe('1')
    await page.keyboard.press('Delete')
    await expect.poll(() => cellOf(page, 2, 'id').innerText()).toBe('')
    await expect.poll(async () => (await stored(page, 2))['id']).toBeUndefined()
  })

  test('each kind has its input, which checks what is typed', async () => {
    const page = await showOrders()
    const edit = async (row: number, column: string) => {
      await cellOf(page, row, column).dblclick()
      return page.getByLabel(`${column === 'tags' ? 'Tags' : column}, row ${row}`)
    }
    const total = await edit(5, 'total')
    await total.fill('1,5')
    await page.getByText('Must be a number, such as 1234.50.').waitFor()
    await total.press('Enter')
    expect(await total.inputValue()).toBe('1,5') // It stays until it fits.
    expect(await faults(page)).toEqual([])
    await total.fill('12345678901234567890.10')
    await total.press('Enter')
    await expect.poll(() => cellOf(page, 5, 'total').innerText()).toBe('12345678901234567890.10')

    const paid = await edit(4, 'paid')
    expect(await paid.getAttribute('role')).toBe('switch')
    await paid.press('Space')
    await paid.press('Enter')
    await expect.poll(() => cellOf(page, 4, 'paid').innerText()).toBe('true')

    const day = await edit(5, 'day')
    expect(await day.getAttribute('type')).toBe('date')
    await day.fill('2031-02-03')
    await day.press('Tab')
    await expect.poll(() => cellOf(page, 5, 'day').innerText()).toBe('2031-02-03')

    const tags = await edit(5, 'tags')
    expect(await tags.inputValue()).toBe('gift\nexpress')
    await tags.fill('gift\nslow')
    await cellOf(page, 7, 'city').click() // Leaving the cell saves it.
    await expect.poll(() => cellOf(page, 5, 'tags').innerText()).toBe('gift · slow')
    await saved(page)
    expect(await stored(page, 5)).toMatchObject({ tags: ['gift', 'slow'], day: '2031-02-03' })
    expect(await stored(page, 4)).toMatchObject({ paid: true })
  })

  test('the input of a cell is within a phone, and the grid stays where it is', async () => {
    const page = await showOrders()
    await page.setViewportSize({ width: 390, height: 844 })
    await cellOf(page, 5, 'photo').dblclick()
    await page.getByLabel('photo, row 5').fill('nowhere')
    const box = await page.locator('.cellEditor').boundingBox()
    expect(box?.x).toBeGreaterThanOrEqual(0)
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390)
    expect((await page.getByRole('grid').boundingBox())?.x).toBe(0)
    await page.keyboard.press('Escape')
  })

  test('two tabs change one cell: both values are shown, and a person decides', async () => {
    const [mine, theirs] = [await showOrders(), await showOrders()]
    const write = async (page: Page, row: number, column: string, text: string) => {
      await cellOf(page, row, column).dblclick()
      await page.getByLabel(`${column}, row ${row}`).fill(text)
      await page.keyboard.press('Enter')
    }
    await write(theirs, 10, 'customer', 'Theirs')
    await write(theirs, 11, 'customer', 'Theirs, too')
    await write(theirs, 12, 'customer', 'Of another cell')
    await saved(theirs)
    await write(mine, 12, 'city', 'Same row')
    await expect.poll(() => cellOf(mine, 12, 'customer').innerText()).toBe('Of another cell')
    await saved(mine)
    await write(mine, 10, 'customer', 'Mine')
    await write(mine, 11, 'customer', 'Mine, too')
    const problems = mine.getByRole('region', { name: 'Changes that were not saved' })
    await expect.poll(() => problems.getByRole('listitem').count()).toBe(2)
    await mine.getByRole('grid').evaluate((grid) => {
      grid.scrollTop = 0 // The message above has displaced rows.
    })
    const first = problems.getByRole('listitem').filter({ hasText: 'customer, row 10' })
    expect(await first.innerText()).toMatch(/Theirs\s+Theirs\s+Yours\s+Mine/)
    expect(await cellOf(mine, 10, 'customer').getAttribute('aria-description')).toBe('conflict')
    expect(await faults(mine)).toEqual([])
    await picture(mine, 'conflict')
    await first.getByRole('button', { name: 'Keep theirs' }).click()
    await expect.poll(() => cellOf(mine, 10, 'customer').innerText()).toBe('Theirs')
    await mine.getByRole('button', { name: 'Use yours' }).click()
    await saved(mine)
    expect(await stored(mine, 10)).toMatchObject({ customer: 'Theirs' })
    expect(await stored(mine, 11)).toMatchObject({ customer: 'Mine, too' })
    expect(await stored(mine, 12)).toMatchObject({ customer: 'Of another cell', city: 'Same row' })
  })

  test('a row that is changed in an order stays where it is, and goes where it belongs on demand', async () => {
    const page = await showDirectory(directory)
    await page.goto(`${directory.origin}/#/table/${directory.made}?sort=city`)
    await cellOf(page, 1, 'city').getByText('Berlin').waitFor()
    const note = page.getByText('Rows that you change keep their place')
    const change = async (column: string, value: string) => {
      await cellOf(page, 1, column).dblclick()
      await page.getByLabel(`${column}, row 1`).fill(value)
      await page.keyboard.press('Enter')
      await saved(page)
    }
    await change('customer', 'Nobody')
    expect(await note.isVisible()).toBe(false)
    await change('city', 'Zzyzx')
    await note.waitFor()
    expect(await cellOf(page, 1, 'city').innerText()).toBe('Zzyzx')
    expect(await faults(page)).toEqual([])
    await picture(page, 'misplaced')
    await page.getByRole('button', { name: 'Sort and filter again' }).press('Enter')
    await expect.poll(() => cellOf(page, 1, 'city').innerText()).toBe('Berlin')
    expect(await note.isVisible()).toBe(false)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('grid')
    await page.keyboard.press('Control+z')
    await saved(page)
  })

  test('rows are added and deleted', async () => {
    const page = await showOrders()
    await page.getByRole('button', { name: 'Add row' }).click()
    await page.getByText('A row was added.').waitFor()
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-rowcount')).toBe('502')
    await expect.poll(() => page.locator('#active-cell').count()).toBe(1)
    await page.getByRole('grid').focus()
    await page.keyboard.press('F2')
    await page.getByLabel('id, row 501').fill('501')
    await page.keyboard.press('Enter')
    await saved(page)
    expect(await stored(page, 501)).toMatchObject({ id: 501 })
    await page.getByRole('button', { name: 'Delete rows' }).click()
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-rowcount')).toBe('501')
  })

  test('a block is emptied, pasted over and deleted, each in one commit, and taken back', async () => {
    const page = await showOrders()
    await directory.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const versionNow = async () => {
      const text = await page
        .locator('.tableHead')
        .getByText(/version/)
        .innerText()
      return Number(/version ([\d,]+)/.exec(text)?.[1]?.replaceAll(',', ''))
    }
    const paste = async (text: string) => {
      await page.evaluate((given) => navigator.clipboard.writeText(given), text)
      await page.getByRole('grid').focus()
      await page.keyboard.press('Control+v')
    }
    const before = await versionNow()
    await cellOf(page, 6, 'customer').click()
    await cellOf(page, 8, 'city').click({ modifiers: ['Shift'] })
    await page.keyboard.press('Delete')
    await expect.poll(() => cellOf(page, 8, 'city').innerText()).toBe('')
    await saved(page)
    await expect.poll(versionNow).toBe(before + 1)
    expect(await stored(page, 7)).not.toHaveProperty('customer')

    await cellOf(page, 6, 'customer').click()
    await paste('"Line\n""two"""\tBonn\tmany\r\nEve\tKöln\t12.50\r\n')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('total, row 6: “many”').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'paste')
    await dialog.getByRole('button', { name: 'Paste the others' }).click()
    await expect.poll(versionNow).toBe(before + 2)
    expect(await stored(page, 6)).toMatchObject({ customer: 'Line\n"two"', city: 'Bonn' })
    expect(await stored(page, 7)).toMatchObject({ customer: 'Eve', city: 'Köln', total: 12.5 })
    await page.getByRole('grid').focus()
    await page.keyboard.press('Control+z')
    await expect.poll(versionNow).toBe(before + 3)
    await page.keyboard.press('Control+z')
    await expect.poll(versionNow).toBe(before + 4)
    expect(await stored(page, 7)).toMatchObject({ customer: 'Alan Turing', city: 'Berlin' })

    await cellOf(page, 6, 'id').click()
    await cellOf(page, 10, 'id').click({ modifiers: ['Shift'] })
    await page.keyboard.press('Control+Delete')
    await page.getByText('5 rows were deleted.').waitFor()
    expect(await versionNow()).toBe(before + 5)
    expect(await stored(page, 6)).toMatchObject({ id: 10 })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('5 rows were restored').waitFor()
    expect(await stored(page, ROWS)).toMatchObject({ id: 9 })
  })

  test('a file that is dropped on a cell of images is stored, and its URL is in the cell', async () => {
    const page = await showOrders()
    const cell = cellOf(page, 3, 'photo')
    const box = await cell.boundingBox()
    const path = join(directory.path, '..', 'drop.png')
    await writeFile(path, IMAGE)
    await dropFile(page, path, { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 10 })
    const photo = async (row: number) => (await stored(page, row))['photo']
    await expect.poll(() => photo(3)).toMatch(/files\/rsf-/)
    const image = cell.locator('img')
    await expect
      .poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth))
      .toBe(72)
    await cellOf(page, 4, 'photo').dblclick()
    const chosen = page.waitForEvent('filechooser')
    await page.getByLabel('photo, row 4').press('Alt+ArrowDown')
    await (await chosen).setFiles(path)
    await expect.poll(() => photo(4)).toMatch(/files\/rsf-/)
  })

  test('two browsers that edit the same cells lose no update, and show every conflict', async () => {
    const pages = [await showOrders(), await showOrders()] as const
    const start = Date.now()
    const counts = { saved: 0, conflicts: 0 }
    /** By row: the last value written, and per tab the value that it has seen. */
    const last = new Map<number, string>()
    const seen = new Map<string, string | undefined>()
    const edit = async (page: Page, who: number, turn: number): Promise<void> => {
      const row = 5 + (turn % 3)
      const text = `tab ${who}, turn ${turn}`
      const isConflict = seen.get(`${who}.${row}`) !== last.get(row)
      await cellOf(page, row, 'city').dblclick()
      const input = page.getByLabel(`city, row ${row}`)
      await input.fill(text)
      await input.press('Enter')
      const problem = page.locator('.editProblems li')
      if (isConflict) {
        // The stored value is the other tab's last one: nothing was overwritten.
        expect(await problem.innerText()).toMatch(new RegExp(`${last.get(row)}[^]*${text}`))
        expect((await stored(page, row))['city']).toBe(last.get(row))
        await problem.getByRole('button', { name: 'Use yours' }).click()
        counts.conflicts++
      } else {
        counts.saved++
      }
      await expect.poll(async () => (await stored(page, row))['city']).toBe(text)
      expect(await problem.count()).toBe(0)
      last.set(row, text)
      seen.set(`${who}.${row}`, text)
    }
    for (let turn = 0; turn < 6 || Date.now() - start < TWO_TABS_MS; turn++) {
      for (const [who, page] of pages.entries()) await edit(page, who, turn)
    }
    expect(counts.conflicts).toBeGreaterThan(counts.saved)
    if (TWO_TABS_MS > 0) console.log(JSON.stringify(counts))
  })
})
