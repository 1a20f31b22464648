// Runs rungs of the test ladder. The list of rungs is test/rungs/ladder/suites.json.
//
//     npm run test:rung                        prints the rungs
//     npm run test:rung -- T4 backup           runs rungs, named by ID or by name, at the size of `npm run test:all`
//     npm run test:rung -- T4 -t history       passes options, from the first one on, to vitest
//     npm run test:rung -- T4 T6 --deep        runs the large size, one rung after the other
//     npm run test:rung -- --deep              runs the large size of all rungs
//     npm run test:rung -- --table             as --deep, at the size of `npm run test:all`
//
// `--deep` and `--table` print a table at the end and write it to test/rungs/ladder/results/, with the
// output of each rung in a file beside it.
// Environment: ROWSTASH_SEED sets the seed, ROWSTASH_RUNS the number of runs.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import {
  ended,
  problemOf,
  RESULTS,
  renderSuites,
  runSuite,
  startVitest,
  suitesOf,
} from './rungs/ladder/run-suite.mjs'

/** Words before the first option name rungs. Everything after them is for vitest, except for this runner's options. */
function parseArguments(given) {
  const own = new Set(['--deep', '--table'])
  const rest = given.filter((word) => !own.has(word))
  const found = rest.findIndex((word) => word.startsWith('-'))
  const words = found < 0 ? rest : rest.slice(0, found)
  return {
    suites: suitesOf(words),
    isPart: words.length > 0,
    isDeep: given.includes('--deep'),
    hasTable: given.some((word) => own.has(word)),
    options: found < 0 ? [] : rest.slice(found),
  }
}

function renderLine({ suite, skipped, runs, seed, seconds, violations }) {
  if (skipped !== undefined) return `| ${suite} | skipped: ${skipped} | | | |`
  const count = runs.toLocaleString('en-US')
  return `| ${suite} | ${count} | ${seed} | ${seconds.toFixed(1)} | ${violations} |`
}

function renderTable(results, tier) {
  const lines = results.flatMap(({ reports }) => reports.map(renderLine))
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0)
  const problems = results.map(problemOf).filter((problem) => problem !== null)
  const machine = `Node ${process.version}, ${process.platform}, ${cpus().length} cores`
  return [
    `# The test ladder, ${tier} size`,
    '',
    `${new Date().toISOString().slice(0, 10)}, ${machine}, ${(seconds / 60).toFixed(1)} minutes in all.`,
    '',
    '| suite | runs | seed | seconds | violations |',
    '|---|---:|---:|---:|---:|',
    ...lines,
    '',
    problems.length === 0 ? 'All rungs held.' : `**Failed:** ${problems.join('; ')}.`,
    '',
  ].join('\n')
}

/** Runs rungs one after another, and makes the table. @returns whether all of them held */
async function runWithTable({ suites, isPart, isDeep, options }) {
  const tier = isDeep ? 'deep' : 'push'
  await mkdir(RESULTS, { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-ladder-'))
  const results = []
  try {
    for (const suite of suites) {
      console.log(`${suite.id} ${suite.name}: ${suite.rule}`)
      const result = await runSuite(suite, { env: { ROWSTASH_TIER: tier }, options, folder })
      results.push(result)
      for (const line of result.reports) console.log(`    ${renderLine(line)}`)
      const problem = problemOf(result)
      const log = `test/rungs/ladder/results/${suite.id}.log`
      if (problem !== null) console.log(`    FAILED: ${problem}; see ${log}`)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  const table = renderTable(results, tier)
  await writeFile(join(RESULTS, isPart ? 'some.md' : `${tier}.md`), table)
  console.log(`\n${table}`)
  return results.every((result) => problemOf(result) === null)
}

async function main(given) {
  const parsed = parseArguments(given)
  if (parsed.hasTable) return await runWithTable(parsed)
  if (given.length === 0) {
    console.log(renderSuites())
    return true
  }
  if (!parsed.isPart) throw new Error('Name a rung before the options, or add --deep for all')
  return (
    (await ended(startVitest(parsed.suites, { options: parsed.options, stdio: 'inherit' }))) === 0
  )
}

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1
} catch (failure) {
  console.error(failure.message)
  process.exitCode = 1
}
