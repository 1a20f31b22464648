// Goal: a person changes the columns, the name and the key of a table, by mouse and by keyboard alone, is told what
// would be lost, and overwrites nothing that others change.
// Method: the page of `startServer` in a real browser, while the library changes the tables of its store.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../adapters/http/start-server.js'
import { openMemory, type Store, type Table } from '../../src/index.js'
import { faults, HAS_BROWSER, hold, launchBrowser, openPage, picture } from './shown-page.js'

const KEY = 'a-key-of-a-person'
const READER = 'a-key-of-a-reader'
const ROWS = 40

describe.skipIf(!HAS_BROWSER)('the columns of a table', () => {
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

  /** A table shown with its columns, and its stored content. */
  async function shown(name: string, key = KEY): Promise<{ page: Page; table: Table }> {
    const rows = Array.from({ length: ROWS }, (_, id) => ({
      id,
      name: `row ${id}`,
      note: id < 3 ? 'x' : null,
    }))
    const { tableId } = await store.team('default').createTable({ name, rows })
    const reader = { key: READER, teamId: 'default', scopes: ['read'] } as const
    const keys = [{ key: KEY, teamId: 'default' }, reader]
    const server = await startServer(store, { keys, port: 0, page: true })
    const page = await openPage(context, `${server.url}/`)
    onTestFinished(() => server.close())
    await page.getByLabel('API key').fill(key)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name }).click()
    await page.getByRole('gridcell', { name: 'row 1', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Schema' }).click()
    return { page, table: store.team('default').table(tableId) }
  }

  const pane = (page: Page) => page.getByRole('complementary')
  const press = (page: Page, name: string) =>
    pane(page).getByRole('button', { name, exact: true }).click()
  const idsOf = async (table: Table) => (await table.info()).schema.columns.map(({ id }) => id)
  const focused = (page: Page) =>
    page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

  test('are added, named, moved and deleted by mouse, in one version', async () => {
    const { page, table } = await shown('By mouse')
    expect(
      await pane(page).getByRole('button', { name: 'Save' }).getAttribute('aria-disabled'),
    ).toBe('true')
    await page.getByLabel('Name of the column name').fill('Full name')
    await page.getByLabel('New column').fill('paid')
    await page.getByLabel('Type').selectOption('boolean')
    await press(page, 'Add')
    await page.getByLabel('New column').fill('paid')
    await press(page, 'Add')
    await pane(page).getByText('The column paid exists already.').waitFor()
    await page.getByLabel('New column').fill('labels')
    await page.getByLabel('Type').selectOption('string[]')
    await press(page, 'Add')
    await press(page, 'Move paid up')
    await press(page, 'Move paid up')
    await press(page, 'Delete the column note')
    await pane(page).getByText('Will be deleted with 3 values.', { exact: true }).waitFor()
    await pane(page).getByText('Not saved: 2 added, 1 deleted, 1 renamed, another order.').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'schema')
    await press(page, 'Save')
    const asked = page.getByRole('dialog')
    await asked
      .getByText('Delete the column “note” with 3 values? This cannot be undone.')
      .waitFor()
    expect(await faults(page)).toEqual([])
    await asked.getByRole('button', { name: 'Cancel' }).click()
    expect(await idsOf(table)).toEqual(['id', 'name', 'note'])
    await press(page, 'Save')
    await asked.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The columns were saved.').waitFor()
    await page.getByRole('columnheader', { name: 'Full name' }).waitFor()
    const { schema, version } = await table.info()
    expect(schema.columns).toEqual([
      { id: 'id', type: { kind: 'number' } },
      { id: 'paid', type: { kind: 'boolean' } },
      { id: 'name', displayName: 'Full name', type: { kind: 'string' } },
      { id: 'labels', type: { kind: 'array', items: { kind: 'string' } } },
    ])
    expect(version).toBe(2)
    // It is still open, and in the address.
    await page.getByLabel('Name of the column paid').waitFor()
    expect(page.url()).toContain('schema=1')
    await page.reload()
    await page.getByLabel('Name of the column paid').waitFor()
    await press(page, 'Close')
    expect(page.url()).not.toContain('schema=')
  })

  test('are added, named, moved and deleted by keyboard alone', async () => {
    const { page, table } = await shown('By keyboard')
    const go = async (isThere: () => Promise<boolean>) => {
      for (let tabs = 0; !(await isThere()); tabs++) {
        expect(tabs).toBeLessThan(60)
        await page.keyboard.press('Tab')
      }
    }
    const goTo = (label: string) => go(async () => (await focused(page)) === label)
    const goToText = (text: string) =>
      go(() => page.evaluate((wanted) => document.activeElement?.textContent === wanted, text))
    await goTo('Name of the column id')
    await page.keyboard.press('Alt+ArrowDown')
    await pane(page).getByText('id is column 2 of 3. Not saved: another order.').waitFor()
    expect(await focused(page)).toBe('Name of the column id') // It moved with its column.
    await goTo('Move id down')
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('Move id down')
    await goTo('Delete the column id')
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('Keep the column id')
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('Move id up')
    await go(() => page.evaluate(() => document.activeElement?.id === 'new-column'))
    await page.keyboard.type('day')
    await page.keyboard.press('Tab')
    await page.keyboard.type('date')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await goToText('Save')
    await page.keyboard.press('Enter')
    await page.getByText('The columns were saved.').waitFor()
    expect(await idsOf(table)).toEqual(['name', 'note', 'id', 'day'])
    expect((await table.info()).schema.columns[3]?.type).toEqual({ kind: 'date' })
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.closest('.pane') !== null))
      .toBe(true)
    // The key, by keyboard.
    await goToText('Key: none')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await goToText('Set the key')
    await page.keyboard.press('Enter')
    await page.getByText('The key was saved.').waitFor()
    expect((await table.info()).key).toEqual(['name'])
  })

  test('are saved while others change rows, and not over the columns of others', async () => {
    const { page, table } = await shown('Shared')
    await page.getByLabel('Name of the column note').fill('Remark')
    await table.addRows([{ id: 99, name: 'new', note: 'y' }])
    await page.getByText('1 row changed.').waitFor()
    await press(page, 'Save')
    await page.getByText('The columns were saved.').waitFor()
    expect((await table.info()).schema.columns[2]).toMatchObject({ displayName: 'Remark' })

    await page.getByLabel('Name of the column note').fill('Mine')
    await table.alter({ rename: { note: 'Theirs' } })
    await page.getByRole('button', { name: 'Show the new version' }).click()
    await page.getByText('Save or discard the other changes first.').waitFor()
    expect(await page.getByLabel('Name of the column note').inputValue()).toBe('Mine')
    await press(page, 'Save')
    await pane(page).getByText('Someone else has changed these columns meanwhile.').waitFor()
    expect((await table.info()).schema.columns[2]).toMatchObject({ displayName: 'Theirs' })
    expect(await faults(page)).toEqual([])
    await picture(page, 'schema-conflict')
    await press(page, 'Show them')
    await expect.poll(() => page.getByLabel('Name of the column note').inputValue()).toBe('Theirs')
  })

  test('that were saved although the answer was lost are no conflict', async () => {
    const { page, table } = await shown('Lost')
    await page.getByLabel('Name of the column note').fill('Remark')
    await page.route(
      /\/tables\/[^/]+$/,
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await press(page, 'Save')
    await page.getByText('The columns were saved.').waitFor()
    expect((await table.info()).version).toBe(2)
  })

  test('wait for a slow server, say what it refuses, and stay while rows are looked at', async () => {
    const { page, table } = await shown('Refused')
    await page.getByLabel('Name of the column note').fill('Remark')
    await page.getByRole('rowheader', { name: '2', exact: true }).click()
    await expect
      .poll(() => pane(page).getByRole('textbox', { name: 'name' }).inputValue())
      .toBe('row 1')
    await page.getByRole('button', { name: 'Schema' }).click()
    expect(await page.getByLabel('Name of the column note').inputValue()).toBe('Remark')
    const release = await hold(page, /\/tables\/[^/]+$/, (method) => method === 'PATCH', 403)
    await press(page, 'Save')
    await pane(page).getByText('Saving …').waitFor()
    expect(
      await pane(page).getByRole('button', { name: 'Save' }).getAttribute('aria-disabled'),
    ).toBe('true')
    release()
    await pane(page).getByText('held').waitFor()
    expect(await faults(page)).toEqual([])
    await page.unrouteAll()
    await press(page, 'Discard')
    expect(await page.getByLabel('Name of the column note').inputValue()).toBe('note')

    // A key that two rows share.
    await table.addRows([{ id: 1, name: 'again' }])
    await pane(page).getByText('Key: none').click()
    await pane(page).getByRole('checkbox', { name: 'id' }).check()
    await picture(page, 'schema-key')
    await press(page, 'Set the key')
    await expect.poll(() => pane(page).locator('.keyForm .problem').innerText()).toMatch(/id/)
    expect((await table.info()).key).toBeUndefined()
    await pane(page).getByRole('checkbox', { name: 'id' }).uncheck()
    await pane(page).getByRole('checkbox', { name: 'name' }).check()
    await press(page, 'Set the key')
    await page.getByText('The key was saved.').waitFor()
    expect((await table.info()).key).toEqual(['name'])
    await pane(page).getByText('Key: name').click()
    await press(page, 'Remove the key')
    await pane(page).getByText('Key: none').waitFor()
    expect((await table.info()).key).toBeUndefined()
  })

  test('get another type, by mouse, after a preview of what would not fit', async () => {
    const { page, table } = await shown('Converted')
    await page.getByLabel('Name of the column id').fill('Number')
    await pane(page).getByRole('button', { name: 'number', exact: true }).click()
    await pane(page).getByText('Save or discard the other changes first.').waitFor()
    await press(page, 'Discard')
    await pane(page).getByRole('button', { name: 'string' }).first().click()
    const dialog = page.getByRole('dialog')
    const change = dialog.getByRole('button', { name: 'Change the type' })
    expect(await change.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel('Type').selectOption('number')
    await dialog.getByText('40 values do not fit. Correct them first').waitFor()
    await dialog.getByText('Row 1: "row 0" is not a number such as 1234.5.').waitFor()
    expect(await dialog.getByRole('listitem').count()).toBe(20)
    expect(await change.getAttribute('aria-disabled')).toBe('true')
    expect(await faults(page)).toEqual([])
    await picture(page, 'schema-misfits')
    const release = await hold(page, /\/convert/)
    await dialog.getByLabel('Type').selectOption('markdown')
    await dialog.getByText('Checking all values …').waitFor()
    release()
    await dialog.getByText('All values of 40 rows fit.').waitFor()
    await picture(page, 'schema-fits')
    await change.click()
    await page.getByText('The type was changed.').waitFor()
    await page.getByLabel('Name of the column name').waitFor()
    const { schema, version } = await table.info()
    expect([schema.columns[1]?.type, version]).toEqual([{ kind: 'markdown' }, 2])
  })

  test('become booleans of two words, as a person says which is true', async () => {
    const { page, table } = await shown('Words')
    await table.alter({ add: [{ id: 'paid', type: { kind: 'string' } }] })
    const { rows } = await table.page()
    const words = ['Nein', 'ja', 'JA', null, ' nein']
    for (const [at, paid] of words.entries())
      await table.updateRow(rows[at]?.$rowID ?? '', { paid })
    await page.reload()
    const dialog = page.getByRole('dialog')
    const ask = async () => {
      await pane(page).getByRole('button', { name: 'string', exact: true }).last().press('Enter')
      await dialog.getByLabel('Type').selectOption('boolean')
    }
    const paid = async () => (await table.page()).rows.slice(0, 5).map((row) => row['paid'])
    await ask()
    await dialog.getByText('All values of 40 rows fit.').waitFor()
    const chosen = dialog.getByLabel('Words')
    expect(await chosen.locator('option').allInnerTexts()).toEqual([
      '“ja” is true, “nein” is false',
      '“nein” is true, “ja” is false',
    ])
    expect(await faults(page)).toEqual([])
    await picture(page, 'words')
    // By keyboard alone: what was offered is true, unless a person says otherwise.
    await chosen.focus()
    await page.keyboard.press('ArrowDown')
    await dialog.getByText('All values of 40 rows fit.').waitFor()
    await dialog.getByLabel('Type').selectOption('number')
    expect(await chosen.isVisible()).toBe(false)
    await dialog.getByText('4 values do not fit.').waitFor()
    await dialog.getByLabel('Type').selectOption('boolean')
    await dialog.getByText('All values of 40 rows fit.').waitFor()
    await dialog.getByRole('button', { name: 'Change the type' }).click()
    await page.getByText('The type was changed.').waitFor()
    expect(await paid()).toEqual([false, true, true, undefined, false])
    await table.updateRow(rows[3]?.$rowID ?? '', { name: 'maybe' })
    await page.reload()
    await pane(page).getByRole('button', { name: 'string', exact: true }).first().click()
    await dialog.getByLabel('Type').selectOption('boolean')
    await dialog.getByText('40 values do not fit.').waitFor() // They are more than two words.
    expect(await chosen.isVisible()).toBe(false)
  })

  test('get another type by keyboard alone, unless others write what does not fit', async () => {
    const { page, table } = await shown('Raced')
    await pane(page).getByRole('button', { name: 'number', exact: true }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    const type = async (kind: string) => {
      await dialog.getByLabel('Type').focus()
      await page.keyboard[kind === 'Home' ? 'press' : 'type'](kind)
    }
    await type('date')
    await dialog.getByText('40 values do not fit').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('Enter') // The focus is where it was.
    await type('Home') // string
    await dialog.getByText(/^All values of/).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('The type was changed.').waitFor()
    expect((await table.info()).schema.columns[0]?.type).toEqual({ kind: 'string' })

    await pane(page).getByRole('button', { name: 'string' }).first().focus()
    await page.keyboard.press('Enter')
    await type('num')
    await dialog.getByText(/^All values of/).waitFor()
    await table.addRows([{ id: 'x', name: 'theirs' }])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await dialog.getByText(/"x"/).waitFor()
    expect((await table.info()).schema.columns[0]?.type).toEqual({ kind: 'string' })
  })

  test('are only shown to a key that may not write', async () => {
    const { page } = await shown('Read', READER)
    await page.getByLabel('Name of the column note').fill('Remark')
    await press(page, 'Save')
    await expect
      .poll(() => pane(page).getByRole('alert').first().innerText())
      .toMatch(/^The key of this page may not do that/)
    expect(await faults(page)).toEqual([])
  })

  test('fit a phone, also in the dark', async () => {
    const { page } = await shown('Phone')
    await page.setViewportSize({ width: 390, height: 844 })
    await press(page, 'Delete the column note')
    await pane(page).getByText('Will be deleted with 3 values.', { exact: true }).waitFor()
    expect(await pane(page).evaluate(({ scrollWidth }) => scrollWidth)).toBeLessThanOrEqual(390)
    await picture(page, 'schema-phone')
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await faults(page)).toEqual([])
    await picture(page, 'schema-phone-dark')
  })
})
