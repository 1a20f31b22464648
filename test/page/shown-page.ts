// The page of a store in a real browser, for tests that act as a person does.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { PNG } from 'pngjs'
import { expect, onTestFinished } from 'vitest'
import type { Store } from '../../src/index.js'
import { findChromium } from '../browser/chromium.js'
import { type MadeDirectory, makeDirectory, openDirectoryPage } from './opened-store.js'

const found = findChromium()

export const HAS_BROWSER = found.path !== undefined

/** The folder for the pictures of the documents; undefined: none are taken. */
export const PICTURES = process.env['ROWSTASH_SCREENSHOTS']

/** A name that the tests' browsers resolve to this machine, as an attacker's DNS would. */
export const HOSTILE_NAME = 'evil.example'

const VIEWPORT = { width: 1100, height: 680 }

/** For tests that `HAS_BROWSER` lets run. */
export function launchBrowser(args: string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: found.path ?? '', args, timeout: 60_000 })
}

/** A directory that `rowstash open` shows, and a browser that has opened its address. `remove` ends both. */
export type ShownDirectory<T> = MadeDirectory<T> &
  Readonly<{
    browser: Browser
    context: BrowserContext
    origin: string
    /** The token of the printed address, which is used up. */
    token: string
  }>

/** @param args - Arguments of `rowstash open`. */
export async function makeShownDirectory<T>(
  fillStore: (store: Store) => Promise<T>,
  ...args: readonly string[]
): Promise<ShownDirectory<T>> {
  const directory = await makeDirectory(fillStore)
  const ends = [directory.remove]
  const remove = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const { origin, address, token, close } = await openDirectoryPage(directory.path, ...args)
    ends.push(close)
    const browser = await launchBrowser([`--host-resolver-rules=MAP ${HOSTILE_NAME} 127.0.0.1`])
    ends.push(() => browser.close())
    const context = await browser.newContext({ viewport: VIEWPORT })
    const page = await context.newPage()
    await page.goto(address) // This uses the token up.
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    const session = await page.evaluate(() => sessionStorage.getItem('rowstash-session'))
    await page.close()
    // Other tabs of a test continue the session, as a copied tab does.
    await context.addInitScript(
      ([place, key]) => {
        if (location.origin === place) sessionStorage.setItem('rowstash-session', key)
      },
      [origin, session ?? ''] as const,
    )
    return { ...directory, remove, browser, context, origin, token }
  } catch (failure) {
    await remove()
    throw failure
  }
}

/** How a tab looks. Default: as all tabs of its browser. */
export type TabOptions = Readonly<{
  viewport?: Readonly<{ width: number; height: number }>
  colorScheme?: 'dark'
}>

/** Opens a tab in which errors, up to the end of the test, make the test fail. */
export async function openPage(
  context: BrowserContext,
  address: string,
  { viewport = VIEWPORT, colorScheme }: TabOptions = {},
): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(60_000) // The machine may be busy.
  const complaints: string[] = []
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('console', (message) => {
    const isBad = message.type() === 'error' || message.type() === 'warning'
    // The browser reports every answer of 400 and above, which tests check in the page.
    if (isBad && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  onTestFinished(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })
  await page.setViewportSize(viewport)
  if (colorScheme !== undefined) await page.emulateMedia({ colorScheme })
  await page.goto(address)
  return page
}

/** Opens a directory in a tab. */
export async function showDirectory(
  { context, origin }: ShownDirectory<unknown>,
  options: TabOptions = {},
): Promise<Page> {
  const page = await openPage(context, `${origin}/`, options)
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  return page
}

/** Widths of a small phone, a tablet and a wide screen. */
const WIDTHS = [360, 800, 1_920]

/**
 * The faults of any view: axe's findings here and on a phone, and widths at which the page is wider than the screen.
 */
export async function faults(page: Page): Promise<readonly string[]> {
  const size = page.viewportSize() ?? VIEWPORT
  const found = [...(await violations(page))]
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: size.height })
    const wide = (await page.evaluate('document.documentElement.scrollWidth')) as number
    if (wide > width) found.push(`the page has ${wide} pixels on a screen of ${width}`)
    if (width === WIDTHS[0]) found.push(...(await axeOn(page, '')))
  }
  await page.setViewportSize(size)
  return found
}

/** Axe's findings on accessibility; contrast is checked in light and dark. */
async function violations(page: Page): Promise<readonly string[]> {
  const found = await axeOn(page, '')
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  await page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' })
  const other = await axeOn(page, `{ runOnly: ['color-contrast'] }`)
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' })
  return [...found, ...other]
}

async function axeOn(page: Page, options: string): Promise<readonly string[]> {
  const results = (await page.evaluate(`${axe.source}; axe.run(${options})`)) as axe.AxeResults
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
}

/** Makes pictures of flat colours small: without filters, which suit photographs. */
const SMALL = { colorType: 2, filterType: 0, deflateLevel: 9, deflateStrategy: 0 } as const

/** Takes a picture, if pictures are wanted. @param size - The size of the window. Default: unchanged. */
export async function picture(
  page: Page,
  name: string,
  size?: Readonly<{ width: number; height: number }>,
): Promise<void> {
  if (PICTURES === undefined) return
  const before = page.viewportSize()
  if (size !== undefined) await page.setViewportSize(size)
  await mkdir(PICTURES, { recursive: true })
  await page.evaluate(() => new Promise(requestAnimationFrame))
  const taken = PNG.sync.read(await page.screenshot())
  await writeFile(join(PICTURES, `${name}.png`), PNG.sync.write(taken, SMALL))
  if (size !== undefined && before !== null) await page.setViewportSize(before)
}

/** Private memory of the processes that render tabs, in bytes; only on Linux. */
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

/**
 * Drops a file of this machine, as a person does: the page gets it from the disk. @param at - The place on the page.
 */
export async function dropFile(page: Page, path: string, at = { x: 200, y: 300 }): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files: [path], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, ...at, data })
  await session.detach()
}

/**
 * @returns what `copy` puts into the clipboard, which the page may read and write
 *
 * That the page says "Copied." is no sign of it: it may still say so of the copy before.
 */
export async function copiedText(page: Page, copy: () => Promise<void>): Promise<string> {
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await copy()
  const text = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(text).not.toBe('')
  return text()
}

/** Holds requests back. @returns lets them through, or refuses them with a status */
export async function hold(
  page: Page,
  path: string | RegExp,
  isHeld: (method: string) => boolean = () => true,
  status?: number,
): Promise<() => void> {
  let release = (): void => undefined
  const released = new Promise<void>((done) => {
    release = done
  })
  await page.route(path, async (route) => {
    const isOne = isHeld(route.request().method())
    if (isOne) await released
    const refusal = { status: status ?? 200, json: { error: { type: 'x', message: 'held' } } }
    const ended = isOne && status !== undefined ? route.fulfill(refusal) : route.continue()
    await ended.catch(() => undefined) // The page may have cancelled it.
  })
  return release
}
