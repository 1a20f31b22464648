// Proves that the tests find bugs: plants one after the other in a copy of the project, and runs the test
// there that must find it, which must fail each time.
//
//     npm run test:planted [-- name of the list, or words of a bug's name]
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..')
/** Folders and configurations. */
const COPIED = /^(?:src|adapters|test|package\.json|tsconfig\.json)$/
const CONFIG = 'test/vitest.config.ts'
/**
 * Each list of bugs, and the test that must find them; where a bug names one, it is that one of `tests`. `runs`: of a
 * suite of the ladder. `isPlain`: the test is no suite of the ladder, and prints no line of one. `tries`: for bugs that show by chance only, as when a process must die in a certain millisecond.
 */
const SUITES = [
  { list: 'planted-bugs.ts', test: 'test/rungs/model/model.test.ts', only: 'in memory' },
  {
    list: 'planted-file-bugs.ts',
    test: 'test/rungs/files-model/files-model.test.ts',
    only: 'files',
  },
  {
    list: 'planted-sim-bugs.ts',
    test: 'test/rungs/sim/crash-sim.test.ts',
    only: 'history',
    runs: { planted: '3000', intact: '200' },
  },
  {
    list: 'planted-sqlite-bugs.ts',
    test: 'test/rungs/sqlite/sqlite.test.ts',
    only: 'SQLite',
    runs: { planted: '500', intact: '50' },
  },
  {
    list: 'planted-transaction-bugs.ts',
    test: 'test/rungs/sim/race.test.ts',
    only: 'transactions at once|no long operation',
    runs: { planted: '300', intact: '50' },
  },
  {
    list: 'planted-merge-bugs.ts',
    tests: {
      oracle: 'test/rungs/merge/merge.test.ts',
      beside: 'test/store/merge.test.ts',
    },
    isPlain: true,
  },
  { list: 'planted-change-bugs.ts', test: 'test/store/history.test.ts', only: '', isPlain: true },
  {
    list: 'planted-key-bugs.ts',
    test: 'test/store/keys.test.ts',
    tests: { 'changed-keys': 'test/unit/engine/changed-keys.test.ts' },
    only: '',
    isPlain: true,
  },
  { list: 'planted-job-bugs.ts', test: 'test/store/jobs.test.ts', only: '', isPlain: true },
  { list: 'planted-s3-bugs.ts', test: 'test/unit/adapters/s3-', only: '', isPlain: true },
  {
    list: 'planted-place-bugs.ts',
    tests: {
      objects: 'test/unit/adapters/postgres-objects.test.ts',
      move: 'test/commands/cli-move.test.ts',
    },
    isPlain: true,
  },
  {
    list: 'planted-postgres-bugs.ts',
    test: 'test/unit/adapters/postgres-kv.test.ts',
    only: '',
    isPlain: true,
  },
  {
    list: 'planted-incarnation-bugs.ts',
    test: 'test/store/incarnations.test.ts',
    only: '',
    isPlain: true,
  },
  { list: 'planted-find-bugs.ts', test: 'test/store/find.test.ts', only: '', isPlain: true },
  {
    list: 'planted-sharing-bugs.ts',
    test: 'test/store/shared-objects.test.ts',
    only: '',
    isPlain: true,
  },
  { list: 'planted-settle-bugs.ts', test: 'test/store/settle.test.ts', only: '', isPlain: true },
  { list: 'planted-duty-bugs.ts', test: 'test/store/duties.test.ts', only: '', isPlain: true },
  {
    list: 'planted-hint-bugs.ts',
    tests: {
      hints: 'test/store/work-hints.test.ts',
      limits: 'test/store/shared-limits.test.ts',
    },
    isPlain: true,
  },
  {
    list: 'planted-life-bugs.ts',
    tests: {
      model: 'test/rungs/model/model.test.ts',
      life: 'test/store/table-life.test.ts',
    },
    isPlain: true,
  },
  {
    list: 'planted-wipe-bugs.ts',
    tests: {
      model: 'test/rungs/model/model.test.ts',
      race: 'test/rungs/sim/race.test.ts',
      crash: 'test/rungs/sim/crash-sim.test.ts',
      'fault-loop': 'test/rungs/sim/fault-loop.test.ts',
    },
  },
  {
    list: 'planted-crash-bugs.ts',
    tests: {
      kill: 'test/rungs/crash/kill.test.ts',
      'power-cut': 'test/rungs/crash/power-cut.test.ts',
      'disk-full': 'test/rungs/crash/disk-full.test.ts',
    },
    tries: 6,
  },
  {
    list: 'planted-ladder-bugs.ts',
    tests: {
      backend: 'test/conformance/backend.test.ts',
      meta: 'test/rungs/sim/meta.test.ts',
      race: 'test/rungs/sim/race.test.ts',
      'fault-loop': 'test/rungs/sim/fault-loop.test.ts',
      'import-killed': 'test/rungs/crash/import-killed.test.ts',
      'jobs-killed': 'test/rungs/crash/jobs-killed.test.ts',
      'power-cut-root': 'test/rungs/crash/power-cut-root.test.ts',
      corrupt: 'test/rungs/corrupt/corrupt.test.ts',
      'http-fuzz': 'test/rungs/http-fuzz/http-fuzz.test.ts',
      upgrade: 'test/rungs/upgrade/upgrade.test.ts',
      backup: 'test/rungs/backup/backup.test.ts',
      'model-postgres': 'test/rungs/model/postgres-model.test.ts',
      fleet: 'test/rungs/fleet/fleet.test.ts',
      failover: 'test/rungs/failover/failover.test.ts',
      faults: 'test/rungs/failover/faults.test.ts',
    },
    env: { 'power-cut-root': { ROWSTASH_TIER: 'deep', ROWSTASH_RUNS: '6' } },
  },
]
/** Some bugs show in one run of a thousand; at this scale they are found for sure. */
const RUNS_SCALE = '4'
const INTACT_SCALE = '0.2'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

