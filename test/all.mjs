// `npm run test:all`: everything. `npm test` is what it says in five minutes; this has no limit.
//
//     npm run test:all                        all parts, one after the other
//     npm run test:all -- test/page           everything of these folders or files, of this Node
//     npm run test:all -- --part nodes        one part; give it again for another
//     npm run test:all -- --scale 0.1         a tenth of the runs of each random test
//
// A part that needs a program which is not there says so and is skipped.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const CONFIG = ['run', '--config', 'test/vitest.config.ts']
const DIFFER_MOST = ['base/codecs', 'base/kept-zlib', 'adapters/directory-level'].map(
  (name) => `test/unit/${name}.test.ts`,
)

/** Runs a program to its end. @returns whether it succeeded */
function run(program, args, env = {}) {
  const options = { cwd: ROOT, env: { ...process.env, ...env }, stdio: 'inherit' }
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, options)
    child.once('error', reject)
    child.once('close', (code) => resolve(code === 0))
  })
}

const vitest = (args, env) => run(process.execPath, [VITEST, ...args], env)
const vitestOn = (version, args, env) => run('npx', ['-y', `node@${version}`, VITEST, ...args], env)

function hasProgram(...paths) {
  return paths.every((path) => spawnSync('sh', ['-c', `ls ${path}`]).status === 0)
}

const PARTS = {
  /** Every test, on this Node. */
  tests({ scale, files }) {
    return vitest([...CONFIG, ...files], { ROWSTASH_ALL: '1', ROWSTASH_RUNS_SCALE: scale })
  },

  /** What can differ on Node 24, with the first runs of the same seeds. */
  node24({ scale }) {
    const env = { ROWSTASH_ALL: '1', ROWSTASH_PLATFORM_ONLY: '1', ROWSTASH_CHROMIUM: '' }
    return vitestOn(24, CONFIG, { ...env, ROWSTASH_RUNS_SCALE: String(scale / 5) })
  },

  /**
   * On the other Nodes, a sample of each layer, and all tests of the codecs and of LevelDB's batches, which differ
   * most.
   */
  async nodes() {
    for (const version of [22, 24, 26]) {
      if (!(await vitestOn(version, ['run', '--config', 'test/quick.config.ts']))) return false
      if (!(await vitestOn(version, [...CONFIG, ...DIFFER_MOST]))) return false
    }
    return true
  },

  /**
   * Debian's PostgreSQL with a standby and PgBouncer. At less than the whole scale: one failover, and the store over
   * ports.
   */
  async postgres({ scale }) {
    if (!hasProgram('/usr/lib/postgresql/*/bin/pg_basebackup', '/usr/sbin/pgbouncer')) {
      return skip('PostgreSQL with PgBouncer', 'node test/postgres-debian.mjs')
    }
    const files = ['conformance/postgres-debian-kv', 'rungs/failover/failover']
    const sample = ['npx', 'vitest', ...CONFIG, ...files.map((name) => `test/${name}.test.ts`)]
    const env = scale < 1 ? { ROWSTASH_RUNS: '1' } : {}
    return run(process.execPath, ['test/postgres-debian.mjs', ...(scale < 1 ? sample : [])], env)
  },

  /** Ceph's radosgw. At less than the whole scale: only the port. */
  radosgw({ scale }) {
    if (!hasProgram('/usr/bin/radosgw', '/usr/bin/ceph-mon')) {
      return skip('radosgw', 'node test/radosgw.mjs')
    }
    const command = ['npx', 'vitest', ...CONFIG, 'test/conformance/s3-server.test.ts']
    const sample = scale < 1 ? ['-t', '^S3 at '] : []
    return run(process.execPath, ['test/radosgw.mjs', ...command, ...sample])
  },

  /** Rungs of one process with a new seed. A seed that fails on the previous commit too is only reported. */
  fresh({ scale }) {
    const rungs = ['T2', 'T2b', 'T3', 'T4', 'T12', 'T14', 'T21', 'T24']
    return run(process.execPath, [
      'test/torture.mjs',
      '--once',
      '--before',
      '--scale',
      scale,
      ...rungs,
    ])
  },
}

function skip(what, command) {
  console.log(`skipped: there is no ${what}; \`${command}\` installs it as root on Debian`)
  return true
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      part: { type: 'string', multiple: true },
      scale: { type: 'string', default: '1' },
    },
  })
  const isOfFiles = positionals.length > 0
  const parts = values.part ?? (isOfFiles ? ['tests'] : Object.keys(PARTS))
  const unknown = parts.filter((name) => !Object.hasOwn(PARTS, name))
  if (unknown.length > 0) {
    throw new Error(
      `There is no part ${unknown.join(', ')}; parts: ${Object.keys(PARTS).join(', ')}`,
    )
  }
  const failed = []
  for (const name of parts) {
    const startedAt = performance.now()
    console.log(`\n== ${name}, scale of runs ${values.scale}`)
    const isGood = await PARTS[name]({ scale: values.scale, files: positionals })
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
    console.log(`== ${name}: ${isGood ? 'passed' : 'FAILED'} after ${seconds} s`)
    if (!isGood) failed.push(name)
  }
  if (failed.length > 0) throw new Error(`Failed: ${failed.join(', ')}`)
}

try {
  await main()
} catch (failure) {
  console.error(failure.message)
  process.exitCode = 1
}
