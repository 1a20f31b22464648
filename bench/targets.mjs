// The targets of the store, as ratios of figures of the same round, and their results.
import { median, printTable } from './report.mjs'

/** The rows of 8,000 chunks. */
const FINALIZED_ROWS = 8_000_000

const pace = (name) => (run) => 1 / run[name]
const figure = (name) => (run) => run[name]

/** The ratio of a figure of rowstash to a peer's: the median over the rounds. */
function times(peer, figureOf, own = 'rowstash') {
  return ({ engines }) => {
    const [ours, theirs] = [engines[own], engines[peer]]
    const rounds = Math.min(ours?.runs.length ?? 0, theirs?.runs.length ?? 0)
    if (rounds === 0) return undefined
    const ratios = ours.runs
      .slice(0, rounds)
      .map((run, round) => figureOf(run) / figureOf(theirs.runs[round]))
    return median(ratios)
  }
}

const finalizeMs =
  (chunks) =>
  ({ finalize }) =>
    finalize.find(({ chunkCount }) => chunkCount === chunks)?.medianMs

/** Above 1: faster than SQLite by this factor; SQLite's time grows with rows. */
function finalizeTimes(results) {
  const { engines, rows } = results
  const copies = (engines.sqliteTyped?.runs ?? []).map(({ copySeconds }) => copySeconds / rows)
  if (copies.length === 0) return undefined
  return (median(copies) * FINALIZED_ROWS * 1000) / finalizeMs(8_000)(results)
}

function httpTimes({ http }) {
  const ratios = http.rowstash.map(
    ({ importSeconds }, round) => http.parser[round].importSeconds / importSeconds,
  )
  return median(ratios)
}

const loopMs =
  (share, combine) =>
  ({ http }) =>
    combine(http.rowstash.map(({ loopMs: delays }) => delays[share]))

const memory = (runs) => {
  const known = (runs ?? []).flatMap(({ peakMegabytes }) => peakMegabytes ?? [])
  return known.length === 0 ? undefined : median(known)
}

function fullMemoryTimes({ full, engines }) {
  const base = memory(engines.rowstash?.runs)
  return full?.peakMegabytes === undefined ? undefined : full.peakMegabytes / base
}

const codecOf = ({ engines }) => engines.rowstash?.runs[0]?.settings.codec ?? 'none'
const byCodec = (limits) => (results) => (codecOf(results) === 'none' ? limits.none : limits.packed)

const highest = (values) => Math.max(...values)

/** `min` or `max` is the target. A target may depend on the store's compression. */
const TARGETS = [
  importOver('better-sqlite3, typed columns', 'sqliteTyped', 4),
  importOver('PostgreSQL COPY', 'postgres', 3),
  importOver('lmdb', 'lmdb', 3),
  importOver('PGlite COPY', 'pglite', 7),
  importOver('DuckDB read_json', 'duckdb', 3.5),
  // More than 1 would need a third thread: both servers share two with their clients, and rowstash validates and syncs
  // too.
  ratio('import', 'import over HTTP, over a server that only parses', { min: 0.9 }, httpTimes),
  ratio(
    'import',
    'import of CSV, over import of JSON',
    { min: 0.8 },
    times('rowstash', pace('importSeconds'), 'rowstashCsv'),
  ),
  time('finalize', 'finalize of 1,000 chunks', 20, finalizeMs(1_000)),
  time('finalize', 'finalize of 8,000 chunks', 100, finalizeMs(8_000)),
  ratio(
    'finalize',
    'finalize of 8,000 chunks, over INSERT … SELECT of 8 M rows',
    { min: 100 },
    finalizeTimes,
  ),
  readOver('page of 1,000 rows, over SQLite typed', 'sqliteTyped', 10, 'pageMs'),
  readOver('page of 1,000 rows, over SQLite JSON column', 'sqliteJson', 4, 'pageMs'),
  readOver(
    'full read as JSON, over SQLite typed',
    'sqliteTyped',
    byCodec({ none: 8, packed: 4 }),
    'readSeconds',
  ),
  readOver('point read, cold, over SQLite typed', 'sqliteTyped', 1, 'coldMicros'),
  readOver('point read, warm, over SQLite typed', 'sqliteTyped', 2, 'warmMicros'),
  updateOver('durable update, 1 at once, over classic-level', 'classicLevel', 0.85, 'updatesOne'),
  updateOver('durable update, 32 at once, over SQLite FULL', 'sqliteTyped', 2.5, 'updatesMany'),
  ratio(
    'disk',
    'bytes on disk, over SQLite typed',
    { max: byCodec({ none: 1.3, packed: 0.6 }) },
    times('sqliteTyped', figure('diskRowBytes')),
  ),
  megabytes('memory during an import, library', 160, ({ engines }) =>
    memory(engines.rowstash?.runs),
  ),
  megabytes('memory during an import, server', 160, ({ http }) => memory(http.rowstash)),
  ratio('memory', 'memory of 8 M rows, over that of the others', { max: 1.25 }, fullMemoryTimes),
  time('event loop', 'event-loop delay over HTTP, p99', 20, loopMs('p99', median)),
  time('event loop', 'event-loop delay over HTTP, max', 100, loopMs('max', highest)),
]

function importOver(label, peer, min) {
  return ratio(
    'import',
    `import of JSON, over ${label}`,
    { min },
    times(peer, pace('importSeconds')),
  )
}

function readOver(what, peer, min, name) {
  return ratio('read', what, { min }, times(peer, pace(name)))
}

function updateOver(what, peer, min, name) {
  return ratio('update', what, { min }, times(peer, figure(name)))
}

function ratio(group, what, limit, measure) {
  return { group, what, unit: 'x', ...limit, measure }
}

function time(group, what, max, measure) {
  return { group, what, unit: 'ms', max, measure }
}

function megabytes(what, max, measure) {
  return { group: 'memory', what, unit: 'MB', max, measure }
}

export function judgeTargets(results) {
  return TARGETS.map(({ group, what, unit, min, max, measure }) => {
    const resolved = (limit) => (typeof limit === 'function' ? limit(results) : limit)
    const [least, most] = [resolved(min), resolved(max)]
    const value = measure(results)
    const holds =
      value === undefined ? undefined : value >= (least ?? value) && value <= (most ?? value)
    return { group, what, unit, min: least, max: most, value, holds }
  })
}

export function printTargets(targets) {
  const shown = (value, unit) => `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
  printTable(
    ['target', 'measured', 'wanted', 'reached'],
    targets.map(({ what, unit, min, max, value, holds }) => [
      what,
      value === undefined ? 'not measured' : shown(value, unit),
      min === undefined ? `<= ${max} ${unit}` : `>= ${min} ${unit}`,
      holds === undefined ? '-' : holds ? 'yes' : 'NO',
    ]),
  )
}
