// A whole store over HTTP with its objects in S3: rows, and files whose bytes go to the bucket by signed URLs.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MemoryLevel } from 'memory-level'
import { expect, onTestFinished, test } from 'vitest'
import { nodeHandler } from '../../../adapters/http/node-http.js'
import { openS3Objects } from '../../../adapters/s3/s3-objects.js'
import { openLevelKv, openStore, type Store } from '../../../src/index.js'
import { damageOf } from '../../support/damage.js'
import { S3Double } from '../../support/s3-double.js'
import { seeded } from '../../support/seeded.js'

const KEY = 'a-long-random-text-of-the-host'

type Served = Readonly<{ double: S3Double; store: Store; url: string }>

async function serve(): Promise<Served> {
  const double = await S3Double.start()
  const objects = await openS3Objects(double.options({ keyPrefix: 'store/' }))
  const kv = await openLevelKv(new MemoryLevel())
  const store = await openStore({ kv, objects, maintenance: false, orphanGraceMs: 0 })
  const server = createServer(nodeHandler(store, { keys: [{ key: KEY, teamId: 'acme' }] }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
    await store.close()
    await double.stop()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { double, store, url }
}

async function post(url: string, body: unknown): Promise<Readonly<Record<string, string>>> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const { data } = (await answer.json()) as { data?: Record<string, string> }
  expect(answer.ok).toBe(true)
  return data ?? {}
}

test('the bytes of an upload go to the bucket, and become a file that is read through the store', async () => {
  const { double, store, url } = await serve()
  const about = { contentType: 'image/png', contentLength: 7, fileName: 'cat.png' }
  const { uploadID, uploadLocation = '' } = await post(`${url}/apps/my-app/uploads`, about)
  expect(new URL(uploadLocation).origin).toBe(new URL(String(double.options().endpoint)).origin)
  const upload = (body: string) =>
    fetch(uploadLocation, { method: 'PUT', body, headers: { 'content-type': 'image/png' } })
  expect((await upload('too many bytes')).status).toBe(403)
  expect((await upload('picture')).status).toBe(200)
  const completed = await post(`${url}/apps/my-app/uploads/${uploadID}/complete`, {})
  const file = await fetch(completed['url'] ?? '')

  expect(file.headers.get('content-type')).toBe('image/png')
  expect(await file.text()).toBe('picture')
  // The client can still write to its URL, but the file's object is now another one.
  expect((await upload('another')).status).toBe(200)
  expect(await (await fetch(completed['url'] ?? '')).text()).toBe('picture')
  await expect
    .poll(async () => {
      await store.maintain() // The first one marks what the client left, a later one deletes it.
      return double.bucket.objects.size
    })
    .toBe(1)
  expect(await (await fetch(completed['url'] ?? '')).text()).toBe('picture')
})

test('a store works while a third of the requests to S3 fail', async () => {
  const { double, store } = await serve()
  const random = seeded(5)
  double.faultOf = () =>
    random.once(3)
      ? {
          kind: random.pick(['error', 'slowDown', 'reset', 'cut', 'short']),
          effect: random.once(2),
        }
      : undefined
  const team = store.team('acme')
  const stash = team.stash('rows')
  for (let chunk = 0; chunk < 5; chunk++) {
    const rows = Array.from({ length: 1_000 }, (_, i) => ({
      id: chunk * 1_000 + i,
      text: `row ${i}`,
    }))
    await stash.put(String(chunk), rows)
  }
  const { tableId } = await team.createTable({ name: 'Rows', rows: stash })
  const table = team.table(tableId)
  await table.addRows([{ id: 5_000, text: 'last' }])
  let next = 0
  for await (const row of table.scan()) expect(row['id']).toBe(next++)
  expect(next).toBe(5_001)
  const about = { fileName: 'a.bin', contentType: 'application/octet-stream' }
  const file = await team.files.put(Buffer.alloc(300_000, 7), about)
  await table.overwrite({ rows: [{ id: 1, text: file.id }] })
  await store.maintain()
  double.faultOf = () => undefined
  await store.maintain()

  expect(await damageOf(store)).toEqual([])
})
