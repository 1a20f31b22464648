// Goal: a page can upload a picture from the browser and show it, and no stored file can act in a page.
// Method: a real browser and two sites. A hostile file that acts sends canaries. The same files send them from a server
// without protection, which shows that silence means protection.
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMemory, type Store } from '../../src/index.js'
import { findChromium } from './chromium.js'
import { DOCUMENT_WAYS, HOSTILE_FILES, type HostileFile, WAYS, type Way } from './hostile-files.js'
import type { UploadOutcome } from './shop-page.js'
import { type Mount, openSites, type SiteName, type Sites } from './sites.js'
import { BrowserStuck, type Meeting, type Visit, visit, within } from './visit.js'

const found = findChromium()
if (found.path === undefined) console.warn(`No browser, so no test in one: ${found.reason}`)

describe.skipIf(found.path === undefined)('files in Chromium', () => {
  let store: Store
  let sites: Sites
  let browser: Browser

  // Without Playwright's sandbox of processes, which root cannot have.
  const launch = () => chromium.launch({ executablePath: found.path ?? '', timeout: 60_000 })

  beforeAll(async () => {
    store = await openMemory()
    sites = await openSites(store)
    browser = await launch()
  })

  afterAll(async () => {
    await browser?.close()
    await sites?.close()
    await store?.close()
  })

  /** Visits again with a new browser if one gets stuck. The acts of the first visit count too. */
  async function meet(site: SiteName, mount: Mount, met: readonly Meeting[]): Promise<Visit> {
    try {
      return await visit(browser, sites, { site, mount }, met)
    } catch (failure) {
      if (!(failure instanceof BrowserStuck)) throw failure
      console.warn(`The browser is stuck: ${failure.message}`)
      await within('Closing the browser', browser.close())
      browser = await launch()
      return visit(browser, sites, { site, mount }, met)
    }
  }

  test('a page of another origin sends an image in three steps and shows it', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${sites.urls.shop}/`)

    await page.setInputFiles('input', { name: 'Größe 1.png', mimeType: 'image/png', buffer: IMAGE })
    const handle = await page.waitForFunction(() => window.outcome, null, { timeout: 60_000 })
    const outcome = await handle.jsonValue()
    await context.close()

    expect(outcome).toEqual({
      refused: 'content_type_mismatch',
      sent: 200,
      url: expect.stringContaining(`${sites.urls.files}/stored/files/rsf-`),
      width: 3,
      type: 'image/png',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      bytes: IMAGE.length,
    })
    const asked = sites.asked.files.filter(({ url }) => url.startsWith('/stored/uploads/'))
    expect(asked.map(({ method }) => method)).toEqual(['OPTIONS', 'PUT', 'PUT'])
    expect(asked.map(({ headers }) => headers.origin)).toEqual(Array(3).fill(sites.urls.shop))
    expect(asked.filter(({ headers }) => headers.authorization ?? headers.cookie)).toEqual([])
  })

  describe.each([
    { site: 'files', where: 'another origin' },
    { site: 'shop', where: 'the origin of the page' },
  ] as const)('a hostile file on $where', ({ site }) => {
    test('acts where nothing protects it, and never where the store serves it', async () => {
      // When a person navigates to a file, no page takes part, so one origin is enough.
      const met = meetings(WAYS.filter((way) => site === 'files' || way !== 'navigate'))
      const bare = await meet(site, 'bare', met)
      const stored = await meet(site, 'stored', met)

      expect(missing(actsToExpect(site), bare.acts)).toEqual([])
      expect(stored.acts).toEqual([])

      expect(missing(documents, bare.framed)).toEqual([])
      expect(stored.framed).toEqual([])

      if (site === 'files') expect(missing(documents, stored.downloads)).toEqual([])
      // That no script ran in a picture proves something only if the pictures are shown.
      expect(missing(PICTURES, bare.pictures)).toEqual([])
      expect(missing(PICTURES, stored.pictures)).toEqual([])
    })
  })

  // Each protection must suffice alone: otherwise the loss of one goes unnoticed until the other is lost too.
  test.each([
    { mount: 'download-only', met: meetings(DOCUMENT_WAYS, isRunAsDocument) },
    { mount: 'sandbox-only', met: meetings(DOCUMENT_WAYS, isRunAsDocument) },
    {
      mount: 'nosniff-only',
      met: [...meetings(CONTENT_WAYS), ...meetings(DOCUMENT_WAYS, isGuessed)],
    },
  ] as const)('a hostile file never acts where it is served $mount', async ({ mount, met }) => {
    const { acts, framed } = await meet('shop', mount, met)

    expect(acts).toEqual([])
    if (mount === 'sandbox-only') expect(framed).toEqual([])
  })
})

declare global {
  interface Window {
    outcome?: UploadOutcome
  }
}

/** Three pixels wide, one high. */
const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAIAAACUgoPjAAAADklEQVR4nGP4z8DAAMYADvsC/gkcFjQAAAAASUVORK5CYII=',
  'base64',
)

/** Ways in which only the content of a file matters, and the browser's trust in its type. */
const CONTENT_WAYS: readonly Way[] = ['script', 'stylesheet', 'worker']

/** Files that a browser can show in an `<img>`. */
const PICTURES = ['drawing.svg', 'page.gif']

const documents = HOSTILE_FILES.filter(({ isDocument }) => isDocument).map(
  ({ fileName }) => fileName,
)

/** Whether the control has shown that the file acts as a document. */
function isRunAsDocument({ runsBy }: HostileFile): boolean {
  return runsBy.includes('navigate')
}

/** Whether only a look at the content can make a browser treat the file as a document. */
function isGuessed({ isDocument }: HostileFile): boolean {
  return !isDocument
}

function meetings(
  ways: readonly Way[],
  isMet: (file: HostileFile) => boolean = () => true,
): readonly Meeting[] {
  return HOSTILE_FILES.filter(isMet).flatMap((file) => ways.map((way) => ({ file, way })))
}

/** The acts of the files on a mount without protection. */
function actsToExpect(site: SiteName): readonly string[] {
  // A page takes neither a worker nor a style sheet of a wrong type from another origin.
  const unmet: readonly Way[] = site === 'files' ? ['worker', 'stylesheet'] : ['navigate']
  return HOSTILE_FILES.flatMap(({ fileName, runsBy }) =>
    runsBy
      .filter((way) => !unmet.includes(way))
      .flatMap((way) => {
        const by = way === 'stylesheet' ? ['style'] : ['script']
        // A page opened by a person has no opener to receive a message.
        if (way !== 'stylesheet' && way !== 'navigate') by.push('message')
        return by.map((act) => `${fileName} by ${way}: ${act}`)
      }),
  )
}

function missing(expected: readonly string[], given: readonly string[]): readonly string[] {
  return expected.filter((entry) => !given.includes(entry))
}
