// The results of the comparison with the peers, as tables.
import { availableParallelism } from 'node:os'
import { printFinalize } from './finalize.mjs'
import { printHttp } from './http-import.mjs'
import { median, printTable } from './report.mjs'
import { printTargets } from './targets.mjs'

/** The median of the rounds; undefined if the engine lacks the figure. */
export function middle({ runs }, name) {
  const values = runs.flatMap((run) => run[name] ?? [])
  return values.length === 0 ? undefined : median(values)
}

const shown = (value, digits) => (value === undefined ? '-' : value.toFixed(digits))

export function printPeers(results) {
  const { rows, threads, engines, http, finalize, full, load, targets, workload } = results
  const measured = Object.values(engines).filter(({ runs }) => runs.length > 0)
  console.log(
    `\n${rows} rows, ${workload.jsonRowBytes.toFixed(0)} bytes of JSON a row` +
      ` (${workload.csvRowBytes.toFixed(0)} of CSV); ${availableParallelism()} cores,` +
      ` ${threads} threads of each engine that takes them;` +
      ` load ${load.before[0].toFixed(1)} before, ${load.after[0].toFixed(1)} after`,
  )
  printImports(measured, rows)
  printReads(measured, rows)
  printUpdates(measured)
  printHttp(http, rows)
  printFinalize(finalize)
  const copySeconds = engines.sqliteTyped && middle(engines.sqliteTyped, 'copySeconds')
  if (copySeconds !== undefined) {
    console.log(`INSERT … SELECT of ${rows} rows in SQLite: ${copySeconds.toFixed(2)} s`)
  }
  if (full !== undefined) printFull(full)
  printTargets(targets)
  for (const { label, leftOut } of Object.values(engines)) {
    if (leftOut !== undefined) console.log(`left out: ${label}: ${leftOut.split('\n')[0]}`)
  }
}

export function printImports(engines, rows) {
  printTable(
    [
      'import',
      'rows/s',
      'all runs',
      'bytes/row on disk',
      'RSS MB before',
      'peak',
      'event-loop delay ms: p99',
      'max',
      '',
    ],
    engines.map((engine) => [
      engine.label,
      Math.round(rows / middle(engine, 'importSeconds')),
      engine.runs.map(({ importSeconds }) => Math.round(rows / importSeconds)).join(' '),
      shown(middle(engine, 'diskRowBytes'), 0),
      shown(middle(engine, 'idleMegabytes'), 0),
      shown(middle(engine, 'peakMegabytes'), 0),
      shown(median(engine.runs.map(({ loopMs }) => loopMs.p99)), 1),
      shown(Math.max(...engine.runs.map(({ loopMs }) => loopMs.max)), 0),
      engine.note ?? '',
    ]),
  )
}

const readers = (engines) => engines.filter((engine) => middle(engine, 'pageMs') !== undefined)

export function printReads(engines, rows) {
  printTable(
    [
      'read',
      'page of 1,000 ms',
      'JSON by the engine ms',
      'full read, rows/s',
      'point us: cold',
      'warm',
    ],
    readers(engines).map((engine) => [
      engine.label,
      shown(middle(engine, 'pageMs'), 2),
      shown(middle(engine, 'builtInPageMs'), 2),
      Math.round(rows / middle(engine, 'readSeconds')),
      shown(middle(engine, 'coldMicros'), 1),
      shown(middle(engine, 'warmMicros'), 1),
    ]),
  )
}

export function printUpdates(engines) {
  printTable(
    ['single-row updates a second', '1 at once', '32 at once', ''],
    readers(engines).map((engine) => [
      engine.label,
      shown(middle(engine, 'updatesOne'), 0),
      shown(middle(engine, 'updatesMany'), 0),
      engine.note ?? '',
    ]),
  )
}

function printFull({ importSeconds, idleMegabytes, peakMegabytes }) {
  printTable(
    ['8,000,000 rows', 'seconds', 'RSS MB before', 'peak'],
    [
      [
        'rowstash',
        importSeconds.toFixed(1),
        ...[idleMegabytes, peakMegabytes].map((bytes) => shown(bytes, 0)),
      ],
    ],
  )
}
