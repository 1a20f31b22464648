// Shared by `npm run test:rung` and `npm run torture`: the rungs, and running one alone.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { pipeline } from 'node:stream/promises'

export const ROOT = join(import.meta.dirname, '../../..')
export const RESULTS = join(import.meta.dirname, 'results')
const VITEST = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config']
const SUITES = JSON.parse(await readFile(join(import.meta.dirname, 'suites.json'), 'utf8'))

export function suitesOf(words) {
  const isNamed = ({ id, name }, word) => word.toLowerCase() === id.toLowerCase() || word === name
  const unknown = words.filter((word) => !SUITES.some((suite) => isNamed(suite, word)))
  if (unknown.length > 0) {
    throw new Error(`No rung is named ${unknown.join(' or ')}; the rungs are:\n${renderSuites()}`)
  }
  return SUITES.filter((suite) => words.length === 0 || words.some((word) => isNamed(suite, word)))
}

export function renderSuites() {
  return SUITES.map(({ id, name, rule }) => `${id.padEnd(4)} ${name.padEnd(14)} ${rule}`).join('\n')
}

/** Starts vitest on the files of rungs. */
export function startVitest(suites, { options = [], env = {}, stdio }) {
  const files = suites.flatMap((suite) => suite.files)
  const args = [...VITEST, 'test/vitest.config.ts', ...files, ...options]
  const all = { ROWSTASH_ALL: '1', ...process.env }
  return spawn(process.execPath, args, { cwd: ROOT, env: { ...all, ...env }, stdio })
}

export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}

/** Runs one rung with its output in a file. @returns its lines, and whether it succeeded */
export async function runSuite(suite, { env: given, folder }) {
  const reportFile = join(folder, `${suite.id}.jsonl`)
  await writeFile(reportFile, '')
  const startedAt = performance.now()
  const env = { ...given, ROWSTASH_REPORT: reportFile, NO_COLOR: '1' }
  const child = startVitest([suite], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(RESULTS, `${suite.id}.log`))
  child.stderr.pipe(log, { end: false })
  const [code] = await Promise.all([ended(child), pipeline(child.stdout, log, { end: false })])
  log.end()
  const lines = (await readFile(reportFile, 'utf8')).split('\n').filter((line) => line !== '')
  const reports = lines.map((line) => JSON.parse(line))
  const seconds = (performance.now() - startedAt) / 1_000
  return { suite, code, seconds, reports }
}

export function problemOf({ suite, code, reports }) {
  const title = `${suite.id} ${suite.name}`
  if (code !== 0) return `${title} failed with exit code ${code}`
  if (reports.length === 0) return `${title} reported nothing`
  const violations = reports.reduce((sum, report) => sum + (report.violations ?? 0), 0)
  return violations > 0 ? `${title} found ${violations} violations` : null
}
