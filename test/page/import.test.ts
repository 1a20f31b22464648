// Goal: a person imports a file by dropping it, sees its content and what does not fit, and learns the result.
// Method: the page of `rowstash open --write` in a real browser. The library reads the tables back.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MARKUP } from './shop.js'
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

/** Lines of CSV; 4 MB, so that there are several chunks. */
const ROWS = 60_000
/** How long a busy machine may take to stage them. */
const STAGED_MS_MAX = 60_000
const LINE = (index: number) =>
  `${index},Row ${index} of a file that a person has dropped,${index / 4},2024-05-${10 + (index % 20)}\n`

/** Values of a file that do not fit, and the rule that each breaks. */
const MISFITS: readonly (readonly [row: number, column: string, value: string])[] = [
  [4, 'weight', 'unknown'],
  [9, 'shipped', '31.03.2024'],
  [17, 'paid', 'yes'],
  [23, 'weight', '12,5'],
  [38, 'shipped', 'soon'],
  [52, 'paid', 'n/a'],
  [61, 'weight', '?'],
  [62, 'weight', 'n/a'],
]

/** CSV of shipments, with some values replaced. */
function shipments(rows: number, replaced: typeof MISFITS = []): string {
  const lines = Array.from({ length: rows }, (_, index) => {
    const fields = {
      id: index + 1,
      weight: (((index * 37) % 90) + 10) / 10,
      shipped: `2024-03-${10 + (index % 20)}`,
      paid: index % 4 !== 0,
    }
    const changes = replaced.filter(([row]) => row === index + 1)
    for (const [, column, value] of changes) Object.assign(fields, { [column]: `"${value}"` })
    return `${Object.values(fields).join(',')}\n`
  })
  return `id,weight,shipped,paid\n${lines.join('')}`
}

