// The store suite on the fastest store, only for mutants: `npm test` runs it in a directory too.
import { describe, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { storeSuite } from '../conformance/store-suite.js'

describe('a store in memory', () => {
  for (const { name, run } of storeSuite(openMemory)) test(name, run)
})
