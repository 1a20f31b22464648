// Goal: pages of other origins, in the browser that has opened a store, read and change nothing of it.
// Method: a hostile page tries everything that a browser lets pages do: from another port of this machine, which is the
// same site, so that a cookie would be sent; from another site; and under a name that resolves to the store.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  HAS_BROWSER,
  HOSTILE_NAME,
  makeShownDirectory,
  type ShownDirectory,
  showDirectory,
} from './shown-page.js'

const SECRET = 'only-for-whoever-opened-it'
const ROW = '[{"name":"planted"}]'

/** Runs in the hostile page. @returns what it has learned, by way */
const ATTACK = `async ({ origin, tableId, row, token }) => {
  const learned = {}
  const attempt = async (name, work, msMax = 3_000) => {
    const given_up = new Promise((done) => setTimeout(done, msMax, 'nothing'))
    learned[name] = await Promise.race([work().then(String, (failure) => 'failed: ' + failure), given_up])
  }
  const rows = origin + '/tables/' + tableId + '/rows'
  const settled = (element, address) => new Promise((done) => {
    element.onload = () => done('loaded')
    element.onerror = () => done('refused')
    element.src = address
    document.body.append(element)
  })
  for (const mode of ['cors', 'no-cors']) {
    const options = { mode, credentials: 'include' }
    for (const path of ['/', '/?token=' + token, '/#token=' + token, '/tables', '/page/session', '/metrics'])
      await attempt(mode + ' ' + path, async () => {
        const answer = await fetch(origin + path, options)
        return answer.status + ' ' + await answer.text()
      })
    const headers = { authorization: 'Bearer ' + token }
    await attempt(mode + ' exchange', async () => {
      const answer = await fetch(origin + '/page/session', { ...options, method: 'POST', headers })
      return answer.status + ' ' + await answer.text()
    })
    for (const type of ['text/plain', 'text/csv', 'application/json']) {
      const post = { ...options, method: 'POST', body: row, headers: { 'content-type': type } }
      await attempt(mode + ' POST ' + type, async () => {
        const answer = await fetch(rows, post)
        return answer.status + ' ' + await answer.text()
      })
    }
    await attempt(mode + ' DELETE', async () => (await fetch(rows.slice(0, -5), { ...options, method: 'DELETE' })).status)
  }
  for (const path of ['/tables', rows.slice(origin.length), '/page/session'])
    await attempt('script ' + path, () => settled(document.createElement('script'), origin + path), 60_000)
  await attempt('image', () => settled(new Image(), origin + '/tables'))
  await attempt('beacon', async () => navigator.sendBeacon(rows, row))
  for (const path of ['/', '/tables', '/#token=' + token]) await attempt('frame ' + path, async () => {
    const frame = document.createElement('iframe')
    await settled(frame, origin + path)
    return frame.contentDocument === null ? 'foreign' : frame.contentDocument.body.innerText
  })
  await attempt('form', async () => {
    const frame = document.createElement('iframe')
    frame.name = 'form'
    document.body.append(frame)
    const form = document.createElement('form')
    Object.assign(form, { method: 'post', action: rows, target: 'form', enctype: 'text/plain' })
    const field = document.createElement('input')
    Object.assign(field, { name: row.slice(0, -2) + ',"x":"', value: '"}]' })
    form.append(field)
    document.body.append(form)
    const over = new Promise((done) => { frame.onload = () => done('loaded') })
    form.submit()
    return over
  })
  await attempt('window', async () => {
    const opened = window.open(origin + '/')
    await new Promise((done) => setTimeout(done, 300))
    const text = opened === null ? 'blocked' : opened.document.body.innerText
    opened?.close()
    return text
  })
  return learned
}`

describe.skipIf(!HAS_BROWSER)('a page of another origin', () => {
  let directory: ShownDirectory<string>
  let hostile: Server
  let port: number
  /** The headers that the browser has sent to the hostile server. */
  const sent: IncomingHttpHeaders[] = []

  beforeAll(async () => {
    directory = await makeShownDirectory(async (store) => {
      const rows = [{ name: SECRET }]
      return (await store.team('default').createTable({ name: SECRET, rows })).tableId
    }, '--write')
    hostile = createServer(({ headers }, answer) => {
      sent.push(headers)
      answer.writeHead(200, { 'content-type': 'text/html' })
      answer.end('<!doctype html><title>hostile</title><body>')
    })
    hostile.listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    port = (hostile.address() as AddressInfo).port
  })

  afterAll(async () => {
    hostile?.closeAllConnections()
    hostile?.close()
    await directory?.remove()
  })

  /** Opens an address in the browser with the session. @returns what its page has learned and done */
  async function attackFrom(address: string): Promise<Readonly<Record<string, string>>> {
    const page: Page = await directory.context.newPage()
    onTestFinished(() => page.close())
    await page.goto(address)
    const { origin, made: tableId, token } = directory
    const given = JSON.stringify({ origin, tableId, row: ROW, token })
    return (await page.evaluate(`(${ATTACK})(${given})`)) as Record<string, string>
  }

  test.each([
    ['another port of this machine', '127.0.0.1'],
    ['another name of this machine', 'localhost'],
    ['another site', HOSTILE_NAME],
  ])('of %s reads and changes nothing', async (_, host) => {
    const learned = await attackFrom(`http://${host}:${port}/`)

    // Every way was tried, and none gave data.
    expect(Object.keys(learned).length).toBeGreaterThan(25)
    expect(JSON.stringify(learned)).not.toContain(SECRET)
    for (const [way, result] of Object.entries(learned)) {
      expect([way, result]).toEqual([way, expect.not.stringMatching(/^20\d/)])
    }
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.filter(({ cookie, authorization }) => cookie ?? authorization)).toEqual([])
    for (const way of Object.keys(learned).filter((name) => name.startsWith('script '))) {
      expect([way, learned[way]]).toEqual([way, 'refused'])
    }
    const page = await showDirectory(directory) // The session continues, and the table is unchanged.
    await page.getByRole('link', { name: SECRET }).click()
    await page.getByRole('gridcell', { name: SECRET }).waitFor()
    expect(await page.locator('.place').innerText()).toBe('1–1 of 1')
  })

  test('of a name that leads to the store gets nothing under that name', async () => {
    const own = new URL(directory.origin).port
    const page = await directory.context.newPage()
    onTestFinished(() => page.close())
    for (const path of ['/', '/tables', '/page/app.js', '/page/session']) {
      const answer = await page.goto(`http://${HOSTILE_NAME}:${own}${path}`)
      expect([path, answer?.status()]).toEqual([path, 421])
      expect([path, answer?.headers()['set-cookie']]).toEqual([path, undefined])
    }
    const read = await page.evaluate(async () => (await fetch('/tables')).status)
    expect(read).toBe(421)
  })
})
