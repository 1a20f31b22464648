// Loads every hostile file in every way, in a real browser, and reports the acts of the files.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type HostileFile, hostileFile, type Way } from './hostile-files.js'
import { fileAt, type Mount, type SiteName, type Sites } from './sites.js'

export type Meeting = Readonly<{ file: HostileFile; way: Way }>

export type Visit = Readonly<{
  /** `file by way: what it did`, in order, each once. */
  acts: readonly string[]
  /** Files that a frame of the page shows. */
  framed: readonly string[]
  /** Files that were downloaded when they were navigated to, under their proposed names. */
  downloads: readonly string[]
  /** Files that an `<img>` of the page shows. */
  pictures: readonly string[]
}>

/** The browser did not finish a step that it always does. This says nothing about the files. */
export class BrowserStuck extends Error {}

const STEP_MS_MAX = 90_000

/** Bounds a step: Playwright bounds only some of its own. */
export async function within<T>(step: string, doing: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BrowserStuck(`${step} took too long`)), STEP_MS_MAX)
  })
  try {
    return await Promise.race([doing, late])
  } finally {
    clearTimeout(timer)
  }
}

const WAIT_MS = 60_000
const POLL = { timeout: WAIT_MS, interval: 25 }

/** @param site - The site of the files. The page that loads them is always one of the shop. */
export async function visit(
  browser: Browser,
  sites: Sites,
  { site, mount }: { site: SiteName; mount: Mount },
  meetings: readonly Meeting[],
): Promise<Visit> {
  const met = meetings.map(({ file, way }) => {
    return { way, fileName: file.fileName, url: sites.urlOf(site, mount, file, way) }
  })
  const urlsBy = (wanted: Way) => met.filter(({ way }) => way === wanted).map(({ url }) => url)
  const context = await within('A new context', browser.newContext())
  const page = await within('A page', pageOf(context, `${sites.urls.shop}/plain`))
  await within('Embedding', page.evaluate(embed, met))
  const downloads = await within('Navigating', navigate(context, urlsBy('navigate')))
  await within('A first wait', passTime(page, sites, site))
  await within('Opening windows', openWindows(page, urlsBy('open')))
  // A worker from another origin is refused before any request.
  const asking = met.filter(({ way }) => way !== 'worker' || site === 'shop')
  await expect.poll(() => unasked(sites, site, asking), POLL).toEqual([])
  await within('A last wait', passTime(page, sites, site))

  const messages = await within(
    'Reading messages',
    page.evaluate(() => window.canaries),
  )
  const framed = page.frames().map((frame) => frame.url())
  const pictures = await within('Looking at pictures', page.evaluate(shownPictures))
  await within('Closing', context.close())
  return {
    acts: [...new Set([...requestsOf(sites, site, mount), ...messages.map(actOfMessage)])]
      .filter((act) => !act.includes(FENCE))
      .sort(),
    framed: namesOf(framed.filter((url) => url.startsWith(`${sites.urls[site]}/${mount}/`))),
    downloads: downloads.sort(),
    pictures: namesOf(pictures),
  }
}

declare global {
  interface Window {
    /** URLs of canaries that files have sent to the page. */
    canaries: string[]
    note: (event: MessageEvent) => void
  }
}

async function pageOf(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.evaluate(listen)
  return page
}

/** Runs in the page. */
function listen(): void {
  window.canaries = []
  window.note = ({ data }) => {
    if (typeof data?.canary === 'string') window.canaries.push(data.canary)
  }
  window.addEventListener('message', window.note)
}

/** Runs in the page: loads the files in all ways that need no other page. */
function embed(met: readonly { way: Way; fileName: string; url: string }[]): void {
  const add = (tag: string, set: Readonly<Record<string, string>>): void => {
    const element = document.createElement(tag)
    for (const [name, value] of Object.entries(set)) element.setAttribute(name, value)
    document.body.append(element)
  }
  const meet: Readonly<Partial<Record<Way, (url: string, fileName: string) => void>>> = {
    iframe: (src) => add('iframe', { src }),
    object: (data) => add('object', { data }),
    embed: (src) => add('embed', { src }),
    img: (src) => add('img', { src }),
    script: (src) => add('script', { src }),
    stylesheet: (href, fileName) => {
      add('p', { title: fileName }) // The style needs it.
      add('link', { rel: 'stylesheet', href })
    },
    worker: (url) => {
      try {
        new Worker(url).addEventListener('message', window.note)
      } catch (failure) {
        if ((failure as Error).name !== 'SecurityError') throw failure
      }
    },
  }
  for (const { way, fileName, url } of met) meet[way]?.(url, fileName)
}

/** One window at a time: while many open at once, Chromium loses messages between them. */
async function openWindows(page: Page, urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    const opening = page.waitForEvent('popup')
    await page.evaluate((location) => void window.open(location), url)
    const opened = await opening
    await opened.waitForLoadState('load').catch((failure: unknown) => {
      if (!opened.isClosed()) throw failure // The window of a download closes.
    })
  }
}

/** Runs in the page. */
function shownPictures(): string[] {
  return [...document.images].filter((image) => image.naturalWidth > 0).map((image) => image.src)
}

const LANES = 3

/** Goes to each URL as a person would. @returns the names of downloaded files */
async function navigate(context: BrowserContext, urls: readonly string[]): Promise<string[]> {
  const downloads: string[] = []
  const waiting = [...urls]
  async function lane(): Promise<void> {
    const page = await context.newPage()
    page.on('download', (download) => downloads.push(download.suggestedFilename()))
    for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
      try {
        await page.goto(url, { waitUntil: 'load' })
      } catch (failure) {
        const { message } = failure as Error
        // A download, or a page that navigated away before it had loaded.
        if (!/Download is starting|ERR_ABORTED|interrupted/.test(message)) throw failure
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return downloads
}

function unasked(
  { asked, urls }: Sites,
  site: SiteName,
  met: readonly { url: string }[],
): readonly string[] {
  const answered = new Set(asked[site].map(({ url }) => urls[site] + url))
  return met.map(({ url }) => url).filter((url) => !answered.has(url))
}

const FENCES = 2

/**
 * Waits as long as unprotected files need to act when they are loaded now, one after another. So files loaded before
 * had enough time, however slow the machine is.
 */
async function passTime(page: Page, sites: Sites, site: SiteName): Promise<void> {
  await page.bringToFront() // A page in the background draws nothing, and loads no pictures.
  const file = hostileFile('page.html')
  for (let fence = 1; fence <= FENCES; fence++) {
    const url = sites.urlOf(site, 'bare', file, `${FENCE}${fence}-${++fences}`)
    await page.evaluate((src) => {
      const frame = document.createElement('iframe')
      frame.src = src
      document.body.append(frame)
    }, url)
    await expect.poll(() => page.evaluate(() => window.canaries), POLL).toContain(url)
    await expect
      .poll(() => sites.canaries.map(({ way }) => way), POLL)
      .toContain(fileAt(new URL(url)).way)
  }
}

let fences = 0
const FENCE = 'fence-'

function requestsOf({ canaries }: Sites, site: SiteName, mount: Mount): readonly string[] {
  return canaries
    .filter((canary) => canary.site === site && canary.mount === mount)
    .map(({ fileName, way, by }) => `${fileName} by ${way}: ${by}`)
}

function actOfMessage(url: string): string {
  const { fileName, way } = fileAt(new URL(url))
  return `${fileName} by ${way}: message`
}

function namesOf(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.map((url) => fileAt(new URL(url)).fileName))].sort()
}