const run = promisify(execFile)

/** A module of this folder that imports no other of the project for more than its types. */
async function load(copy, file) {
  const source = await readFile(join(copy, 'test/rungs/planted', file), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  })
  const module = join(copy, file.replace('.ts', '.mjs'))
  await writeFile(module, outputText)
  return await import(pathToFileURL(module).href)
}

async function readBugs(copy, suite) {
  const { PLANTED_BUGS } = await load(copy, suite.list)
  const { list, tests = {}, tries, env = {}, isPlain } = suite
  const suites = Object.entries(tests).map(([name, test]) => {
    return { list, name, test, only: '', tries, env: env[name], isPlain }
  })
  return PLANTED_BUGS.map((bug) => {
    return { ...bug, suite: suites.find(({ name }) => name === bug.test) ?? suite }
  })
}

async function plant(copy, bug, placeOf) {
  const { path, source, start, end } = placeOf(copy, bug)
  await writeFile(path, source.slice(0, start) + bug.replace + source.slice(end))
  return () => writeFile(path, source)
}

/** The output of the test when it failed; null when it passed. */
async function runTest(copy, { test, only, runs, env: more }, scale) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const env = { ...process.env, ROWSTASH_RUNS_SCALE: scale, NO_COLOR: '1', ...more }
  if (runs !== undefined) env.ROWSTASH_RUNS = scale === INTACT_SCALE ? runs.intact : runs.planted
  const options = { cwd: copy, maxBuffer: OUTPUT_BYTES_MAX, env }
  try {
    await run(process.execPath, [vitest, 'run', '--config', CONFIG, test, '-t', only], options)
    return null
  } catch (failure) {
    return `${failure.stdout}\n${failure.stderr}`
  }
}

function describeFailure(output, { isPlain = false }) {
  const failed = /Property failed after (\d+) tests\s*\n?\{ seed: (-?\d+), path: "([^"]+)"/.exec(
    output,
  )
  if (failed === null) return isPlain ? describePlain(output) : describeAssertion(output)
  const [, runs, seed, path] = failed
  const problem = /Caused by: ([^\n]+)/.exec(output)?.[1] ?? ''
  return `found in run ${runs}, seed ${seed}, path ${path}\n      ${problem.slice(0, 300)}`
}

/** The first test that failed. */
function describePlain(output) {
  return /^ *FAIL +([^\n]+)/m.exec(output)?.[1] ?? null
}

/** The result of a test of the ladder: the line of the suite, and the first violation. */
function describeAssertion(output) {
  const suite = /^T\d[^\n]*, [1-9]\d* violations$/m.exec(output)?.[0]
  const problem =
    /^\+ {2,}"?([^\n]+)/m.exec(output)?.[1] ??
    /^(?:Assertion|Store)?Error: ([^\n]+)/m.exec(output)?.[1]
  if (suite === undefined || problem === undefined) return null
  return `${suite}\n      ${problem.slice(0, 300)}`
}

/** Runs the test up to `tries` times: a bug may not show in every run. @returns the output of the failed test. */
async function runUntilFound(copy, suite) {
  for (let run = 1; run < (suite.tries ?? 1); run++) {
    const output = await runTest(copy, suite, RUNS_SCALE)
    if (output !== null) return output
  }
  return await runTest(copy, suite, RUNS_SCALE)
}

async function main(word) {
  const copy = await mkdtemp(join(tmpdir(), 'rowstash-planted-'))
  let missed = 0
  try {
    for (const part of await readdir(ROOT)) {
      if (COPIED.test(part)) await cp(join(ROOT, part), join(copy, part), { recursive: true })
    }
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    const { placeOf } = await load(copy, 'plant.ts')
    const lists = await Promise.all(SUITES.map((suite) => readBugs(copy, suite)))
    const bugs = lists.flat().filter(({ suite, name }) => `${suite.list} ${name}`.includes(word))
    for (const bug of bugs) await (await plant(copy, bug, placeOf))() // Stale texts show before any test runs.
    console.log(`${bugs.length} bugs to plant`)
    for (const suite of new Set(bugs.map((bug) => bug.suite))) {
      const intact = await runTest(copy, suite, INTACT_SCALE)
      if (intact !== null) throw new Error(`Nothing is planted yet, and the test fails:\n${intact}`)
    }
    for (const bug of bugs) {
      const restore = await plant(copy, bug, placeOf)
      const startedAt = Date.now()
      const output = await runUntilFound(copy, bug.suite)
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
      await restore()
      const found = output === null ? null : describeFailure(output, bug.suite)
      if (found === null) missed++
      console.log(`${found === null ? 'MISSED' : 'found '}  ${bug.name} (${seconds} s)`)
      if (found !== null) console.log(`      ${found}`)
      else if (output !== null) console.log(output.slice(0, 4_000))
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
  if (missed > 0) throw new Error(`${missed} planted bugs were not found`)
}

await main(process.argv[2] ?? '')
