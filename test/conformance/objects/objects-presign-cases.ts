// The rules for an ObjectStore that signs uploads itself. A store without `presignPut` passes: every upload then goes
// through the store.
import assert from 'node:assert/strict'
import type { ObjectStore } from '../../../src/objects/objects.js'
import { bytes, text } from '../kv/kv-support.js'

const ID = '0123456789abcdef0000000000000003'
const TERMS = { contentType: 'text/plain', contentLength: 5, bytesMax: 5, ttlMs: 60_000 }

function putTo(url: string, body: string): Promise<Response> {
  return fetch(url, { method: 'PUT', headers: { 'content-type': TERMS.contentType }, body })
}

type ObjectRules = Readonly<Record<string, (objects: ObjectStore) => Promise<void>>>

export const presignCases: ObjectRules = {
  'what is put at a URL that it signed is an object, and may be put again': async (objects) => {
    if (objects.presignPut === undefined) return
    const url = await objects.presignPut(ID, TERMS)
    assert.ok(/^https?:$/.test(new URL(url).protocol), 'the URL is absolute')
    assert.equal(await objects.get(ID), null)
    for (const content of ['first', 'again']) {
      const answer = await putTo(url, content)

      assert.ok(answer.ok, `the PUT succeeds, not ${answer.status}`)
      assert.equal(text(await objects.get(ID)), content)
      assert.deepEqual(await objects.list(''), [ID])
    }
  },

  'a URL that it signed is good for its own object only': async (objects) => {
    if (objects.presignPut === undefined) return
    const url = await objects.presignPut(ID, TERMS)
    const other = `${ID.slice(0, -1)}4`
    await objects.put(other, bytes('other'))
    const answer = await putTo(url.replace(ID, other), 'wrong')

    assert.ok(!answer.ok, 'a URL that was changed is refused')
    assert.equal(text(await objects.get(other)), 'other')
  },
}
