// The suite of the store where it is quickest: for mutants only, as `npm test` runs it in a directory too.
import { describe, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { storeSuite } from '../conformance/store-suite.js'

describe('a store in memory', () => {
  for (const { name, run } of storeSuite(openMemory)) test(name, run)
})
