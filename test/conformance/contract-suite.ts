// The HTTP contract as cases over a running server of any kind. Every reply of every case is also compared with the
// closed shapes in contract-shapes.ts.
import assert from 'node:assert/strict'
import type { ConformanceCase } from './case.js'
import type { ContractCase, ContractServer } from './contract/api.js'
import { Api } from './contract/api.js'
import { authCases } from './contract/auth-cases.js'
import { bodyCases } from './contract/body-cases.js'
import { clientCases } from './contract/client-cases.js'
import { convertCases } from './contract/convert-cases.js'
import { dataErrorCases } from './contract/data-error-cases.js'
import { dialectCases } from './contract/dialect-cases.js'
import { documentCases } from './contract/document-cases.js'
import { errorCases } from './contract/error-cases.js'
import { fileCases } from './contract/file-cases.js'
import { generalCases } from './contract/general-cases.js'
import { httpCases } from './contract/http-cases.js'
import { importCases } from './contract/import-cases.js'
import { inferenceCases } from './contract/inference-cases.js'
import { jobCases } from './contract/job-cases.js'
import { keptIdCases } from './contract/kept-id-cases.js'
import { keptIdHistoryCases } from './contract/kept-id-history-cases.js'
import { keptIdInputCases } from './contract/kept-id-input-cases.js'
import { listCases } from './contract/list-cases.js'
import { manyRowCases } from './contract/many-row-cases.js'
import { mergeCases } from './contract/merge-cases.js'
import { orderCases } from './contract/order-cases.js'
import { overwriteCases } from './contract/overwrite-cases.js'
import { preflightCases } from './contract/preflight-cases.js'
import { probeCases } from './contract/probe-cases.js'
import { receiptCases } from './contract/receipt-cases.js'
import { repeatCases } from './contract/repeat-cases.js'
import { rowCases } from './contract/row-cases.js'
import { schemaErrorCases } from './contract/schema-error-cases.js'
import { schemaErrorOperationCases } from './contract/schema-error-operation-cases.js'
import { schemaErrorRuleCases } from './contract/schema-error-rule-cases.js'
import { stashCases } from './contract/stash-cases.js'
import { tableCases } from './contract/table-cases.js'
import { tableLifeCases } from './contract/table-life-cases.js'
import { updateCases } from './contract/update-cases.js'
import { uploadBodyCases } from './contract/upload-body-cases.js'
import { uploadCases } from './contract/upload-cases.js'
import { uploadLocationCases } from './contract/upload-location-cases.js'
import { valueCases } from './contract/value-cases.js'
import { wideningCases } from './contract/widening-cases.js'

export type { ContractExchange, ContractServer } from './contract/api.js'

/**
 * The rules for any server of the contract. Cases share one server: the first opens it, each creates its own tables and
 * stashes in it, and the last closes it.
 *
 * @param open - Opens a server with default limits, without tables in the two teams of its keys, which
 *   knows every app, and whose store fetches URLs with `contractSources` from `rowstash/testing`.
 * @example
 * import { test } from 'node:test' // or any other runner
 * import { contractSuite } from 'rowstash/testing'
 *
 * const server = { url, key, otherKey: 'a-key-of-another-team', close: async () => {} }
 * const cases = contractSuite(async () => server)
 * for (const { name, run, skip } of cases) test(name, { skip: skip ?? false }, run)
 * console.log(cases.length > 10) // true
 */
export function contractSuite(open: () => Promise<ContractServer>): readonly ConformanceCase[] {
  let opened: Promise<Api> | undefined
  const api = () => {
    opened ??= open().then((server) => new Api(server))
    return opened
  }
  return [...CASES, closing].map(({ name, run }) => ({ name, run: async () => run(await api()) }))
}

const CASES: readonly ContractCase[] = [
  ...generalCases,
  ...orderCases,
  ...authCases,
  ...errorCases,
  ...dataErrorCases,
  ...valueCases,
  ...inferenceCases,
  ...bodyCases,
  ...dialectCases,
  ...tableCases,
  ...tableLifeCases,
  ...importCases,
  ...jobCases,
  ...listCases,
  ...overwriteCases,
  ...keptIdCases,
  ...keptIdHistoryCases,
  ...keptIdInputCases,
  ...schemaErrorCases,
  ...schemaErrorOperationCases,
  ...schemaErrorRuleCases,
  ...wideningCases,
  ...preflightCases,
  ...receiptCases,
  ...mergeCases,
  ...rowCases,
  ...manyRowCases,
  ...convertCases,
  ...updateCases,
  ...repeatCases,
  ...stashCases,
  ...uploadCases,
  ...uploadLocationCases,
  ...uploadBodyCases,
  ...fileCases,
  ...documentCases,
  ...probeCases,
  ...clientCases,
  ...httpCases,
]

/** Only a hang reaches this deadline. */
const CLOSE_MS_MAX = 60_000

const closing: ContractCase = {
  name: 'a server that answered all this still works, and closes in time',
  run: async (api) => {
    await api.ok('GET', '/tables')
    const slow = new Promise((_, reject) => {
      setTimeout(() => reject(new Error('the server did not close')), CLOSE_MS_MAX).unref()
    })
    await Promise.race([api.server.close(), slow])
    await assert.rejects(fetch(`${api.server.url}/tables`))
  },
}
