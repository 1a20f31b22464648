// A server in one call.
import { expect, onTestFinished, test } from 'vitest'
import { type StartServerOptions, startServer } from '../../../adapters/http/start-server.js'
import { openMemory, type Store } from '../../../src/index.js'

const keys = [{ key: 'a-key-of-a-team-of-mine', teamId: 'team' }]

async function memory(): Promise<Store> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return store
}

test('a server serves the contract below its URL until it is closed; the store stays open', async () => {
  const store = await memory()
  const server = await startServer(store, { keys, port: 0, basePath: '/api' })
  const headers = { authorization: 'Bearer a-key-of-a-team-of-mine' }

  const { status } = await fetch(`${server.url}/tables`, { headers })
  await server.close(0)

  expect(status).toBe(200)
  expect(server.url).toBe(`http://127.0.0.1:${server.address.port}/api`)
  await expect(fetch(`${server.url}/tables`)).rejects.toThrow('fetch failed')
  expect(store.status().writable).toBe(true)
})

test('a server on every address has a URL of this machine', async () => {
  const server = await startServer(await memory(), { keys, port: 0, host: '0.0.0.0' })
  onTestFinished(() => server.close(0))

  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
})

test('a port in use is the failure of the system', async () => {
  const store = await memory()
  const first = await startServer(store, { keys, port: 0 })
  onTestFinished(() => first.close(0))

  const second = startServer(store, { keys, port: first.address.port })

  await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

test.each([
  [{ port: 65_536 }, /^Option "port" must be an integer from 0 to 65535/],
  [{ host: 8080 }, /^Option "host" must be an address, not 8080/],
  [{ connections: { max: 1 } }, /^Option "max" is not an option of/],
  [{ portt: 1 }, /^Option "portt" is not an option of/],
])('an option that is not as it must be is refused: %j', async (options, message) => {
  const started = startServer(await memory(), { keys, ...options } as StartServerOptions)

  await expect(started).rejects.toThrow(message)
})
