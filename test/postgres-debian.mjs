// Runs the suites on Debian's PostgreSQL, with a synchronous standby and PgBouncer in transaction mode, then failovers:
//
//     node test/postgres-debian.mjs                  all of it, three failovers
//     node test/postgres-debian.mjs --times 20       as many failovers
//     node test/postgres-debian.mjs COMMAND...       a command, which finds the programs by the environment:
//                                                    ROWSTASH_POSTGRES_BIN and ROWSTASH_PGBOUNCER
//     node test/postgres-debian.mjs --s3             the suites of a store and of the contract, with objects in a radosgw
//     node test/postgres-debian.mjs --s3 COMMAND...  a command, which finds the radosgw, too, as radosgw.mjs says
//
// Where the programs are missing, root gets them with apt-get. The servers run in temporary directories.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

const ROOT = join(import.meta.dirname, '..')
const PACKAGES = ['postgresql', 'pgbouncer']
const VERSIONS = '/usr/lib/postgresql'
const PGBOUNCER = '/usr/sbin/pgbouncer'
const INSTALL_MS_MAX = 600_000
const VITEST = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config']
const STORE_FILE = 'test/conformance/postgres-debian-store.test.ts'
const FILES = [
  'test/conformance/postgres-debian-kv.test.ts',
  'test/rungs/failover/failover.test.ts',
  STORE_FILE,
]

/** The programs of the newest installed version. */
async function findPrograms() {
  const versions = await readdir(VERSIONS).catch(() => [])
  const bins = versions
    .toSorted((left, right) => Number(right) - Number(left))
    .map((version) => join(VERSIONS, version, 'bin'))
    .filter((bin) => existsSync(join(bin, 'pg_basebackup')) && existsSync(join(bin, 'postgres')))
  if (bins.length === 0 || !existsSync(PGBOUNCER)) return undefined
  return { ROWSTASH_POSTGRES_BIN: bins[0], ROWSTASH_PGBOUNCER: PGBOUNCER }
}

function install() {
  const command = `apt-get install -y --no-install-recommends ${PACKAGES.join(' ')}`
  if (process.getuid?.() !== 0) {
    throw new Error(`PostgreSQL or PgBouncer is missing; as root, run: ${command}`)
  }
  execFileSync('sh', ['-c', `apt-get update && ${command}`], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: INSTALL_MS_MAX,
  })
}

/** @returns the exit code */
function execute(program, args, env) {
  const options = { stdio: 'inherit', cwd: ROOT, env: { ...process.env, ...env } }
  const child = spawn(program, args, options)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
}

/** The numbers of cases of each suite by result, from vitest's report. */
function totalsOf({ testResults }) {
  const totals = new Map()
  for (const { ancestorTitles, title, status } of testResults.flatMap(
    (file) => file.assertionResults,
  )) {
    const suite = ancestorTitles[0] ?? title
    const counts = totals.get(suite) ?? { passed: 0, failed: 0, skipped: 0 }
    counts[status === 'passed' || status === 'failed' ? status : 'skipped']++
    totals.set(suite, counts)
  }
  return totals
}

/** Runs a test file, and prints how many cases of each suite passed. @returns the exit code */
async function runFile(file, env) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-report-'))
  const report = join(folder, 'report.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const args = [...VITEST, 'test/vitest.config.ts', file, ...reporters]
    const code = await execute(process.execPath, args, env)
    for (const [suite, counts] of totalsOf(JSON.parse(await readFile(report, 'utf8')))) {
      const parts = Object.entries(counts).filter(
        ([result, count]) => count > 0 || result === 'passed',
      )
      console.log(`${suite}: ${parts.map(([result, count]) => `${count} ${result}`).join(', ')}`)
    }
    return code
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Runs one file after another. @returns the exit code: 0 if all passed */
async function runSuites(files, env, times) {
  const codes = []
  for (const file of files) {
    codes.push(await runFile(file, { ...env, ROWSTASH_RUNS: String(times) }))
  }
  return codes.find((code) => code !== 0) ?? 0
}

const TIMES_DEFAULT = 3
const TIMES_MAX = 1_000

/** The number of failovers; NaN if it is invalid. */
function timesOf([option, count, ...more]) {
  if (option === undefined) return TIMES_DEFAULT
  const times = Number(count)
  const isRight = more.length === 0 && Number.isInteger(times) && times >= 1 && times <= TIMES_MAX
  return isRight ? times : Number.NaN
}

/** Runs this program with the same arguments below a radosgw. @returns its exit code */
function withRadosgw() {
  const radosgw = join(import.meta.dirname, 'radosgw.mjs')
  return execute(process.execPath, [radosgw, process.execPath, ...process.argv.slice(1)], {})
}

/** @returns the exit code */
async function main(given) {
  const wantsS3 = given[0] === '--s3'
  const rest = wantsS3 ? given.slice(1) : given
  const isCommand = rest.length > 0 && rest[0] !== '--times'
  const times = isCommand ? 0 : timesOf(rest)
  if (Number.isNaN(times)) throw new Error(`--times needs a number from 1 to ${TIMES_MAX}`)
  if (wantsS3 && times > 0 && rest.length > 0) throw new Error('--s3 runs no failovers')
  if ((await findPrograms()) === undefined) install()
  const env = await findPrograms()
  if (env === undefined) {
    throw new Error(`The packages ${PACKAGES.join(' and ')} have other places here`)
  }
  if (wantsS3 && process.env.ROWSTASH_S3_ENDPOINT === undefined) return await withRadosgw()
  if (isCommand) return await execute(rest[0], rest.slice(1), env)
  return await runSuites(wantsS3 ? [STORE_FILE] : FILES, env, times)
}

process.exitCode = await main(process.argv.slice(2))
