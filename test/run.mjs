// Runs rungs of the test ladder. The list of rungs is test/rungs/ladder/suites.json.
//
//     npm run test:rung                        prints the rungs
//     npm run test:rung -- T4 backup           runs rungs, named by ID or by name, at the size of `npm run test:all`
//     npm run test:rung -- T4 T6 --deep        the same at the large size
//     npm run test:rung -- T4 -t history       passes options, from the first one on, to vitest
//
// Environment: ROWSTASH_SEED sets the seed, ROWSTASH_RUNS the number of runs.
import process from 'node:process'
import { ended, renderSuites, startVitest, suitesOf } from './rungs/ladder/run-suite.mjs'

async function main(given) {
  if (given.length === 0) {
    console.log(renderSuites())
    return true
  }
  const rest = given.filter((word) => word !== '--deep')
  const found = rest.findIndex((word) => word.startsWith('-'))
  const [words, options] = found < 0 ? [rest, []] : [rest.slice(0, found), rest.slice(found)]
  if (words.length === 0) throw new Error('Name a rung before the options')
  const env = rest.length < given.length ? { ROWSTASH_TIER: 'deep' } : {}
  return (await ended(startVitest(suitesOf(words), { options, env, stdio: 'inherit' }))) === 0
}

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1
} catch (failure) {
  console.error(failure.message)
  process.exitCode = 1
}
