// The requests of a table with a key: CONTRACT.md, section 5.
import assert from 'node:assert/strict'
import { Api } from './contract/api.js'
import type { ContractServer } from './contract-suite.js'
import { send } from './plain-request.js'

/** Gives a table a key, checks that every operation refuses rows with duplicate keys, and removes the key. */
export async function proveKeys(server: ContractServer): Promise<void> {
  const { path, rowIds } = await new Api(server).createTable({ rows: [{ n: 1 }, { n: 2 }] })
  const ask = (method: string, below: string, body?: unknown) =>
    send(server, method, `${path}${below}`, body === undefined ? {} : { body })
  const dataOf = async () => ((await ask('GET', '')).json as { data: { key?: unknown } }).data
  const answers = async (status: number, method: string, below: string, body: unknown) => {
    assert.equal((await ask(method, below, body)).status, status)
  }

  await answers(200, 'PATCH', '', { key: ['n'] })
  assert.deepEqual((await dataOf()).key, ['n'])
  const refused = await ask('POST', '/rows', [{ n: 3 }, { n: 2 }])
  assert.equal(refused.status, 422)
  const text = JSON.stringify(refused.json)
  assert.ok(text.includes('key_not_unique') && text.includes(`row '${rowIds[1]}'`), text)
  await answers(422, 'PATCH', `/rows/${rowIds[0]}`, { n: 2 })
  await answers(422, 'PUT', '', [{ n: 5 }, { n: 5 }])
  await answers(200, 'PUT', '', [{ n: 5 }, { n: 6 }])
  await answers(422, 'POST', '/rows', [{ n: 6 }])
  await answers(200, 'PATCH', '', { key: null })
  await answers(201, 'POST', '/rows', [{ n: 6 }])
  await answers(422, 'PATCH', '', { key: ['n'] })
  assert.equal('key' in (await dataOf()), false)
}
