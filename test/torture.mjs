// `npm run torture`: the rungs of the ladder in turn, each time with a new seed, until the time is up.
//
//     npm run torture -- --minutes 60            all rungs, and adds what ran to test/rungs/ladder/record.json
//     npm run torture -- --minutes 10 T4 race    these rungs alone
//     npm run torture -- --minutes 600 --deep    at the large size
//     npm run torture -- --once --scale 0.1 T4   each once, a tenth of its runs, without a record
//     … --before                                 a seed that fails is run on the commit before, too: if it fails there,
//                                                it is told and does not decide
//
// It stops at the first failure and prints the command that repeats it. At its end it tells which operations, background
// work and faults were rarely under way at the same time.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { addToRecord, rarePairs } from './rungs/ladder/record.mjs'
import { problemOf, RESULTS, ROOT, runSuite, suitesOf } from './rungs/ladder/run-suite.mjs'

const SEEDS = 2 ** 31
const LINES_OF_LOG = 60
const MS_PER_MINUTE = 60_000

const git = (...args) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })

function parse() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '60' },
      scale: { type: 'string', default: '1' },
      deep: { type: 'boolean', default: false },
      once: { type: 'boolean', default: false },
      before: { type: 'boolean', default: false },
    },
  })
  for (const name of ['minutes', 'scale']) {
    if (!(Number(values[name]) > 0)) throw new Error(`--${name} takes a number above 0`)
  }
  return { ...values, minutes: Number(values.minutes), suites: suitesOf(positionals) }
}

/** Runs a rung with a seed. @returns the result; `problem` is null if it held */
async function runOnce(suite, { seed, size, folder }) {
  const result = await runSuite(suite, { env: { ROWSTASH_SEED: String(seed), ...size }, folder })
  for (const { suite: name, skipped, runs, seconds } of result.reports) {
    const told = skipped === undefined ? `${runs} runs, ${seconds.toFixed(1)} s` : 'skipped'
    console.log(`  ${name}: ${told}`)
  }
  return { ...result, problem: problemOf(result) }
}

async function tellFailure({ suite, problem }, { seed, size }) {
  const log = await readFile(join(RESULTS, `${suite.id}.log`), 'utf8')
  console.error(log.trimEnd().split('\n').slice(-LINES_OF_LOG).join('\n'))
  const variables = Object.entries({ ROWSTASH_SEED: seed, ...size })
  const set = variables.map(([name, value]) => `${name}=${value} `).join('')
  console.error(`\n${problem} with a new seed. To repeat it:`)
  console.error(`${set}npm run test:rung -- ${suite.id}`)
}

/** Whether the same seed fails on the previous commit; undefined: that commit or its rung is not available. */
async function failedBefore({ suite }, { seed, size }) {
  const place = await mkdtemp(join(tmpdir(), 'rowstash-before-'))
  try {
    if (git('worktree', 'add', '--detach', place, 'HEAD~1').status !== 0) return undefined
    await symlink(join(ROOT, 'node_modules'), join(place, 'node_modules'))
    const env = { ...process.env, ROWSTASH_SEED: String(seed), ...size }
    const run = spawnSync(process.execPath, ['test/run.mjs', suite.id], { cwd: place, env })
    return run.status !== 0
  } finally {
    git('worktree', 'remove', '--force', place)
    await rm(place, { recursive: true, force: true })
  }
}

async function main({ suites, minutes, scale, deep, once, before }) {
  const size = { ROWSTASH_RUNS_SCALE: scale, ...(deep && { ROWSTASH_TIER: 'deep' }) }
  await mkdir(RESULTS, { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-torture-'))
  const startedAt = performance.now()
  const end = startedAt + minutes * MS_PER_MINUTE
  let recorded = {}
  try {
    for (let round = 1; ; round++) {
      for (const suite of suites) {
        if (!once && performance.now() >= end) return true
        const seed = randomInt(SEEDS)
        console.log(`round ${round}: ${suite.id} ${suite.name}, seed ${seed}`)
        const run = await runOnce(suite, { seed, size, folder })
        if (run.problem !== null) {
          await tellFailure(run, { seed, size })
          if (!before || !(await failedBefore(run, { seed, size }))) return false
          console.error(
            'The commit before fails with this seed, too: this change did not cause it.',
          )
        } else if (!once) recorded = await addToRecord(run.reports, run.seconds)
      }
      if (once) return true
    }
  } finally {
    tellRarePairs(recorded)
    await rm(folder, { recursive: true })
  }
}

const RARE_TOLD = 40

function tellRarePairs(suites) {
  const rare = rarePairs(suites)
  if (rare.length === 0) return
  console.log(
    `\n${rare.length} pairs were under way together less than 1,000 times on this commit; the rarest:`,
  )
  console.log(rare.slice(0, RARE_TOLD).join('\n'))
}

try {
  process.exitCode = (await main(parse())) ? 0 : 1
} catch (failure) {
  console.error(failure.message)
  process.exitCode = 1
}
