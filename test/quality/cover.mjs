// Which branches of src/engine and src/format the tests of `npm test` that concern them go through: all but
// those of processes that are killed, the browser and the command line. Ten minutes, so it is run by hand.
//
//     npm run test:cover [-- again]
//
// Prints a table and writes it to results/coverage.md, with each branch that no test takes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { installTools } from './install-tools.mjs'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')
const COVERAGE = join(ROOT, 'coverage')
const MEASURES = ['branches', 'statements', 'functions', 'lines']

/**
 * A default that the compiler wants behind an index in range, `bytes[i] ?? 0`: no test can take it. It
 * stays in the count, and out of the list.
 */
const FALLBACK = /^(?:-?\d+|''|\[\]|\{\}|[A-Z][A-Z_]+|limit)(?![\w.(])/

function runTests() {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const env = { ROWSTASH_RUNS: '100', ROWSTASH_RUNS_SCALE: '0.1', ROWSTASH_SEED: '1' }
  const args = [vitest, 'run', '--config', 'test/quality/coverage.config.ts', '--reporter', 'dot']
  const options = { cwd: ROOT, stdio: 'inherit', env: { ...env, ...process.env } }
  const { status } = spawnSync(process.execPath, args, options)
  if (status !== 0) throw new Error('The tests failed')
}

function readJson(name) {
  return JSON.parse(readFileSync(join(COVERAGE, name), 'utf8'))
}

/** By folder: of each measure how many there are, and how many the tests take. */
function sumUp(summary) {
  const folders = new Map()
  for (const [file, counts] of Object.entries(summary)) {
    if (file === 'total') continue
    const folder = dirname(relative(ROOT, file))
    const sums = folders.get(folder) ?? MEASURES.map(() => [0, 0])
    for (const [i, measure] of MEASURES.entries()) {
      sums[i][0] += counts[measure].covered
      sums[i][1] += counts[measure].total
    }
    folders.set(folder, sums)
  }
  return [...folders].sort(([left], [right]) => (left < right ? -1 : 1))
}

/** The code at the start of a branch; its end is not always known. */
function textFrom(lines, { line, column }) {
  return lines[line - 1].slice(column).replace(/^[\s?(]+/, '')
}

function uncovered(details) {
  const branches = []
  for (const [file, { b: hits, branchMap }] of Object.entries(details)) {
    const lines = readFileSync(file, 'utf8').split('\n')
    for (const [id, counts] of Object.entries(hits)) {
      const { type, loc, locations } = branchMap[id]
      for (const [i, count] of counts.entries()) {
        if (count > 0) continue
        const place = locations[i]?.start?.line === undefined ? loc : locations[i]
        const isFallback = type === 'binary-expr' && FALLBACK.test(textFrom(lines, place.start))
        const { line } = place.start
        const way = type === 'if' ? ['taken', 'not taken'][i] : `way ${i + 1} of ${counts.length}`
        const source = lines[line - 1].trim().replaceAll('`', "'")
        branches.push({
          path: relative(ROOT, file),
          line,
          way: `${type}, ${way}`,
          source,
          isFallback,
        })
      }
    }
  }
  return branches.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))
}

function render(folders, branches) {
  const share = ([covered, total]) =>
    `${((100 * covered) / total).toFixed(1)} % (${total - covered} of ${total} not)`
  const listed = branches.filter(({ isFallback }) => !isFallback)
  return [
    '# Branches that the tests take',
    '',
    `${new Date().toISOString().slice(0, 10)}, Node ${process.version}: \`npm run test:cover\`.`,
    '',
    `| folder | ${MEASURES.join(' | ')} |`,
    `|---|${MEASURES.map(() => '---:|').join('')}`,
    ...folders.map(([folder, sums]) => `| ${folder} | ${sums.map(share).join(' | ')} |`),
    '',
    `Of the ${branches.length} branches that no test takes, ${branches.length - listed.length} are what the compiler wants behind an index that`,
    'is always there (`bytes[i] ?? 0`). The others:',
    '',
    ...listed.map(({ path, line, way, source }) => `- ${path}:${line} (${way}): \`${source}\``),
    '',
  ].join('\n')
}

installTools()
if (process.argv[2] !== 'again') runTests() // `again`: only tells once more what the last run gave.
const folders = sumUp(readJson('coverage-summary.json'))
const text = render(folders, uncovered(readJson('coverage-final.json')))
mkdirSync(join(FOLDER, 'results'), { recursive: true })
writeFileSync(join(FOLDER, 'results/coverage.md'), text)
console.log(
  `\n${text.slice(0, text.indexOf('\n- '))}\n\nThe list is in test/quality/results/coverage.md.`,
)
