// The guarantees of every store to users of the library, on all ports.
import type { Store, StoreOptions } from '../../src/index.js'
import { joinedMaintenance, QUIET } from '../support/maintenance.js'
import type { ConformanceCase } from './case.js'
import { changeCases } from './store/change-cases.js'
import { fileCases } from './store/file-cases.js'
import { Fixture, type OpenStoreForCase, type StoreCase } from './store/fixture.js'
import { historyCases } from './store/history-cases.js'
import { keyCases } from './store/key-cases.js'
import { lifeCases } from './store/life-cases.js'
import { manyCases } from './store/many-cases.js'
import { pageCases } from './store/page-cases.js'
import { preflightCases } from './store/preflight-cases.js'
import { receiptCases } from './store/receipt-cases.js'
import { rowCases } from './store/row-cases.js'
import { stashCases } from './store/stash-cases.js'
import { tableCases } from './store/table-cases.js'
import { transactionCases } from './store/transaction-cases.js'
import { valueCases } from './store/value-cases.js'
import { testClock } from './test-clock.js'

const CASES: readonly StoreCase[] = [
  ...tableCases,
  ...rowCases,
  ...manyCases,
  ...keyCases,
  ...transactionCases,
  ...historyCases,
  ...stashCases,
  ...valueCases,
  ...pageCases,
  ...changeCases,
  ...preflightCases,
  ...receiptCases,
  ...fileCases,
  ...lifeCases,
]

/**
 * `open` opens an empty store for each case, with the given options.
 * @example
 * import { test } from 'node:test' // or any other runner
 * import { openMemory } from 'rowstash'
 * import { storeSuite } from 'rowstash/testing'
 *
 * const cases = storeSuite(openMemory)
 * for (const { name, run } of cases) test(name, run)
 * console.log(cases.length > 10) // true
 */
export function storeSuite(open: (options?: StoreOptions) => Promise<Store>): ConformanceCase[] {
  return CASES.map(({ name, options, run }) => ({
    name,
    run: async () => {
      const clock = testClock()
      const openQuiet: OpenStoreForCase = (given) =>
        open({
          clockSkewMs: Number.MAX_SAFE_INTEGER, // The test sets the clock.
          ...given,
          maintenance: joinedMaintenance(QUIET, given.maintenance),
        })
      const store = await openQuiet({ clock, ...options })
      try {
        await run(new Fixture(store, clock, openQuiet))
      } finally {
        await store.close()
      }
    },
  }))
}
