// Goal: a person sees what a store has besides tables and what a change of a row replaced, renames things, and deletes
// them. Behind a host's login, others see nothing of the page.
// Method: the page of `startServer`, and of `nodeHandler` behind a cookie of its host, in a real browser.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../adapters/http/start-server.js'
import { nodeHandler, openDirectory } from '../../adapters/node.js'
import type { Store, Table } from '../../src/index.js'
import { makeDirectory } from './opened-store.js'
import { IMAGE, MARKUP } from './shop.js'
import { copiedText, faults, HAS_BROWSER, launchBrowser, openPage, picture } from './shown-page.js'

const KEY = 'a-key-of-a-person'
const PEOPLE = [
  { id: 1, name: 'Ada', city: 'London', born: '1815-12-01' },
  { id: 2, name: 'Alan Turing', city: 'London', born: '1912-06-23' },
  { id: 3, name: 'Grace Hopper', city: 'New York', born: '1906-12-09' },
  { id: 4, name: 'Barbara Liskov', city: 'Los Angeles', born: '1939-11-07' },
  { id: 5, name: 'Edsger Dijkstra', city: 'Rotterdam', born: '1930-05-11' },
]
const KEYS = [{ key: KEY, teamId: 'default' }]

describe.skipIf(!HAS_BROWSER)('beside the tables', () => {
  let browser: Browser
  let context: BrowserContext
  let directory: Awaited<ReturnType<typeof makeDirectory>>
  let store: Store
  let people: Readonly<{ table: Table; first: string }>

  beforeAll(async () => {
    browser = await launchBrowser()
    context = await browser.newContext()
    directory = await makeDirectory(async () => undefined)
    store = await openDirectory(directory.path, { historyRetentionMs: 86_400_000 })
    const team = store.team('default')
    const file = (fileName: string, contentType: string, content: Uint8Array | string) =>
      team.files.put(content, { fileName, contentType })
    await file('cat.png', 'image/png', IMAGE)
    await file(`${MARKUP}.txt`, 'text/plain', MARKUP)
    await file('page.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>')
    await team.files.createUpload({ fileName: 'film.mp4', contentType: 'video/mp4' })
    await team.stash('left-behind').put('0', [{ n: 1 }, { n: 2 }])
    const made = await team.createTable({ name: 'People', rows: [{ id: 1, name: 'Ada' }] })
    const table = team.table(made.tableId)
    for (const name of ['Ada Byron', 'Ada Lovelace'])
      await table.updateRow(made.rowIds.get(0), { name })
    await (await team.startJob({ overwrite: { tableId: made.tableId, rows: [{ id: 1 }] } })).wait()
    await team.table(made.tableId).delete()
    const again = await team.createTable({ name: 'People', rows: PEOPLE })
    for (const change of [{ name: 'Ada Byron' }, { name: 'Ada Lovelace', born: '1815-12-10' }])
      await team.table(again.tableId).updateRow(again.rowIds.get(0), change)
    people = { table: team.table(again.tableId), first: again.rowIds.get(0) }
  })

  afterAll(async () => {
    await browser?.close()
    await store?.close()
    await directory?.remove()
  })

  async function signIn(address: string, close: () => Promise<unknown>): Promise<Page> {
    const page = await openPage(context, address)
    onTestFinished(async () => void (await close()))
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Tables' }).waitFor()
    return page
  }

  async function shown(): Promise<Page> {
    const server = await startServer(store, { keys: KEYS, port: 0, page: true })
    return signIn(`${server.url}/`, () => server.close())
  }

  test('shows files, staged rows, uploads and jobs, and deletes what is not wanted', async () => {
    const page = await shown()
    await page.getByRole('link', { name: 'Storage' }).click()
    const line = (name: string | RegExp) => page.getByRole('row', { name })
    await line(/left-behind/).waitFor()
    expect(await line(/left-behind/).innerText()).toMatch(/left-behind\s+2\s+\d.*in 2 days/)
    expect(await line(/cat\.png/).innerText()).toMatch(/image\/png\s+\d+ bytes.*in 7 days/s)
    expect(await line(/film\.mp4/).innerText()).toMatch(/video\/mp4/)
    expect(await line(/overwrite/).innerText()).toMatch(/done/)
    expect(await faults(page)).toEqual([])
    await picture(page, 'stored')

    await page.getByRole('button', { name: 'Preview of cat.png' }).click()
    const image = page.getByRole('dialog').getByRole('img')
    await expect
      .poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth))
      .toBe(72)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /Preview of .*txt/ }).click()
    await expect.poll(() => page.getByRole('dialog').locator('pre').innerText()).toBe(MARKUP)
    expect(await faults(page)).toEqual([])
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Preview of page.svg' }).click()
    await page.getByText('This type has no preview').waitFor()
    expect(await page.getByRole('dialog').getByRole('img').count()).toBe(0)
    await page.keyboard.press('Escape')
    expect(await page.title()).not.toBe('acted')

    await page.getByRole('button', { name: 'Delete page.svg' }).click()
    expect(await faults(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => line(/page\.svg/).count()).toBe(0)
    // By keyboard alone: to a preview and back, and to a deletion.
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
    const tabTo = async (name: string) => {
      for (let tabs = 0; (await focused()) !== name; tabs++) {
        expect(tabs, `the way to ${name}`).toBeLessThan(30)
        await page.keyboard.press('Tab')
      }
    }
    await page.getByRole('link', { name: 'Storage' }).focus()
    await tabTo('Preview of cat.png')
    await page.keyboard.press('Enter')
    await image.waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe('Preview of cat.png')
    await tabTo('Delete left-behind')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    const inDialog = () => page.evaluate(() => document.activeElement?.textContent)
    while ((await inDialog()) !== 'Delete') await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => line(/left-behind/).count()).toBe(0)
    expect(await store.team('default').stashes()).toEqual([])
    expect((await store.team('default').files.list()).files).toHaveLength(2)
  })

  test('shows what the changes of a row replaced, and changes names', async () => {
    const page = await shown()
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('rowheader', { name: '1', exact: true }).click()
    const pane = page.getByRole('complementary')
    await pane.getByRole('button', { name: 'Show the previous version' }).click()
    await pane.getByText('Changed in version 3', { exact: true }).waitFor()
    expect(await pane.locator('.history').innerText()).toContain('Ada Byron → Ada Lovelace')
    await pane.getByRole('button', { name: 'Show an earlier version' }).click()
    await pane.getByText('Changed in version 2', { exact: true }).waitFor()
    expect(await pane.locator('.history').innerText()).toContain('Ada → Ada Byron')
    await pane.getByRole('button', { name: 'Show an earlier version' }).click()
    await pane.getByText('Added in version 1.').waitFor()
    expect(await faults(page)).toEqual([])
    await pane.evaluate((element) => {
      element.scrollTop = element.scrollHeight
    })
    await picture(page, 'history', { width: 1_100, height: 560 })

    const steps = pane.locator('.history li')
    expect(await steps.first().innerText()).toMatch(/\d{4}/) // its date
    await page.getByRole('button', { name: 'Schema' }).click()
    await pane.getByRole('button', { name: 'Show the changes of the table' }).click()
    const changes = pane.locator('.timeline li')
    await expect.poll(() => changes.count()).toBe(3)
    expect(await changes.first().innerText()).toMatch(/Rows changed · version 3.*1 changed/s)
    expect(await changes.last().innerText()).toMatch(/Created · version 1.*5 added/s)
    expect(await faults(page)).toEqual([])
    await picture(page, 'timeline')
    await changes.last().getByRole('button').click()
    const past = page.getByRole('dialog')
    await past.getByRole('cell', { name: 'Ada', exact: true }).waitFor()
    expect(await past.getByRole('row').count()).toBe(6)
    await page.keyboard.press('Escape')

    await people.table.updateRow(people.first, { name: MARKUP })
    await page.getByRole('rowheader', { name: '1', exact: true }).click()
    await pane.getByRole('button', { name: 'Show the previous version' }).click()
    await pane.getByText('Changed in version 4', { exact: true }).waitFor()
    expect(await pane.locator('.history').innerText()).toContain(`Ada Lovelace → ${MARKUP}`)
    await page.keyboard.press('Escape')
    await page.evaluate(() => dispatchEvent(new Event('focus'))) // without waiting for the next check
    await page.getByText('it is now at version 4, and you see version 3').waitFor()
    expect(await faults(page)).toEqual([])
    await picture(page, 'newer', { width: 1_100, height: 320 })
    // What a person does before the new version arrives stays.
    let takeRoute = (_: Route): void => undefined
    const held = new Promise<Route>((done) => {
      takeRoute = done
    })
    await page.route(`**/tables/${people.table.id}`, (route) => takeRoute(route), { times: 1 })
    await page.getByRole('button', { name: 'Show the new version' }).click()

    // By keyboard alone.
    const type = async (field: string, text: string) => {
      const isThere = () =>
        page.getByLabel(field).evaluate((element) => element === document.activeElement)
      for (let tabs = 0; !(await isThere()); tabs++) {
        expect(tabs, `the way to ${field}`).toBeLessThan(20)
        await page.keyboard.press('Tab')
      }
      await page.keyboard.press('Control+a')
      await page.keyboard.type(text)
    }
    await page.getByRole('button', { name: 'Schema' }).focus()
    await page.keyboard.press('Enter')
    await type('Name of the table', 'Persons')
    await (await held).continue()
    await page.locator('.tableHead').getByText('version 4').waitFor()
    await type('Name of the column name', 'Full name')
    expect(await faults(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Persons' }).waitFor()
    await page.getByRole('columnheader', { name: 'Full name' }).waitFor()
    const [info] = await store.team('default').tables()
    expect(info).toMatchObject({ name: 'Persons', version: 5, rowCount: 5 })
  })

  test('copies a request for what is on the screen, and says that a row is newer', async () => {
    const rows = Array.from({ length: 1_500 }, (_, id) => ({ id, name: `row ${id}` }))
    const { tableId, rowIds } = await store.team('default').createTable({ name: 'Many', rows })
    const table = store.team('default').table(tableId)
    const page = await shown()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('link', { name: 'Many' }).click()
    await page.getByRole('gridcell', { name: 'row 1', exact: true }).waitFor()
    const copied = (format: string) =>
      copiedText(page, async () => {
        await page.locator('summary', { hasText: 'Copy' }).click()
        await page.getByRole('button', { name: format }).click()
      })
    const asked = async (): Promise<readonly object[]> => {
      const command = await copied('as a curl command')
      const [, url = ''] =
        /^curl -sS -H "Authorization: Bearer \$KEY" '(.*)'\n$/.exec(command) ?? []
      const answer = await fetch(url, { headers: { authorization: `Bearer ${KEY}` } })
      return ((await answer.json()) as { data: object[] }).data
    }
    const copiedRows = async () => JSON.parse(await copied('as JSON')) as readonly object[]

    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox', { name: 'Operator' }).selectOption('gte')
    await page.getByRole('textbox', { name: 'Value' }).fill('100')
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'row 100', exact: true }).waitFor()
    await page.getByRole('grid').focus()
    // The end comes nearer as matches are read.
    const goOn = async () => {
      await page.keyboard.press('Control+End')
      return page.getByRole('grid').getAttribute('aria-rowcount')
    }
    await expect.poll(goOn).toBe('1401')
    await page.keyboard.press('Control+End')
    await page.getByRole('gridcell', { name: 'row 1499', exact: true }).waitFor()
    const last = await copiedRows()
    expect(last.at(-1)).toMatchObject({ id: 1_499 })
    expect(await asked()).toEqual(last)

    await table.updateRow(rowIds.get(1_499), { name: 'changed' })
    await page.getByRole('grid').focus()
    await page.keyboard.press('Space')
    const pane = page.getByRole('complementary')
    await pane.getByText('changed in version 2, which is newer than the rows beside it').waitFor()
    expect(await pane.getByLabel('name').inputValue()).toBe('changed')
    expect(await page.getByRole('gridcell', { name: 'row 1499', exact: true }).count()).toBe(1)
    await table.delete()
  })

  test('shows what names and cells would hide, or read in another order', async () => {
    const hidden = 'gpj\u202eexe\u200b'
    const seen = String.raw`gpj\u202eexe\u200b`
    const team = store.team('default')
    const { tableId } = await team.createTable({ name: hidden, rows: [{ [hidden]: hidden }] })
    const page = await shown()
    await page.getByRole('link', { name: seen, exact: true }).click()
    await page.getByRole('heading', { name: seen }).waitFor()
    await page.getByRole('gridcell', { name: seen, exact: true }).waitFor()
    await page.getByRole('columnheader', { name: seen }).waitFor()
    expect(await page.title()).toContain(seen)
    await team.table(tableId).delete()
  })

  test('asks for a key, keeps it in the tab, and says when rows are new', async () => {
    const { tableId } = await store.team('default').createTable({ name: 'New', rows: [{ id: 1 }] })
    const server = await startServer(store, { keys: KEYS, port: 0, basePath: '/data', page: true })
    onTestFinished(() => server.close())
    const page = await openPage(context, `${server.url}/`)
    await page.getByLabel('API key').waitFor()
    expect(await faults(page)).toEqual([])
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'New' }).click()
    await page.getByRole('gridcell', { name: '1', exact: true }).waitFor()
    const kept = await page.evaluate(() => [{ ...localStorage }, document.cookie, location.href])
    expect(JSON.stringify(kept)).not.toContain(KEY)

    await store
      .team('default')
      .table(tableId)
      .addRows([{ id: 2 }])
    await page.evaluate(() => dispatchEvent(new Event('focus'))) // without waiting for the next check
    await page.getByText('it is now at version 2').waitFor()
    expect(await page.locator('.place').innerText()).toBe('1–1 of 1')
    // Rows found now belong to the new version, so they are not shown as rows of the old one.
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('textbox', { name: 'Value' }).fill('2')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('.place').innerText()).toBe('No rows')
    await page.getByRole('button', { name: 'Show the new version' }).click()
    await page.getByRole('gridcell', { name: '2', exact: true }).waitFor()
    expect(await page.locator('.place').innerText()).toBe('1–1 of 1')
    expect(await page.getByText('it is now at version 2').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => page.locator('.place').innerText()).toBe('1–2 of 2')
    await store.team('default').table(tableId).delete()
  })

  test('keeps the place in a table that has changed, also among the matches of a filter', async () => {
    const rows = Array.from({ length: 3_000 }, (_, id) => ({ id, name: `row ${id}` }))
    const { tableId } = await store.team('default').createTable({ name: 'Long', rows })
    const table = store.team('default').table(tableId)
    const page = await shown()
    await page.getByRole('link', { name: 'Long' }).click()
    const row = (id: number) => page.getByRole('gridcell', { name: `row ${id}`, exact: true })
    const place = () => page.locator('.place').innerText()
    const look = () => page.evaluate(() => dispatchEvent(new Event('focus')))
    const scrollTo = (position: number) =>
      page.getByRole('grid').evaluate((grid, at) => {
        grid.scrollTop = at * 30 + 11
      }, position)
    const showNewer = () => page.getByRole('button', { name: 'Show the new version' }).click()

    await row(1).waitFor()
    await scrollTo(2_000)
    await row(2_005).waitFor()
    const before = await place()
    await table.addRows([{ id: 3_000, name: 'row 3000' }])
    await look()
    await showNewer()
    await expect.poll(place).toBe(before.replace('3,000', '3,001'))
    await row(2_005).waitFor()

    // The answer to an earlier query arrives late, and shows nothing outdated.
    let answer = (): void => undefined
    const held = new Promise<void>((done) => {
      answer = done
    })
    let isAsked = false
    await page.route(/\/rows$/, async (route) => {
      const old = await route.fetch()
      isAsked = true
      await held
      await route.fulfill({ response: old })
    })
    await look()
    await expect.poll(() => isAsked).toBe(true)
    await table.addRows([{ id: 3_001, name: 'row 3001' }])
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox', { name: 'Operator' }).selectOption('gte')
    await page.getByRole('textbox', { name: 'Value' }).fill('500')
    await page.keyboard.press('Enter')
    await showNewer()
    await row(500).waitFor()
    const late = page.waitForResponse(/\/rows$/)
    answer()
    await late
    await page.unroute(/\/rows$/)
    const end = async () => {
      await page.getByRole('grid').press('Control+End')
      return page.getByRole('grid').getAttribute('aria-rowcount')
    }
    await expect.poll(end).toBe('2503')
    expect(await page.getByText('it is now at version').isVisible()).toBe(false)

    await scrollTo(1_800)
    await row(2_305).waitFor()
    const found = await place()
    await table.addRows([{ id: 3_002, name: 'row 3002' }])
    await look()
    await showNewer()
    const shownPlace = async () => (await place()).split(' of ')[0]
    await expect.poll(shownPlace).toBe(found.split(' of ')[0])
    await row(2_305).waitFor()
    // The same holds where columns are chosen.
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'id' }).uncheck()
    await expect
      .poll(() => page.getByRole('gridcell', { name: '2305', exact: true }).count())
      .toBe(0)
    await row(2_305).waitFor()
    await expect.poll(shownPlace).toBe(found.split(' of ')[0])
    await table.delete()
  })

  test('asks for an admin key, and forgets it only if the server refuses it', async () => {
    const options = { keys: KEYS, adminKeys: ['a-key-of-an-admin'], port: 0, page: true }
    const server = await startServer(store, options)
    const page = await signIn(`${server.url}/`, () => server.close())
    await page.getByRole('link', { name: 'Health' }).click()
    const problem = page.locator('.page > .problem').first()
    const field = page.getByLabel('Admin key')
    await field.fill('a-wrong-key-of-an-admin')
    expect(await faults(page)).toEqual([])
    await page.keyboard.press('Enter')
    await expect.poll(() => problem.textContent()).not.toBe('')
    await field.fill('a-key-of-an-admin')
    await page.keyboard.press('Enter')
    await page.getByText('accepts writes').waitFor()
    await page.route(/\/metrics$/, (route) => route.fulfill({ status: 503 }))
    await expect.poll(() => problem.textContent()).not.toBe('')
    expect(await field.count()).toBe(0)
    await page.unroute(/\/metrics$/)
    await expect.poll(() => problem.textContent()).toBe('')
    expect(await field.count()).toBe(0)
  })

  test('behind the login of a host, nothing of it is there for others', async () => {
    const handler = nodeHandler(store, { keys: KEYS, page: true, basePath: '/admin/data' })
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://host')
      if (pathname === '/login') {
        response.setHeader('set-cookie', 'login=good; Path=/admin; HttpOnly; SameSite=Lax')
        response.end('welcome')
      } else if (request.headers.cookie === 'login=good') handler(request, response)
      else {
        response.writeHead(401, { 'content-type': 'text/html' })
        response.end('<h1>Sign in</h1>')
      }
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const [file] = (await store.team('default').files.list()).files
    const paths = ['/', '/page/app.js', '/page/session', '/tables', '/files', `/${file?.path}`]
    for (const path of paths) {
      const answer = await fetch(`${origin}/admin/data${path}`, {
        headers: { authorization: `Bearer ${KEY}` },
      })
      expect([path, answer.status, await answer.text()]).toEqual([path, 401, '<h1>Sign in</h1>'])
    }

    const page = await openPage(context, `${origin}/login`)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    await page.goto(`${origin}/admin/data/`)
    await page.getByLabel('API key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Storage' }).click()
    await page.getByRole('button', { name: 'Preview of cat.png' }).click()
    const image = page.getByRole('dialog').getByRole('img')
    await expect
      .poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth))
      .toBe(72)
    await page.context().clearCookies()
    await page.reload()
    expect(await page.locator('body').innerText()).toBe('Sign in')
  })
})
