// Has anything become slower? Compares the ratios of a short run with those of the newest stored one.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printTable } from './report.mjs'

const RESULTS = join(import.meta.dirname, 'results')

/** Spread of ratios within one run; a smaller difference says nothing. */
const SHARE_MAX = 0.2

/** @returns the newest stored comparison on this data set, of this major version of Node if there is one, or undefined */
export function newestPeers(data) {
  const names = readdirSync(RESULTS).filter((name) => /^peers-\d.*\.json$/.test(name))
  const all = names.sort().reverse().map(readStored)
  const usable = all.filter(
    ({ partial, settings }) => partial === undefined && settings.data === data,
  )
  return (
    usable.find(({ machine }) => majorOf(machine.node) === majorOf(process.version)) ?? usable[0]
  )
}

const readStored = (name) => ({
  name,
  ...JSON.parse(readFileSync(join(RESULTS, name), 'utf8')),
})

const majorOf = (version) => version.split('.')[0]

/**
 * Only ratios are compared: milliseconds and megabytes are the machine's as well. `change` is above 1 for what
 * got better, also where less is better.
 */
export function compareTargets(stored, fresh) {
  return fresh.targets
    .filter(({ unit, value }) => unit === 'x' && value !== undefined)
    .flatMap(({ what, min, value }) => {
      const before = stored.targets.find((target) => target.what === what)?.value
      if (before === undefined) return []
      const change = min === undefined ? before / value : value / before
      return [{ what, before, value, change, worse: change < 1 - SHARE_MAX }]
    })
}

export function printGuard(stored, fresh, compared) {
  console.log(
    `\ncompared with ${stored.name}: ${stored.peers.rows} rows there, ${fresh.rows} here` +
      (stored.machine.node === process.version ? '' : `; Node ${stored.machine.node} there`) +
      (codecOf(stored.peers) === codecOf(fresh)
        ? ''
        : `; frames of ${codecOf(stored.peers)} there`),
  )
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

const codecOf = ({ engines }) => engines.rowstash?.runs[0]?.settings.codec ?? 'none'
