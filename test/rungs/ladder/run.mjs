// Runs the suites of the test ladder at their deep size, one after the other, and prints a table.
//
//     npm run test:deep [-- script or ID of a suite …]
//
// The suites are those of suites.json, each a script of package.json that runs vitest files, which
// `npm test` runs too at their push size. The table is also written to test/rungs/ladder/results/deep.md, and all that the suites print to the files
// beside it. Environment: ROWSTASH_TIER=push runs the push sizes, ROWSTASH_SEED one seed in all suites.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'

const LADDER = dirname(fileURLToPath(import.meta.url))
const ROOT = join(LADDER, '../../..')
const RESULTS = join(LADDER, 'results')
const SUITES = JSON.parse(await readFile(join(LADDER, 'suites.json'), 'utf8'))
const TIER = process.env.ROWSTASH_TIER ?? 'deep'

/** Runs one suite. @returns its lines, and whether it ended well. */
async function runSuite({ id, script }, folder) {
  const reportFile = join(folder, `${id}.jsonl`)
  await writeFile(reportFile, '')
  const env = { ...process.env, ROWSTASH_TIER: TIER, ROWSTASH_REPORT: reportFile, NO_COLOR: '1' }
  const startedAt = performance.now()
  const child = spawn('npm', ['run', '--silent', script], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(join(RESULTS, `${id}.log`))
  child.stderr.pipe(log, { end: false })
  const exited = new Promise((resolve) => child.once('close', resolve))
  await Promise.all([pipeline(child.stdout, log, { end: false }), exited])
  log.end()
  const code = await exited
  const text = await readFile(reportFile, 'utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  const reports = lines.map((line) => JSON.parse(line))
  const seconds = (performance.now() - startedAt) / 1_000
  return { id, script, code, seconds, reports }
}

function problemOf({ script, code, reports }) {
  if (code !== 0) return `${script} failed with exit code ${code}`
  if (reports.length === 0) return `${script} reported nothing`
  const violations = reports.reduce((sum, report) => sum + (report.violations ?? 0), 0)
  return violations > 0 ? `${script} found ${violations} violations` : null
}

function renderLine({ suite, skipped, runs, seed, seconds, violations }) {
  if (skipped !== undefined) return `| ${suite} | skipped: ${skipped} | | | |`
  const count = runs.toLocaleString('en-US')
  return `| ${suite} | ${count} | ${seed} | ${seconds.toFixed(1)} | ${violations} |`
}

function renderTable(results) {
  const lines = results.flatMap(({ reports }) => reports.map(renderLine))
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0)
  const problems = results.map(problemOf).filter((problem) => problem !== null)
  const machine = `Node ${process.version}, ${process.platform}, ${cpus().length} cores`
  return [
    `# The test ladder, ${TIER} size`,
    '',
    `${new Date().toISOString().slice(0, 10)}, ${machine}, ${(seconds / 60).toFixed(1)} minutes in all.`,
    '',
    '| suite | runs | seed | seconds | violations |',
    '|---|---:|---:|---:|---:|',
    ...lines,
    '',
    problems.length === 0 ? 'All suites held.' : `**Failed:** ${problems.join('; ')}.`,
    '',
  ].join('\n')
}

function chosenSuites(words) {
  const unknown = words.filter((word) => !SUITES.some((suite) => isNamed(suite, word)))
  if (unknown.length > 0) throw new Error(`No such suite: ${unknown.join(', ')}`)
  return SUITES.filter((suite) => words.length === 0 || words.some((word) => isNamed(suite, word)))
}

function isNamed({ id, script }, word) {
  return word === id || word === script
}

async function main(words) {
  const suites = chosenSuites(words)
  await mkdir(RESULTS, { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-ladder-'))
  const results = []
  try {
    for (const suite of suites) {
      console.log(`${suite.id} ${suite.script}: ${suite.rule}`)
      const result = await runSuite(suite, folder)
      results.push(result)
      for (const line of result.reports) console.log(`    ${renderLine(line)}`)
      const problem = problemOf(result)
      if (problem !== null) console.log(`    FAILED: ${problem}; see results/${suite.id}.log`)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  const table = renderTable(results)
  await writeFile(join(RESULTS, words.length === 0 ? `${TIER}.md` : 'some.md'), table)
  console.log(`\n${table}`)
  if (results.some((result) => problemOf(result) !== null)) process.exitCode = 1
}

await main(process.argv.slice(2))