describe.skipIf(!HAS_BROWSER)('an import in the page', () => {
  let folder: string
  let directory: ShownDirectory<unknown>
  const pathOf = (name: string) => join(folder, name)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rowstash-drop-'))
    directory = await makeShownDirectory(async (store) => {
      const rows = [1, 2, 3].map((id) => ({ id, name: `old ${id}`, total: id }))
      const team = store.team('default')
      await team.createTable({ name: 'Spare', rows: [{ n: 1 }] })
      await team.createTable({ name: 'Orders', rows })
      await team.createTable({ name: 'Shipments', rows: { csv: Buffer.from(shipments(20)) } })
    }, '--write')
    const lines = Array.from({ length: ROWS }, (_, index) => LINE(index))
    await writeFile(pathOf('many.csv'), `id,title,share,day\n${lines.join('')}`)
    const orders = [2, 3, 4].map((id) => ({ id, name: `new ${id}`, total: id + 0.5 }))
    await writeFile(
      pathOf('orders.ndjson.gz'),
      gzipSync(orders.map((row) => `${JSON.stringify(row)}\n`).join('')),
    )
    await writeFile(pathOf('spare.tsv'), 'id\tname\ttotal\n7\tby keyboard\t7.5\n')
    const late = Array.from({ length: 12_001 }, (_, i) => (i === 11_999 ? 'none' : `${i}`))
    await writeFile(pathOf('late.csv'), `id,total\n${late.map((t, i) => `${i},${t}\n`).join('')}`)
    await writeFile(pathOf('march.csv'), shipments(64, MISFITS))
    const sales = 'ort;betrag;tag\r\nKöln;1.234,50;01/02/2024\r\nLinz;-7,5;03/02/2024\r\n'
    await writeFile(pathOf('umsatz.csv'), Buffer.from(sales, 'latin1'))
    await writeFile(pathOf('rows.txt'), 'n;m,label\n1,first\n')
    await writeFile(pathOf('list.txt'), '{"n":1}\n{"n":2}\n')
    const wide = shipments(2)
      .split('\n')
      .map((line, i) => line && `${line},${i === 0 ? 'note,by' : 'x,y'}`)
    await writeFile(pathOf('wide.csv'), wide.join('\n'))
    await writeFile(pathOf('sheet.csv'), Buffer.from('504152311504ff80', 'hex'))
    await writeFile(pathOf('sheet.csv.gz'), gzipSync(Buffer.from('504b0304140000', 'hex')))
    await writeFile(pathOf('picture.png'), Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
    await writeFile(
      pathOf(`bad.json`),
      JSON.stringify([
        { id: 4, total: 1 },
        { id: 5, total: MARKUP },
      ]),
    )
  })

  afterAll(async () => {
    await directory?.remove()
    await rm(folder, { recursive: true })
  })

  async function openImport(): Promise<Page> {
    const page = await showDirectory(directory)
    await page.getByRole('link', { name: 'Import' }).click()
    await page.getByText('Drop a file anywhere').waitFor()
    return page
  }

  const choose = (page: Page, name: string) => page.locator('#file').setInputFiles(pathOf(name))
  const begin = (page: Page) => page.getByRole('button', { name: 'Import', exact: true }).click()

  /** The first columns of the shown table. */
  async function shownCells(page: Page, count: number): Promise<readonly string[]> {
    await page.getByRole('link', { name: 'Show the table' }).click()
    await page.locator('.row:not(.waiting) [role=gridcell]').first().waitFor()
    return (await page.getByRole('gridcell').allInnerTexts()).slice(0, count)
  }

  test('asks for the numbers of a table once, and lists none that was deleted', async () => {
    const page = await showDirectory(directory)
    const list = page.locator('tbody')
    await expect.poll(() => list.innerText()).not.toContain('…')
    const lines = await list.getByRole('row').count()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.method()))
    const search = page.getByRole('searchbox')
    await search.fill('spare')
    await expect.poll(() => list.getByRole('row').count()).toBe(1)
    expect(await list.innerText()).toMatch(/^Spare\s+1\s/)

    await page.getByRole('button', { name: 'Delete the table Spare' }).click()
    const isSaid = page.getByText('“Spare” was deleted.').waitFor() // shown for seconds only
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await isSaid
    await search.fill('')
    await expect.poll(() => list.getByRole('row').count()).toBe(lines - 1)
    expect(asked).toEqual(['DELETE'])
  })

  test('a dropped file of CSV becomes a new table', async () => {
    const page = await showDirectory(directory)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
    })
    await dropFile(page, pathOf('many.csv')) // onto the list of tables

    await page.getByRole('columnheader', { name: 'day (date)' }).waitFor()
    expect(await page.getByRole('cell', { name: 'Row 1 of a file' }).count()).toBe(1)
    expect(await page.getByLabel('Name of the table').inputValue()).toBe('many')
    expect(await faults(page)).toEqual([])
    await picture(page, 'preview')
    const release = await hold(page, /\/tables\?(?!.*validate)/)
    await begin(page)
    await page.getByText('Committing …').waitFor({ timeout: STAGED_MS_MAX })
    // Otherwise its outcome would be unknown.
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
    release()
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect(await faults(page)).toEqual([])

    expect(await page.locator('.receipt').innerText()).toMatch(
      /Rows of the file\s+60,000\s+Version of the table\s+1/,
    )
    expect(refused).toEqual([])
    expect(await shownCells(page, 3)).toEqual([
      '0',
      'Row 0 of a file that a person has dropped',
      '0',
    ])
    expect(await page.locator('.place').innerText()).toContain('of 60,000')
  })

  test('columns are left out of an import, by mouse and by keyboard', async () => {
    const page = await openImport()
    const text =
      'id;mail;day;note\n1;ada@example.com;2024-05-01;a\n2;bob@example.com;2024-05-02;b\n'
    const file = { name: 'some.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
    await page.locator('#file').setInputFiles(file)
    await page.getByRole('columnheader', { name: 'mail (string)' }).waitFor()
    const box = (name: string) => page.getByRole('checkbox', { name: `Import the column ${name}` })
    await box('note').uncheck()
    await page.getByText('Left out:').waitFor()
    await expect.poll(() => page.getByRole('columnheader').count()).toBe(3)
    expect(await faults(page)).toEqual([])
    await picture(page, 'left-out')
    await box('id').focus()
    await page.keyboard.press('Space')
    await expect.poll(() => page.getByRole('columnheader').count()).toBe(2)
    expect(await box('id').isChecked()).toBe(false)
    expect(await box('id').evaluate((shown) => shown === document.activeElement)).toBe(true)
    await page.keyboard.press('Space')
    await expect.poll(() => page.getByRole('columnheader').count()).toBe(3)
    // A day and an address stand in one line, also on a phone.
    await page.setViewportSize({ width: 390, height: 844 })
    const cell = page.getByRole('cell', { name: 'ada@example.com' })
    expect((await cell.boundingBox())?.height).toBeLessThan(45)
    await page.setViewportSize({ width: 1100, height: 680 })
    await begin(page)
    expect(await shownCells(page, 6)).toEqual([
      '1',
      'ada@example.com',
      '2024-05-01',
      '2',
      'bob@example.com',
      '2024-05-02',
    ])
    expect(await page.getByRole('columnheader').count()).toBe(4) // The row numbers are one.
  })

  test('a file of gzip is merged into a table by its key', async () => {
    const page = await openImport()
    await choose(page, 'orders.ndjson.gz')
    await page.getByLabel('Import as').selectOption('merge')
    await page.getByLabel('Key column').selectOption('id')
    await page.getByRole('columnheader', { name: 'total' }).waitFor()
    await begin(page)

    const counts = '1 added, 2 changed, 0 unchanged, 0 removed'
    await page.getByText(`Effect of the merge on the rows: ${counts}.`).waitFor()
    expect(await faults(page)).toEqual([])
    await page.getByRole('button', { name: 'Merge' }).click()
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect(await page.locator('.receipt').innerText()).toContain(counts)
    expect(await shownCells(page, 6)).toEqual(['1', 'old 1', '1', '2', 'new 2', '2.5'])
  })

  test('a file is chosen and takes the place of all rows, by keyboard alone', async () => {
    const page = await showDirectory(directory)
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    while ((await focused(page)) !== 'Import') await press('Tab')
    await press('Enter')
    await page.getByText('Drop a file anywhere').waitFor()
    // The browser needs a moment to hand the chooser to the test.
    const chooser = page.waitForEvent('filechooser')
    while (!(await page.evaluate(() => document.activeElement?.id === 'file'))) await press('Tab')
    await press('Enter')
    await (await chooser).setFiles(pathOf('spare.tsv'))
    await page.getByRole('columnheader', { name: 'name (string)' }).waitFor()

    await press('Tab') // to the format, which the name has set
    expect(await page.evaluate(() => (document.activeElement as HTMLSelectElement).value)).toBe(
      'tsv',
    )
    while (!(await page.evaluate(() => document.activeElement?.id === 'mode'))) await press('Tab')
    await press('ArrowDown', 'ArrowDown') // from a new table to all rows of one
    await press('Tab', 'O') // to the table
    while ((await focused(page)) !== 'Import') await press('Tab')
    await press('Enter')
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect(await focused(page)).toBe('Show the table')
    await press('Enter')
    await page.getByRole('heading', { name: 'Orders' }).waitFor()
    await page.getByRole('gridcell', { name: 'by keyboard' }).waitFor()
    expect(await page.locator('.place').innerText()).toBe('1–1 of 1')
  })

  test('values that do not fit are listed by column and rule, before and after the file is read', async () => {
    const page = await openImport()
    await choose(page, 'march.csv')
    await page.getByLabel('Import as').selectOption('add')
    await page.getByLabel('Table', { exact: true }).selectOption('Shipments')
    await page.getByText(/^Values that do not fit: [1-9]/).waitFor()
    const marked = page.locator('td.misfit').first()
    expect([await marked.innerText(), await marked.getAttribute('title')]).toEqual([
      'unknown',
      'Must be a number such as 1234.5',
    ])
    await begin(page)
    await page.getByRole('heading', { name: 'march.csv' }).waitFor()
    await page.getByText('Nothing has been imported yet.').waitFor()
    const groups = await page.locator('tbody tr').allInnerTexts()
    const wanted = [
      ['weight', 'a number such as 1234.5', '4', 'row 4: unknown', 'row 23: 12,5', 'row 61: ?'],
      ['shipped', 'a calendar day as YYYY-MM-DD', '2', 'row 9: 31.03.2024', 'row 38: soon'],
      ['paid', 'true or false', '2', 'row 17: yes', 'row 52: n/a'],
    ]
    expect(groups.map((group) => group.split(/[\t\n]+/))).toEqual(wanted)
    await page.getByText(`Values that do not fit: ${MISFITS.length}`).waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'misfits')
    const staged = () =>
      page.evaluate(async () => {
        const authorization = `Bearer ${sessionStorage.getItem('rowstash-session')}`
        const answer = await fetch('stashes', { headers: { authorization } })
        return ((await answer.json()) as { data: { rows: number }[] }).data.map(({ rows }) => rows)
      })
    expect(await staged()).toContain(64)
    await choose(page, 'orders.ndjson.gz') // in place of the other file
    await page.getByRole('columnheader', { name: 'total' }).waitFor()
    expect(await staged()).not.toContain(64)
  })

  test('values that do not fit are shown, and change nothing until a person says so', async () => {
    const page = await openImport()
    const release = await hold(page, /\/tables\?.*validate=only/)
    const asked = page.waitForRequest(/\/tables\?.*validate=only/)
    await choose(page, 'bad.json')
    await page.getByRole('heading', { name: 'bad.json' }).waitFor()
    await asked // Otherwise the next choice is faster, and this is never requested.
    await page.getByLabel('Import as').selectOption('add')
    await page.getByText('Values that do not fit: 1').waitFor()
    // The preview treats them as the import would.
    await page.getByLabel('Values that do not fit').selectOption('updateSchema')
    await page.getByRole('columnheader', { name: 'total (string)' }).waitFor()
    expect(await page.getByText('Values that do not fit: 1').count()).toBe(0)
    await page.getByLabel('Values that do not fit').selectOption('abort')
    await page.getByText('Values that do not fit: 1').waitFor()
    // What a new table would make of the file arrives late, and replaces nothing.
    const late = page.waitForResponse(/\/tables\?.*validate=only/)
    release()
    await (await late).finished()
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect(await page.getByText('Values that do not fit: 1').count()).toBe(1)
    expect(await page.getByRole('cell', { name: MARKUP }).count()).toBeGreaterThan(0)
    await begin(page)
    await page.getByRole('button', { name: 'Change the import' }).waitFor()
    expect(await page.getByRole('button', { name: 'Import anyway' }).count()).toBe(0)
    expect(await page.getByRole('cell', { name: 'a number', exact: true }).count()).toBe(1)
    expect(await faults(page)).toEqual([])

    await page.getByRole('button', { name: 'Change the import' }).click()
    await page.getByLabel('Import as').selectOption('add')
    await page.getByLabel('Values that do not fit').selectOption('dropColumns')
    await begin(page)
    await page.getByRole('button', { name: 'Import anyway' }).click()
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect(await page.locator('.receipt').innerText()).toMatch(/Cells left empty\s+1/)
    expect(await page.title()).not.toBe('acted')
  })

  test('values that do not fit are named by their rows of the file, also before a merge', async () => {
    const page = await openImport()
    await choose(page, 'late.csv')
    await page.getByLabel('Import as').selectOption('merge')
    await page.getByLabel('Key column').selectOption('id')
    await page.getByLabel('Values that do not fit').selectOption('dropColumns')
    await begin(page)
    await page.getByRole('button', { name: 'Import anyway' }).waitFor({ timeout: STAGED_MS_MAX })
    expect(await page.getByRole('cell', { name: 'row 12,000: none' }).count()).toBe(1)
    await page.getByText(/Effect of the merge on the rows: [\d,]+ added, \d/).waitFor()
    await page.getByRole('button', { name: 'Change the import' }).click() // deletes the staged rows
    await page.getByLabel('Name of the table').waitFor()
  })

  test('a file that is no text is refused, and the format of one whose name does not tell it is detected', async () => {
    const page = await openImport()
    for (const [name, why] of [
      ['picture.png', 'the file is not text'],
      ['sheet.csv', 'the file is a Parquet file'],
      ['sheet.csv.gz', 'the file is a zip archive'],
    ] as const) {
      await choose(page, name)
      await page.getByRole('heading', { name }).waitFor()
      await page.getByText(why).waitFor()
      expect(await page.getByRole('button', { name: 'Import', exact: true }).count()).toBe(0)
      await page.getByText('Drop a file anywhere').waitFor()
    }
    expect(await faults(page)).toEqual([])
    await choose(page, 'rows.txt')
    await page.getByRole('columnheader', { name: 'label (string)' }).waitFor()
    await page.getByText('Read as CSV, utf-8, comma between fields, header in line 1.').waitFor()
    await choose(page, 'list.txt')
    await page.getByRole('columnheader', { name: 'n (number)' }).waitFor()
    expect(await page.getByLabel('Format').inputValue()).toBe('ndjson')
  })

  test('a file of a German spreadsheet is read as it is meant, and what was found is told', async () => {
    const page = await openImport()
    await choose(page, 'umsatz.csv')
    await page.getByRole('columnheader', { name: 'betrag (number)' }).waitFor()
    const reading = 'Read as CSV, windows-1252, semicolon between fields, header in line 1.'
    await page.getByText(reading).waitFor()
    await page.getByText('2 values of “betrag” converted, such as “1.234,50” in line 2.').waitFor()
    await page.getByText('Days of “tag” can be read in two ways, such as “01/02/2024”.').waitFor()
    const detected = await page.locator('.choices option:checked').allInnerTexts()
    expect(detected.slice(0, 6)).toEqual([
      'CSV',
      'detected: semicolon',
      'detected: in line 1',
      'detected: 1.234,50',
      'choose: 01/02/2024',
      'detected: windows-1252',
    ])
    expect(await faults(page)).toEqual([])
    await page.getByLabel('Days').selectOption('dd/mm/yyyy')
    await page.getByRole('columnheader', { name: 'tag (date)' }).waitFor()
    await page.getByLabel('Header').selectOption('absent')
    await page.getByRole('columnheader', { name: 'column2 (string)' }).waitFor()
    await page.getByLabel('Header').selectOption('')
    await page.getByRole('columnheader', { name: 'tag (date)' }).waitFor()
    await begin(page)
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    await page.getByText(reading).waitFor()
    await page.getByText('2 values of “tag” converted').waitFor()
    expect(await shownCells(page, 3)).toEqual(['Köln', '1234.50', '2024-02-01'])
  })

  test('columns that the table lacks are offered, before the file is read and after', async () => {
    const page = await openImport()
    const offer = page.getByText('The table has no column “note”, “by”.')
    const prepare = async () => {
      await choose(page, 'wide.csv')
      await page.getByLabel('Import as').selectOption('add')
      await page.getByLabel('Table', { exact: true }).selectOption('Shipments')
      await offer.waitFor()
    }
    await prepare()
    expect(await page.getByText(/^Values that do not fit: /).count()).toBe(0)
    await begin(page)
    await page.getByText('Nothing has been imported yet.').waitFor()
    await offer.waitFor()
    expect(await page.getByRole('button', { name: 'Import anyway' }).count()).toBe(0)
    expect(await faults(page)).toEqual([])
    expect(await focused(page)).toBe('Add as text')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect((await shownCells(page, 6)).at(-1)).toBe('')
    await page
      .getByText('23–22 of 22')
      .or(page.getByText(/of 22$/))
      .waitFor()

    const other = await openImport()
    await choose(other, 'wide.csv')
    await other.getByLabel('Import as').selectOption('add')
    await other.getByLabel('Table', { exact: true }).selectOption('Orders')
    await other.getByText('The table has no column “weight”').waitFor()
    await other.getByRole('button', { name: 'Add as text' }).click()
    await other.getByText('5 columns were added.').waitFor()
    await other.getByRole('columnheader', { name: 'by (string)' }).waitFor()
    expect(await other.getByRole('button', { name: 'Add as text' }).count()).toBe(0)
  })

  test('an error that a retry cannot mend is said in the words of the page, without a retry', async () => {
    const page = await openImport()
    await page.route('**/stashes/**', async (route) => {
      const message = 'Invalid request body: a value in row 4 (counted from 0) is too long'
      const answer = { status: 400, json: { error: { type: 'request_validation_error', message } } }
      if (route.request().method() === 'PUT') await route.fulfill(answer)
      else await route.continue()
    })
    await choose(page, 'orders.ndjson.gz')
    await page.getByRole('columnheader', { name: 'total' }).waitFor()
    await begin(page)
    await page.getByText('A value in row 5 is too long').waitFor()
    expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0)
    await page.getByText('Drop a file anywhere').waitFor()
    expect(await faults(page)).toEqual([])
    await page.getByRole('button', { name: 'Change the import' }).click()
    await page.getByRole('columnheader', { name: 'total' }).waitFor()
  })

  test('the place for a file shows itself while one is dragged over any view', async () => {
    const page = await showDirectory(directory)
    const over = page.getByText('Drop the file to import it')
    const drag = await page.context().newCDPSession(page)
    const data = { items: [], files: [pathOf('spare.tsv')], dragOperationsMask: 1 }
    const move = (type: 'dragEnter' | 'dragOver' | 'drop') =>
      drag.send('Input.dispatchDragEvent', { type, x: 200, y: 300, data })
    const showsOver = async () => {
      await move('dragEnter')
      await move('dragOver')
      return over.isVisible()
    }
    for (const place of ['Tables', 'Storage', 'Health', 'Import']) {
      await page.getByRole('link', { name: place, exact: true }).click()
      await page.getByRole('heading', { name: place, exact: true }).waitFor()
      await expect.poll(showsOver).toBe(true)
      await over.waitFor({ state: 'hidden' }) // Nothing is being dragged.
    }
    await expect.poll(showsOver).toBe(true)
    await move('drop')
    await page.getByRole('heading', { name: 'spare.tsv' }).waitFor()
    expect(await over.isVisible()).toBe(false)
  })

  test('an import goes on while other views are shown, and says there how it ends', async () => {
    const page = await openImport()
    const goTo = (name: string) => page.getByRole('link', { name, exact: true }).click()
    const refuse = await hold(page, '**/stashes/**', (method) => method === 'PUT', 402)
    await choose(page, 'late.csv')
    await page.getByLabel('Name of the table').fill('Left')
    await begin(page)
    await page.locator('progress').waitFor()
    await goTo('Tables')
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    refuse()
    await page.getByText('The import stopped (held). Open “Import” to continue it.').waitFor()
    await page.unroute('**/stashes/**')

    await goTo('Import')
    const release = await hold(page, '**/stashes/**', (method) => method === 'PUT')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('progress').waitFor()
    await goTo('Storage')
    await page.getByRole('heading', { name: 'Staged rows' }).waitFor()
    await goTo('Import')
    await page.locator('progress').waitFor()
    await goTo('Tables')
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    release()
    await page.getByText('The import is complete.').waitFor({ timeout: STAGED_MS_MAX })
    await goTo('Import')
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    expect(await page.locator('.receipt').innerText()).toMatch(/Rows of the file\s+12,001/)
    await goTo('Tables')
    await page.getByRole('link', { name: 'Left' }).waitFor()
    await goTo('Import') // It was seen.
    await page.getByText('Drop a file anywhere').waitFor()
    expect(await page.locator('.receipt').count()).toBe(0)
  })

  test('an import that is cancelled changes nothing, and goes on after a failure', async () => {
    const page = await openImport()
    let puts = 0
    const release = await hold(page, '**/stashes/**', (method) => method === 'PUT' && ++puts > 2)
    await choose(page, 'many.csv')
    await page.getByLabel('Name of the table').fill('Cancelled')
    await begin(page)
    await page.getByText(/\d rows\/s/).waitFor({ timeout: STAGED_MS_MAX })
    // The rest of the file is read, but not staged.
    expect(Number(await page.locator('progress').getAttribute('value'))).toBeLessThan(0.7)
    expect(await faults(page)).toEqual([])
    await picture(page, 'import')
    const isRefused = page.getByText('An import is in progress.').waitFor() // shown for seconds only
    await dropFile(page, pathOf('bad.json')) // It does not replace the running import.
    await isRefused
    const isCancelled = page.getByText('Cancelled. Nothing was changed.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    release()
    await isCancelled
    await page.unroute('**/stashes/**')

    let isRefusing = true
    await page.route('**/stashes/**', async (route) => {
      const isPut = route.request().method() === 'PUT'
      const answer = { status: 402, json: { error: { type: 'x', message: `No: ${MARKUP}` } } }
      if (isPut && isRefusing && ++puts % 4 === 0) await route.fulfill(answer)
      else await route.continue().catch(() => undefined)
    })
    await page.getByLabel('Name of the table').fill('Continued')
    await begin(page)
    await expect
      .poll(() => page.getByRole('alert').allInnerTexts(), { timeout: STAGED_MS_MAX })
      .toContain(`No: ${MARKUP}`)
    expect(await faults(page)).toEqual([])
    isRefusing = false
    await page.getByRole('button', { name: 'Continue' }).click()
    await page
      .getByRole('heading', { name: 'The import is complete.' })
      .waitFor({ timeout: STAGED_MS_MAX })

    await page.getByRole('link', { name: 'Tables' }).click()
    await page.getByRole('link', { name: 'Continued' }).waitFor()
    expect(await page.getByRole('link', { name: 'Cancelled' }).count()).toBe(0)
    await expect
      .poll(() => page.getByRole('row', { name: /Continued/ }).innerText())
      .toContain('60,000')
  })
})

/** The text of the element that has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? '')
}
