// The record of `npm run torture`: what ran on which commit, with which seeds. Runs on one commit add up.
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(import.meta.dirname, 'record.json')
const DAYS_MAX = 14
const MS_PER_DAY = 86_400_000

export async function readRecord() {
  return JSON.parse(await readFile(FILE, 'utf8'))
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed`)
  return stdout.trim()
}

/** Adds one run of a rung: its report, and its total seconds. @returns everything that ran on this commit */
export async function addToRecord(reports, seconds) {
  const commit = git('rev-parse', '--short=12', 'HEAD')
  const record = await readRecord()
  const known = record.commits.find((entry) => entry.commit === commit)
  const entry = known ?? { commit, node: process.version, seconds: 0, suites: {} }
  if (known === undefined) record.commits.push(entry)
  entry.day = new Date().toISOString().slice(0, 10)
  entry.seconds = Math.round(entry.seconds + seconds)
  for (const line of reports) addLine(entry.suites, line)
  await writeFile(FILE, `${JSON.stringify(record, null, 1)}\n`)
  return entry.suites
}

/** A part of a suite's name that contains a number is a figure of the run. */
const nameOf = (suite) => {
  const [first, ...parts] = suite.split(',')
  return [first, ...parts.filter((part) => !/\b\d+\b/.test(part))].join(',')
}

/** Adds the report of one run of a suite to those of earlier runs on the same commit. */
export function addLine(suites, { suite, skipped, runs, seed, violations, pairs }) {
  const key = nameOf(suite)
  const before = suites[key] ?? { runs: 0, violations: 0, seeds: [] }
  if (skipped !== undefined) {
    if (before.runs === 0) suites[key] = { ...before, skipped }
    return
  }
  const { skipped: _, ...ran } = before
  suites[key] = {
    ...ran,
    runs: before.runs + runs,
    violations: before.violations + violations,
    seeds: [...before.seeds, seed],
    ...(pairs && { pairs: addedPairs(before.pairs, pairs) }),
  }
}

/** `add 3, merge 0` */
function parsePairs(text) {
  const parts = text === undefined ? [] : text.split(', ')
  return new Map(parts.map((part) => [part.replace(/ \d+$/, ''), Number(/\d+$/.exec(part)?.[0])]))
}

function addedPairs(before = {}, more) {
  const lines = Object.entries(more).map(([name, text]) => {
    const counts = parsePairs(before[name])
    for (const [other, count] of parsePairs(text))
      counts.set(other, (counts.get(other) ?? 0) + count)
    return [name, [...counts].map(([other, count]) => `${other} ${count}`).join(', ')]
  })
  return Object.fromEntries(lines)
}

/** A pair that met less often is reported. */
const PAIR_MET_MIN = 1_000

const WRITERS = ['transaction', 'merge', 'delete where', 'update', 'add stash', 'give key', 'job']

/** Pairs that cannot run concurrently, by suite. */
const APART = {
  'T3 background': [
    'add stash × add stash', // There is one stash.
    ...WRITERS.map((name) => `${name} × overwrite`), // The check needs to know what each of them leaves.
  ],
}

/**
 * The pairs that rarely ran concurrently on one commit, the rarest first: `T3 races: add × merge 0`. A pair that cannot
 * is reported if it did.
 */
export function rarePairs(suites) {
  const all = Object.entries(suites).flatMap(([suite, { pairs = {} }]) => {
    return Object.entries(pairs).flatMap(([name, text]) => {
      const rare = [...parsePairs(text)].filter(([other, count]) => {
        const isApart = APART[suite]?.includes(`${name} × ${other}`) ?? false
        return isApart ? count > 0 : count < PAIR_MET_MIN
      })
      return rare.map(([other, count]) => ({
        count,
        line: `${suite}: ${name} × ${other} ${count}`,
      }))
    })
  })
  return all.sort((left, right) => left.count - right.count).map(({ line }) => line)
}

/**
 * Reasons against publishing a package of this tree.
 * @param record - The result of `readRecord`.
 * @param tree.now - In milliseconds.
 * @param tree.isSame - Whether the code of a commit equals this tree's.
 */
export function wrongRecord({ commits }, { now, isSame }) {
  const last = commits.at(-1)
  if (last === undefined) return ['no torture is on record: npm run torture']
  const days = Math.floor((now - Date.parse(last.day)) / MS_PER_DAY)
  if (days <= DAYS_MAX || isSame(last.commit)) return []
  return [`the last torture is of ${last.commit}, ${days} days ago: npm run torture`]
}

/** Whether the code of a commit equals this tree's. */
export function isSameCode(commit) {
  const args = ['diff', '--quiet', commit, '--', 'src', 'adapters']
  return spawnSync('git', args, { cwd: ROOT }).status === 0
}
