// Goal: a person saves the visible part of a table as a file, in any format and size.
// Method: the page of `rowstash open` in a real browser, which writes into a file that the page was given, or
// downloads.
import { readFile } from 'node:fs/promises'
import { parquetReadObjects } from 'hyparquet'
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

const ROWS = 20_000
const SEEN = `filter=${encodeURIComponent('["customer","eq","Ada Byron"]')}&sort=-total&column=id&column=total&column=note`

describe.skipIf(!HAS_BROWSER)('a download in Chromium', () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS))
  })

  afterAll(() => directory?.remove())

  async function showOrders(query = ''): Promise<Page> {
    const page = await showDirectory(directory)
    await page.goto(`${directory.origin}/#/table/${directory.made}?${query}`)
    await page.getByRole('gridcell').first().waitFor()
    return page
  }

  /** The file picker is a window of the system, so the page gets a file of its own as the person's choice. */
  async function giveFile(page: Page): Promise<() => Promise<readonly [string, Buffer]>> {
    await page.evaluate(() => {
      const showSaveFilePicker = async ({ suggestedName }: { suggestedName: string }) => {
        const folder = await navigator.storage.getDirectory()
        return folder.getFileHandle(`given ${suggestedName}`, { create: true })
      }
      Object.assign(window, { showSaveFilePicker })
    })
    return async () => {
      const [given, bytes] = await page.evaluate(async () => {
        const folder = await navigator.storage.getDirectory()
        const names: string[] = []
        for await (const name of (folder as unknown as { keys(): AsyncIterable<string> }).keys())
          names.push(name)
        const [name = ''] = names
        const file = await (await folder.getFileHandle(name)).getFile()
        const bytes = Array.from(new Uint8Array(await file.arrayBuffer()))
        await folder.removeEntry(name)
        return [name, bytes] as const
      })
      return [given, Buffer.from(bytes)]
    }
  }

  const download = async (page: Page, format: string) => {
    await page.locator('summary', { hasText: 'Download' }).click()
    await page.getByRole('button', { name: format, exact: true }).click()
  }
  const totalOf = (index: number) => ((index * 7919) % 100_000) / 100
  const adas = Array.from({ length: ROWS / 5 }, (_, at) => at * 5).sort(
    (a, b) => totalOf(b) - totalOf(a),
  )

  test('has the filter, the order and the columns that are seen, in each format', async () => {
    const page = await showOrders(SEEN)
    const given = await giveFile(page)
    await page.locator('summary', { hasText: 'Download' }).click()
    await page.getByRole('button', { name: 'as Parquet' }).waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'download')
    await page.keyboard.press('Escape')
    const saved = async (format: string) => {
      await download(page, format)
      await page.getByText(/^Downloaded: [\d.]+ kB\.$/).waitFor()
      await page.getByText(/^Downloaded: /).waitFor({ state: 'hidden' })
      return given()
    }
    const savedText = async (format: string) => {
      const [name, bytes] = await saved(format)
      return [name, bytes.toString()] as const
    }
    const rows = adas.map((id) => ({
      id,
      total: totalOf(id),
      note: `Delivered to the door, parcel ${id * 31}.\nSecond line.`,
    }))
    const [csvName, csv] = await savedText('as CSV')
    expect(csvName).toBe('given Orders.csv')
    const field = ({ id, total, note }: (typeof rows)[number]) => `${id},${total},"${note}"\n`
    expect(csv).toBe(`id,total,note\n${rows.map(field).join('')}`)
    const [, lines] = await savedText('as NDJSON, one row in each line')
    const parsed = lines.trimEnd().split('\n')
    expect(parsed.map((line) => JSON.parse(line) as object)).toEqual(rows)
    const [jsonName, json] = await savedText('as JSON')
    expect(jsonName).toBe('given Orders.json')
    expect(JSON.parse(json)).toEqual(rows)
    const [, tsv] = await savedText('as TSV')
    expect(tsv.split('\n')[0]).toBe('id\ttotal\tnote')
    const [parquetName, parquet] = await saved('as Parquet')
    expect(parquetName).toBe('given Orders.parquet')
    const file = new Uint8Array(parquet).buffer
    expect(await parquetReadObjects({ file })).toEqual(rows)
  })

  test('is not offered as Parquet if the server does not write it', async () => {
    const page = await showOrders()
    await page.route('**/page/session', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ json: { ...(await answer.json()), parquet: false } })
    })
    await page.reload()
    await page.getByRole('gridcell').first().waitFor()
    await page.locator('summary', { hasText: 'Download' }).click()
    await page.getByRole('button', { name: 'as JSON', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'as Parquet' }).count()).toBe(0)
  })

  test('is a download of a browser that writes no files, by keyboard alone', async () => {
    const page = await showOrders(SEEN)
    await page.evaluate('window.showSaveFilePicker = undefined')
    await page.locator('summary', { hasText: 'Download' }).focus()
    const event = page.waitForEvent('download')
    for (const key of ['Enter', 'Tab', 'Tab', 'Enter']) await page.keyboard.press(key)
    const file = await event
    expect(file.suggestedFilename()).toMatch(/^Orders\.\w+$/)
    const text = await readFile(await file.path(), 'utf8')
    expect(text.length).toBeGreaterThan(100_000)
    expect(text).toContain(String(totalOf(adas[0] ?? 0)))
  })

  test('is cancelled, and what breaks off is told', async () => {
    const page = await showOrders()
    await giveFile(page)
    // The page's answer contains its first rows, and then stalls.
    await page.evaluate(() => {
      const ask = window.fetch
      const answer = new TransformStream<Uint8Array, Uint8Array>()
      const writer = answer.writable.getWriter()
      Object.assign(window, {
        breakOff: () => writer.abort(new TypeError('network error')),
        fetch: async (url: string, init: RequestInit) => {
          if (!url.includes('/export')) return ask(url, init)
          const headers = { etag: '"1"', 'content-type': 'text/csv' }
          void writer.write(new Uint8Array(2_000))
          return new Response(answer.readable, { headers })
        },
      })
    })
    await download(page, 'as CSV')
    await page.getByText('Downloading … 2 kB').waitFor()
    expect(await faults(page)).toEqual([])
    await download(page, 'as JSON')
    await page.getByText('A download is in progress.').waitFor()
    await page.evaluate('void breakOff()')
    await page.getByText('The connection broke off. The file was not saved.').waitFor()
    expect(await page.getByText('Downloading …').isVisible()).toBe(false)

    await page.reload()
    await page.getByRole('gridcell').first().waitFor()
    await giveFile(page)
    await page.route(/\/export/, () => undefined) // It is never answered.
    await download(page, 'as CSV')
    await page.getByText('Downloading … 0 bytes').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Downloading …').waitFor({ state: 'hidden' })
    expect(await page.locator('.failed').isVisible()).toBe(false)
  })
})
