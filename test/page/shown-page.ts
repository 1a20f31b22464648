// The page of a store in a real browser, for tests that use it as a person does.
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Store } from '../../src/index.js'
import { findChromium } from '../browser/chromium.js'
import { type MadeDirectory, makeDirectory, openDirectoryPage } from './opened-store.js'

const found = findChromium()

export const HAS_BROWSER = found.path !== undefined

/** Where the pictures of the documents are written to, if they are wanted. */
const PICTURES = process.env['ROWSTASH_SCREENSHOTS']

const VIEWPORT = { width: 1100, height: 680 }

/** A directory whose store a function has filled, and a browser to show it in. `remove` ends both. */
export type ShownDirectory<T> = MadeDirectory<T> & Readonly<{ browser: Browser }>

export async function makeShownDirectory<T>(
  fillStore: (store: Store) => Promise<T>,
): Promise<ShownDirectory<T>> {
  const directory = await makeDirectory(fillStore)
  try {
    const browser = await chromium.launch({ executablePath: found.path ?? '', timeout: 30_000 })
    return { ...directory, browser, remove: () => browser.close().finally(directory.remove) }
  } catch (failure) {
    await directory.remove()
    throw failure
  }
}

/** Opens a page that must not complain until the test ends. @param close - What is ended with it. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions,
  close: () => Promise<void>,
): Promise<Page> {
  const context = await browser.newContext({ viewport: VIEWPORT, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const complaints: string[] = []
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('console', (message) => {
    const isBad = message.type() === 'error' || message.type() === 'warning'
    // The browser reports every answer of 400 and above; what the page makes of it is tested.
    if (isBad && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  onTestFinished(async () => {
    await context.close()
    await close()
    expect(complaints).toEqual([])
  })
  await page.goto(address)
  return page
}

/** Opens a directory by `rowstash open` in a browser of its own. */
export async function showDirectory(
  { browser, path }: ShownDirectory<unknown>,
  args: readonly string[] = [],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const opened = await openDirectoryPage(path, ...args)
  const page = await openPage(browser, opened.address, options, opened.close)
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  return page
}

/** What axe finds wrong for people who use other means than eyes and a mouse. */
export async function violations(page: Page): Promise<readonly string[]> {
  const results = (await page.evaluate(`${axe.source}; axe.run()`)) as axe.AxeResults
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
}

/** Takes a picture, if pictures are wanted. @param size - Of the window. Default: as it is. */
export async function picture(
  page: Page,
  name: string,
  size?: Readonly<{ width: number; height: number }>,
): Promise<void> {
  if (PICTURES === undefined) return
  if (size !== undefined) await page.setViewportSize(size)
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

/** Private memory of the processes that render tabs, in bytes; Linux tells it. */
export async function rendererMemory(browser: Browser): Promise<readonly number[]> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  const tabs = processInfo.filter(({ type }) => type === 'renderer')
  return Promise.all(
    tabs.map(async ({ id }) => {
      const text = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '')
      const parts = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm)]
      return parts.reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1_024, 0)
    }),
  )
}

/** Drops files of this machine, as a person does: the page gets them from the disk. */
export async function dropFile(page: Page, path: string): Promise<void> {
  const box = await page.locator('.drop').boundingBox()
  const session = await page.context().newCDPSession(page)
  const at = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 10 }
  const data = { items: [], files: [path], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, ...at, data })
  await session.detach()
}
