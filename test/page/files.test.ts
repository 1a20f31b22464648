// Goal: the page makes the same table of a file as the command, with the same report, and refuses what the command
// refuses, in the same words.
// Method: the files of test/intake, chosen one after another in a browser. Options are chosen above the preview. The
// command's report is converted to the words of the page.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shownText } from '../../adapters/page/browser/base/dom.js'
import * as TEXT from '../../adapters/page/browser/base/texts.js'
import type { IntakeReport } from '../../src/client/client.js'
import { CSV_FILES } from '../intake/csv-files.js'
import type { FileCase } from '../intake/file-case.js'
import { OTHER_FILES } from '../intake/other-files.js'
import { KEY, openWays, type Source, type Ways } from '../intake/ways.js'
import { HAS_BROWSER, launchBrowser } from './shown-page.js'

const FILES = Object.entries({ ...CSV_FILES, ...OTHER_FILES })

/** Options of a dialect without a choice in the page: such files need the command. */
const WITHOUT_CHOICE = [
  'skipLines',
  'comment',
  'quotes',
  'quote',
  'escape',
  'trim',
  'currency',
  'booleans',
  'nulls',
  'blankLines',
  'extraFields',
  'columns',
]

/** Advice that the command prints in other lines, not as a warning. */
const TOLD_OTHERWISE = /^(?:The rows are those of the array|Objects in rows became)/

type Said = Source['said']

/** The choices in the page for given options; undefined: there is no choice for one of them. */
function choicesOf({ decimal, thousands, ...said }: Said): readonly [string, string][] | undefined {
  const isBeyond = Object.entries(said).some(
    ([name, value]) => WITHOUT_CHOICE.includes(name) || typeof value !== 'string',
  )
  if (isBeyond) return undefined
  const mark = decimal ?? (thousands === '.' ? ',' : '.')
  const isOfNumbers = decimal !== undefined || thousands !== undefined
  const numbers: [string, string][] = isOfNumbers ? [['numbers', mark + (thousands ?? '')]] : []
  return [...numbers, ...(Object.entries(said) as [string, string][])]
}

describe.skipIf(!HAS_BROWSER)('the files of the intake in the page', () => {
  let ways: Ways
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    ways = await openWays()
    browser = await launchBrowser()
    page = await browser.newPage()
    await page.goto(`${ways.url}/#/import`)
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.locator('#file').waitFor({ state: 'attached' })
  })
  afterAll(async () => {
    await browser?.close()
    await ways?.close()
  })

  async function choose(name: string, { bytes, given = {} }: FileCase): Promise<void> {
    await expect.poll(() => page.locator('progress').count()).toBe(0)
    await page.locator('#file').setInputFiles({
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(bytes as Uint8Array),
    })
    await page.getByRole('heading', { name: `${name} ` }).waitFor()
    for (const [option, value] of choicesOf(given) ?? []) {
      if (option !== 'at') await page.locator(`#dialect-${option}`).selectOption(value)
      else await page.locator('#at').fill(value)
      await page.locator('#at').dispatchEvent('change')
    }
    await page.locator('.preview > *').first().waitFor()
  }

  async function begin(): Promise<void> {
    const button = page.getByRole('button', { name: 'Import', exact: true })
    await button.click()
  }

  /** A report in the words of the page. */
  function wordsOf({ format, encoding, delimiter, headerLine, advice }: IntakeReport) {
    const known = Object.entries<string>(TEXT.delimiters).find(([mark]) => mark === delimiter)
    const fields =
      delimiter === undefined
        ? []
        : [TEXT.delimitedBy(known?.[1] ?? delimiter), TEXT.headerLine(headerLine)]
    const read = TEXT.readAs([format.toUpperCase(), encoding, ...fields])
    return [read, ...advice.map(TEXT.advice).filter((text) => text !== '')].map(shownText)
  }

  const taken = FILES.filter(([, { given = {} }]) => choicesOf(given) !== undefined)

  test('all but those that need an option of the command can be said', () => {
    const left = FILES.filter((file) => !taken.includes(file))
    const options = new Set(left.flatMap(([, { given = {} }]) => Object.keys(given)))
    expect(taken.length).toBeGreaterThanOrEqual(80)
    options.delete('header') // names without a line
    expect(WITHOUT_CHOICE).toEqual(expect.arrayContaining([...options]))
  })

  test.each(taken)('%s', async (name, file) => {
    const refused = file.columns === undefined ? file.refused : file.refusedBy?.['page']
    await choose(name, file)
    if (refused !== undefined) {
      // Most files are refused earlier. An import that the server refuses is begun.
      const begins = page.getByRole('button', { name: 'Import', exact: true })
      await begins.click({ timeout: 1_000 }).catch(() => undefined)
      const told = () => page.locator('.steps').innerText()
      await expect.poll(async () => (await told()).toLowerCase()).toContain(refused.toLowerCase())
      return
    }
    await begin()
    await page.getByRole('heading', { name: 'The import is complete.' }).waitFor()
    const link = page.getByRole('link', { name: 'Show the table' })
    const tableId = (await link.getAttribute('href'))?.split('/').at(-1) ?? ''
    const made = await ways.tableOf(tableId)

    const printed = await ways.printedBy({
      name,
      bytes: (typeof file.bytes === 'string'
        ? new TextEncoder().encode(file.bytes)
        : file.bytes) as Source['bytes'],
      said: file.given ?? {},
    })
    expect(made).toEqual(await ways.tableOf(printed.tableId))
    expect([made.columns, made.rows.length]).toEqual([file.columns, printed.report.rows])
    const shown = page.locator('.steps :is(p:not(.actions), li)')
    const told = (await shown.allInnerTexts()).filter((text) => !TOLD_OTHERWISE.test(text))
    expect(told.toSorted()).toEqual(wordsOf(printed.report).toSorted())
    const rows = page.locator('.receipt dd').first()
    expect(await rows.innerText()).toBe(String(printed.report.rows))
  })
})
