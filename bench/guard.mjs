// Detects slowdowns: compares the ratios of a short run with those of a stored baseline.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printTable } from './report.mjs'

const RESULTS = join(import.meta.dirname, 'results')

/** The spread of ratios within one run. A smaller difference is noise. */
const SHARE_MAX = 0.2

/**
 * Ratios depend on the number of rows, the data and the version of Node, so only a baseline with the same ones serves.
 * @returns the newest such baseline, or undefined
 */
export function newestBaseline({ data, rows }) {
  const names = readdirSync(RESULTS).filter((name) => /^baseline-\d.*\.json$/.test(name))
  return names
    .sort()
    .reverse()
    .map(readStored)
    .find(
      ({ partial, settings, machine }) =>
        partial === undefined &&
        settings.data === data &&
        settings.rows === rows &&
        majorOf(machine.node) === majorOf(process.version),
    )
}

const readStored = (name) => ({
  name,
  ...JSON.parse(readFileSync(join(RESULTS, name), 'utf8')),
})

const majorOf = (version) => version.split('.')[0]

/**
 * Compares only ratios: milliseconds and megabytes depend on the machine too. `change` is above 1 for an improvement,
 * also where less is better.
 */
export function compareTargets(stored, fresh) {
  return fresh.targets
    .filter(({ unit, value }) => unit === 'x' && value !== undefined)
    .flatMap(({ what, min, value }) => {
      const before = stored.peers.targets.find((target) => target.what === what)?.value
      if (before === undefined) return []
      const change = min === undefined ? before / value : value / before
      return [{ what, before, value, change, worse: change < 1 - SHARE_MAX }]
    })
}

export function printGuard(stored, machine, compared) {
  const isOther = stored.machine.cpu !== machine.cpu || stored.machine.cores !== machine.cores
  const other = isOther ? `, made on another machine (${stored.machine.cpu})` : ''
  console.log(`\ncompared with ${stored.name}${other}`)
  printTable(
    ['ratio', 'stored', 'now', 'better (above 100 %) or worse', ''],
    compared.map(({ what, before, value, change, worse }) => [
      what,
      before.toFixed(2),
      value.toFixed(2),
      `${(change * 100).toFixed(0)} %`,
      worse ? 'WORSE' : '',
    ]),
  )
  const worse = compared.filter((line) => line.worse).length
  console.log(`\n${worse} of ${compared.length} ratios got worse by more than ${SHARE_MAX * 100} %`)
}
