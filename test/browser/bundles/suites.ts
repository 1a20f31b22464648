// The suites of the two ports, on IndexedDB. They are written for Node: only here, `buffer`, `assert.ts` and a timer
// replace what they use of it.
import { Buffer } from 'buffer/'
import { Level } from 'level'
import { kvObjects, openLevelKv } from '../../../src/index.js'
import { kvSuite } from '../../conformance/kv/kv-suite.js'
import { objectsSuite } from '../../conformance/objects/objects-suite.js'

const setImmediate = (callback: () => void) => setTimeout(callback, 0)
Object.assign(globalThis, { Buffer, setImmediate })

let databases = 0

function openEmpty() {
  return openLevelKv(new Level<Uint8Array, Uint8Array>(`empty-${++databases}`))
}

const CASES = [
  ...kvSuite(openEmpty),
  ...objectsSuite(async () => kvObjects(await openEmpty())),
].map(({ name, run }) => ({ name, run }))

/** The names of the cases that fail, each with its failure. */
async function runSuites() {
  const failed: string[] = []
  for (const { name, run } of CASES) {
    await run().catch((failure: unknown) => failed.push(`${name}: ${failure}`))
  }
  return { count: CASES.length, failed }
}

Object.assign(globalThis, { runSuites })
