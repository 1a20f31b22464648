// A server of the contract for the suite.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hardenServer, loadParquet, nodeHandler, serverOptions } from '../../adapters/node.js'
import type { ContractOptions, Store, StoreOptions } from '../../src/index.js'
import type { Exchange, OpenApiProof } from '../support/openapi-proof.js'
import type { ContractExchange, ContractServer } from './contract-suite.js'
import { testClock } from './test-clock.js'

const KEY = 'a-key-of-the-first-team'
const OTHER_KEY = 'a-key-of-the-second-team'

/** The keys of the two teams. */
export const CONTRACT_KEYS = [
  { key: KEY, teamId: 'first' },
  { key: OTHER_KEY, teamId: 'second' },
] as const

type ServeOptions = Readonly<{ basePath?: string; proof: OpenApiProof }> & Partial<ContractOptions>

/** A server over a store that was opened for it. */
type Served = Readonly<{ url: string; close: () => Promise<void> }>

type ContractServerOptions = Readonly<{
  proof: OpenApiProof
  serve: (store: Store) => Promise<Served>
}>

/** Opens a store, and serves it to the suite. An answer that the OpenAPI document lacks is a failure. */
export async function contractServer(
  open: (options: StoreOptions) => Promise<Store>,
  { proof, serve }: ContractServerOptions,
): Promise<ContractServer> {
  const clock = testClock(() => Date.now())
  const store = await open({ clock, clockSkewMs: Number.MAX_SAFE_INTEGER })
  const { url, close } = await serve(store)
  return {
    url,
    key: KEY,
    otherKey: OTHER_KEY,
    onExchange: (exchange) => {
      const problems = proof.check(describedExchange(exchange))
      assert.deepEqual(problems, [], 'the OpenAPI document has another answer')
    },
    async later(milliseconds) {
      clock.pass(milliseconds)
      await store.maintain()
    },
    async close() {
      await close()
      await store.close()
    },
  }
}

/** Opens a store, and serves it over `node:http`. */
export function serveContract(
  open: (options: StoreOptions) => Promise<Store>,
  { proof, ...options }: ServeOptions,
): Promise<ContractServer> {
  return contractServer(open, { proof, serve: (store) => listen(store, options) })
}

async function listen(
  store: Store,
  { basePath = '', ...options }: Omit<ServeOptions, 'proof'>,
): Promise<Served> {
  const handler = nodeHandler(store, {
    basePath,
    keys: CONTRACT_KEYS,
    parquet: await loadParquet(),
    onFailure: (failure) => console.error(failure),
    ...options,
  })
  const server = hardenServer(createServer(serverOptions, handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${basePath}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      await closed
    },
  }
}

function describedExchange({ headers, request, ...exchange }: ContractExchange): Exchange {
  return {
    ...exchange,
    headers: new Map(headers),
    request: { headers: new Map(request.headers), text: request.text },
  }
}
