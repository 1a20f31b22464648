// Keys of tables over HTTP: CONTRACT.md, section 5. The OpenAPI document has every answer.
import { expect, onTestFinished, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { Api } from './contract/api.js'
import { serveContract } from './contract-server.js'
import { proveKeys } from './key-requests.js'
import { send } from './plain-request.js'

async function serve() {
  const server = await serveContract((options) => openMemory(options), {
    proof: new OpenApiProof(),
  })
  onTestFinished(() => server.close())
  return server
}

test('a table gets a key, says so, refuses rows that have it twice, and loses it', async () => {
  await expect(proveKeys(await serve())).resolves.toBeUndefined()
})

test('a key that is no list of columns, or comes with other changes, is refused', async () => {
  const server = await serve()
  const { path } = await new Api(server).createTable({ rows: [{ n: 1 }] })
  for (const body of [
    { key: [] },
    { key: 'n' },
    { key: ['n', 'n'] },
    { key: ['m'] },
    { key: [1] },
    { key: ['n'], name: 'x' },
  ]) {
    expect((await send(server, 'PATCH', path, { body })).status).toBe(400)
  }
  expect((await send(server, 'PUT', path, { body: { key: ['n'], rows: [] } })).status).toBe(400)
})
