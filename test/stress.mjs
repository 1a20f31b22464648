// `npm run test:stress`: the test files that touch time, sockets, processes or the disk, again and again on a machine
// that is busy: beside loops that take all cores, and with a lower priority than those.
//
//     npm run test:stress                     50 runs of each file that takes less than 5 s, 5 of the others
//     npm run test:stress -- --rounds 1       a fifth of that
//     npm run test:stress -- test/unit/kv     only these files or folders
//
// A round is a process of its own for each file; in a round each test of a short file runs ten times, with its hooks.
// It takes hours. It prints each failure, and at the end how often each file ran.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, setPriority, tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const LOOPS_PER_CORE = 1
const LOW_PRIORITY = 5
const SHORT_MS_MAX = 5_000
/** How often each test of a short file runs in a round. */
const REPEATS = 10

/** Words in files that use time, sockets, processes or the disk. */
const TOUCHES =
  /node:(?:child_process|cluster|dgram|fs|http|https|net|timers|tls|worker_threads)|setTimeout|setInterval|performance\.now|Date\.now|FakeTimers|adapters\/(?:node|open-directory|http|fs|leveldb)|waitFor|\.poll\(/
/** Support files that only read the project's sources or write a seed. */
const HARMLESS = /test\/support\/(?:project|source-files|ladder|seed-record|hang-watch)\.ts$/

/** A test file, and the modules below test/ that it imports. */
function modulesOf(path, found = new Set()) {
  if (found.has(path) || !existsSync(path)) return found
  found.add(path)
  for (const [, from] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g)) {
    const module = join(dirname(path), from.replace(/\.js$/, '.ts'))
    if (relative(join(ROOT, 'test'), module).startsWith('..') || HARMLESS.test(module)) continue
    modulesOf(module, found)
  }
  return found
}

function touchesTheWorld(path) {
  return [...modulesOf(join(ROOT, path))].some((module) =>
    TOUCHES.test(readFileSync(module, 'utf8')),
  )
}

/** Runs each file in some rounds. @returns one result per file and round */
async function runFiles(files, rounds, times) {
  if (files.length === 0) return []
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-stress-'))
  const outputFile = join(folder, 'results.json')
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile=${outputFile}`]
  const args = [VITEST, 'run', '--config', 'test/stress.config.ts', ...reporters]
  const roundsOf = JSON.stringify(Object.fromEntries(files.map((path) => [path, rounds])))
  const own = { ROWSTASH_STRESS: roundsOf, ROWSTASH_REPEATS: String(times - 1) }
  const env = { ...process.env, ...own }
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
  await new Promise((resolve) => child.once('close', resolve))
  const { testResults } = JSON.parse(await readFile(outputFile, 'utf8'))
  await rm(folder, { recursive: true })
  return testResults.map(({ name, startTime, endTime, status }) => {
    const ms = endTime - startTime
    return { path: relative(ROOT, name), ms, times, isGood: status === 'passed' }
  })
}

function groupByPath(results) {
  const groups = new Map()
  for (const result of results) {
    groups.set(result.path, [...(groups.get(result.path) ?? []), result])
  }
  return groups
}

function render([path, results]) {
  const failed = results.filter(({ isGood }) => !isGood).length
  const runs = results.reduce((sum, { times }) => sum + times, 0)
  const longest = (Math.max(...results.map(({ ms }) => ms)) / 1_000).toFixed(1)
  return `${path}: ${runs} runs, ${failed} rounds failed, the longest round ${longest} s`
}

/** The requested test files that use time, sockets, processes or the disk. */
function findFiles(asked) {
  const all = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  return all
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => `test/${name}`)
    .filter((path) => asked.length === 0 || asked.some((part) => path.includes(part)))
    .filter(touchesTheWorld)
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string', default: '5' } },
  })
  const rounds = Number(values.rounds)
  const files = findFiles(positionals)
  console.log(`${files.length} files; once each, to know how long they take`)
  const once = await runFiles(files, 1, 1)
  const isShort = new Map(once.map(({ path, ms }) => [path, ms < SHORT_MS_MAX]))

  const loops = Array.from({ length: availableParallelism() * LOOPS_PER_CORE }, () =>
    spawn(process.execPath, ['-e', 'for (;;);']),
  )
  const startedAt = performance.now()
  try {
    setPriority(LOW_PRIORITY)
    const short = files.filter((path) => isShort.get(path))
    const long = files.filter((path) => !isShort.get(path))
    const results = [
      ...once,
      ...(await runFiles(short, rounds, REPEATS)),
      ...(await runFiles(long, rounds, 1)),
    ]
    const failed = results.filter(({ isGood }) => !isGood).length
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(0)
    console.log([...groupByPath(results)].map(render).join('\n'))
    console.log(`${files.length} files in ${minutes} minutes, ${failed} rounds failed`)
    process.exitCode = failed === 0 ? 0 : 1
  } finally {
    for (const loop of loops) loop.kill('SIGKILL')
  }
}

await main()
