// Goal: a table of a million rows is as fast to view as a small one.
// Method: open it, go to the middle, scroll through all of it. With ROWSTASH_PAGE_ROWS, by hand on an idle machine, it
// also prints the times and the longest tasks of the tab, and asserts its bounds. Otherwise no times are asserted,
// because the machine may be busy.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillShop } from './shop.js'
import {
  HAS_BROWSER,
  makeShownDirectory,
  rendererMemory,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'
import { traced } from './trace-tab.js'

const GIVEN = process.env['ROWSTASH_PAGE_ROWS']
const ROWS = Number(GIVEN ?? 10_000)

/** Bounds of a measurement by hand: milliseconds, and bytes of private memory of the tab. */
const BOUNDS = { firstRowMs: 300, middleMs: 200, frameMs: 50, memory: 150e6 }

/** Runs in the page before its own script: records when the first frame with a row has ended. */
const NOTE_FIRST_ROW = `{
  const look = () => {
    const cell = document.querySelector('.row:not(.head):not(.waiting) [role=gridcell]')
    if (cell === null || cell.textContent === '') requestAnimationFrame(look)
    else requestAnimationFrame(() => { window.firstRowMs = performance.now() })
  }
  look()
}`

/** Frames per way of scrolling; a second has 60. */
const STEPS = GIVEN === undefined ? 40 : 300

/** Runs in the page: goes to the middle, and waits until its rows are there. @returns milliseconds */
const TO_MIDDLE = `async () => {
  const grid = document.querySelector('[role=grid]')
  const began = performance.now()
  grid.scrollTop = (grid.scrollHeight - grid.clientHeight) / 2
  const isThere = () => [...grid.querySelectorAll('.row:not(.head):not([hidden])')].every((row) => {
    const at = Number(row.getAttribute('aria-rowindex')) / ${ROWS}
    return at > 0.49 && at < 0.51 && !row.classList.contains('waiting')
  })
  do await new Promise(requestAnimationFrame); while (!isThere())
  return performance.now() - began
}`

/** Runs in the page: scrolls through the whole table, by wheel and by jumps. @returns the times of the frames */
const THROUGH_ALL = `async () => {
  const grid = document.querySelector('[role=grid]')
  const frames = []
  let last = performance.now()
  const frame = async () => {
    const now = await new Promise(requestAnimationFrame)
    frames.push(now - last)
    last = now
  }
  grid.scrollTop = 0
  for (let step = 0; step < ${STEPS}; step++) { grid.scrollTop += 90; await frame() }
  const jump = grid.scrollHeight / ${STEPS}
  for (let step = 0; step <= ${STEPS}; step++) { grid.scrollTop += jump; await frame() }
  return { longest: Math.max(...frames), slow: frames.filter((ms) => ms > 50).length, frames: frames.length }
}`

describe.skipIf(!HAS_BROWSER)(`a table of ${ROWS} rows`, () => {
  let directory: ShownDirectory<string>

  beforeAll(async () => {
    directory = await makeShownDirectory((store) => fillShop(store, ROWS))
  })

  afterAll(() => directory?.remove())

  test('is scrolled through to its last row', async () => {
    const page = await showDirectory(directory)
    await page.goto(`${page.url().split('#')[0]}#/table/${directory.made}`)
    await page.addInitScript(NOTE_FIRST_ROW)
    await page.reload()
    const drawn = () => page.evaluate('window.firstRowMs ?? 0') as Promise<number>
    await expect.poll(drawn).toBeGreaterThan(0)
    const firstRowMs = await drawn()
    const middleMs = (await page.evaluate(`(${TO_MIDDLE})()`)) as number
    const through = () => page.evaluate(`(${THROUGH_ALL})()`)
    const [given, tasks] = GIVEN === undefined ? [await through()] : await traced(page, through)
    const frames = given as { longest: number; slow: number; frames: number }
    const last = page.getByRole('rowheader', { name: String(ROWS), exact: true })
    await last.waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(60)

    if (GIVEN === undefined) return
    const memory = Math.max(...(await rendererMemory(directory.browser)))
    const found = { firstRowMs, middleMs, frameMs: frames.longest, memory }
    console.log(JSON.stringify({ ROWS, ...found, frames, tasks }))
    for (const [name, bound] of Object.entries(BOUNDS))
      expect.soft(found[name as keyof typeof BOUNDS], name).toBeLessThanOrEqual(bound)
  })
})
