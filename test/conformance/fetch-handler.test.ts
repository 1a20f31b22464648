// Goal: the HTTP contract holds for `fetchHandler`, which uses the platform's requests and responses.
// Method: the contract suite without a server: `fetch` is the handler. A case that writes to a connection itself is
// skipped, because there is none.
import { describe, test, vi } from 'vitest'
import { type FetchHandler, fetchHandler, openMemory } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { sampleOf } from '../support/what-runs.js'
import { contractServer, CONTRACT_KEYS as keys } from './contract-server.js'
import { contractSuite } from './contract-suite.js'
import { contractSources as sources } from './fake-sources.js'

/** The failure of a case that needs a connection. */
const { NoConnection } = vi.hoisted(() => ({ NoConnection: class extends Error {} }))

vi.mock('./contract/raw-http.js', async (original) => ({
  ...(await original<object>()),
  RawConnection: class {
    constructor() {
      throw new NoConnection()
    }
  },
  sendRaw: () => Promise.reject(new NoConnection()),
}))

const ORIGIN = 'https://rows.example'

/** Sends requests of this test to a handler, until it is closed. */
function fetchFrom(handler: FetchHandler): Readonly<{ close: () => Promise<void> }> {
  let isClosed = false
  const send: typeof fetch = async (url, init) => {
    if (isClosed) throw new TypeError('fetch failed: the server was closed')
    return handler(new Request(url, init))
  }
  vi.stubGlobal('fetch', send)
  return {
    async close() {
      isClosed = true
    },
  }
}

describe('the contract over fetchHandler, under a base path', () => {
  const proof = new OpenApiProof()
  const suite = contractSuite(async () => {
    const basePath = '/api/v2'
    return contractServer((options) => openMemory({ ...options, sources }), {
      proof,
      serve: async (store) => {
        const handler = fetchHandler(store, { keys, basePath, onFailure: console.error })
        return { url: ORIGIN + basePath, ...fetchFrom(handler) }
      },
    })
  })

  for (const { name, run } of sampleOf(suite)) {
    test(name, async (context) => {
      try {
        await run()
      } catch (failure) {
        if (!(failure instanceof NoConnection)) throw failure
        context.skip('it needs a connection')
      }
    })
  }
})
