// Which lines and branches of src/ `npm test` and `npm run test:all` cover in their own processes: what a program
// does that a test starts is not counted. Some 40 minutes, so it is run by hand.
//
//     npm run test:cover [-- again]
//
// Prints both by folder, and writes the lines that only `npm run test:all` goes through to coverage/only-in-all.md.
// `again` only tells once more what the last run gave.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { installTools } from './install-tools.mjs'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')
const COVERAGE = join(ROOT, 'coverage')

/** Reasons why `npm test` leaves lines of these files to `npm run test:all`. The first that fits counts. */
const REASONS = JSON.parse(readFileSync(join(FOLDER, 'only-in-all.json'), 'utf8'))

/** Runs the tests of a command, with a part of the runs of each random test. A failed test counts up to its failure. */
function runTests(name, env) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--config', 'test/quality/coverage.config.ts', '--reporter', 'dot']
  const given = { ...process.env, ROWSTASH_COVERAGE: join(COVERAGE, name), ...env }
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env: given })
  if (status === 0) return
  console.error(`Tests of ${name} failed`)
  process.exitCode = 1
}

/** By file: how often each line with a statement, and each way of a branch, was executed. */
function readCoverage(name) {
  const files = JSON.parse(readFileSync(join(COVERAGE, name, 'coverage-final.json'), 'utf8'))
  const entries = Object.entries(files).map(([path, { statementMap, s, b }]) => {
    const lines = new Map()
    for (const [id, { start }] of Object.entries(statementMap)) {
      lines.set(start.line, Math.max(lines.get(start.line) ?? 0, s[id]))
    }
    return [relative(ROOT, path), { lines, ways: Object.values(b).flat() }]
  })
  return new Map(entries)
}

function share(counts) {
  const taken = counts.filter((count) => count > 0).length
  return `${((100 * taken) / counts.length).toFixed(1)} % of ${counts.length}`
}

/** @returns one line per folder, and one for all */
function renderFolders(covered) {
  const folderOf = (path) => /^src\/(?:engine\/)?[^/]+/.exec(path)?.[0] ?? path
  const folders = new Map()
  for (const [path, { lines, ways }] of covered) {
    for (const name of [folderOf(path), 'all']) {
      const sums = folders.get(name) ?? { lines: [], ways: [] }
      sums.lines.push(...lines.values())
      sums.ways.push(...ways)
      folders.set(name, sums)
    }
  }
  return [...folders]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, sums]) => {
      return `${name.padEnd(24)} lines ${share(sums.lines).padEnd(18)} branches ${share(sums.ways)}`
    })
}

/** The lines of a file that only the second of two runs executed. */
function linesOnlyIn(path, inAll, inTest) {
  const source = readFileSync(join(ROOT, path), 'utf8').split('\n')
  const only = [...inAll.lines].filter(([line, count]) => {
    return count > 0 && (inTest?.lines.get(line) ?? 0) === 0
  })
  return only.map(([line]) => `  - \`${source[line - 1].trim().replaceAll('`', "'")}\``)
}

function renderList(inTest, inAll) {
  const parts = [...inAll].flatMap(([path, covered]) => {
    const lines = linesOnlyIn(path, covered, inTest.get(path))
    if (lines.length === 0) return []
    const reason = Object.entries(REASONS).find(([part]) => path.includes(part))?.[1]
    if (reason === undefined)
      throw new Error(`only-in-all.json has no reason for ${path}:\n${lines.join('\n')}`)
    return [`- ${path}: ${reason}`, ...lines]
  })
  const head = '# Lines of src/ that `npm run test:all` goes through, and `npm test` does not'
  return [head, '', ...parts, ''].join('\n')
}

installTools()
if (process.argv[2] !== 'again') {
  runTests('test', { ROWSTASH_ALL: '0' })
  runTests('all', { ROWSTASH_ALL: '1', ROWSTASH_RUNS_SCALE: '0.2' })
}
const [inTest, inAll] = ['test', 'all'].map(readCoverage)
console.log(
  ['npm test:', ...renderFolders(inTest), '', 'npm run test:all:', ...renderFolders(inAll)].join(
    '\n',
  ),
)
writeFileSync(join(COVERAGE, 'only-in-all.md'), renderList(inTest, inAll))
