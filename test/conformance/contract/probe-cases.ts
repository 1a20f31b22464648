// CONTRACT.md, section 13: probes.
import assert from 'node:assert/strict'
import type { ContractCase } from './api.js'

const PROBES = ['/healthz', '/readyz']

export const probeCases: readonly ContractCase[] = PROBES.flatMap((probe): ContractCase[] => [
  {
    name: `GET ${probe} answers 200 with or without a key`,
    run: async (api) => {
      for (const key of [null, 'nobody-has-this-key', api.server.key]) {
        assert.equal((await api.ok('GET', probe, { key })).text, '{}')
        assert.equal((await api.ok('GET', `${probe}/?utm=1`, { key })).text, '{}')
        await api.ok('HEAD', probe, { key })
      }
    },
  },
  {
    name: `${probe} takes no other method, and paths below it are unknown`,
    run: async (api) => {
      await api.ok('OPTIONS', probe, { key: null })
      const { status, headers } = await api.send('POST', probe, { key: null, body: {} })
      assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
      assert.equal((await api.send('GET', `${probe}/x`)).status, 404)
    },
  },
])
