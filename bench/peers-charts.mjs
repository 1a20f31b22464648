// One picture for each group of targets.
import { drawBars } from './charts.mjs'
import { middle } from './peers-report.mjs'
import { median } from './report.mjs'

/** Rows per chunk of the usual size, by which SQLite's figures are scaled. */
const ROWS_OF_CHUNKS = 1_000

export async function drawPeers(results) {
  const { rows, engines, http, machine } = results
  const measured = Object.entries(engines)
    .filter(([, { runs }]) => runs.length > 0)
    .map(([name, engine]) => ({ ...engine, own: name.startsWith('rowstash') }))
  const subtitle =
    `${rows.toLocaleString('en')} rows; ${machine.cores} cores, Node ${machine.node.slice(1)};` +
    ` medians of ${http.rowstash.length}` // One run per round, also for an engine that fails.
  const draw = (name, chart) => drawBars(`peers-${name}`, { subtitle, ...chart })
  const bars = (figureOf, textOf) =>
    measured.flatMap((engine) => {
      const value = figureOf(engine)
      if (value === undefined || Number.isNaN(value)) return []
      return [{ label: engine.label, own: engine.own, value, text: textOf(value) }]
    })
  const figures = (name, textOf) => bars((engine) => middle(engine, name), textOf)
  const paces = (name) =>
    bars(
      (engine) => rows / middle(engine, name),
      (value) => `${thousands(value)} k`,
    )

  await draw('import', {
    title: 'Import of JSON chunks, durable: more is better',
    axis: 'rows a second',
    bars: paces('importSeconds'),
  })
  await draw('http', {
    title: 'Import over HTTP, 8 PUTs at once: more is better',
    axis: 'rows a second',
    bars: httpBars(http, rows),
  })
  await draw('finalize', {
    title: 'Staged rows become a table: less is better',
    axis: 'milliseconds',
    log: true,
    bars: finalizeBars(results),
  })
  await drawReads(draw, { figures, paces })
  await drawChanges(draw, figures)
  console.log('pictures in bench/results/peers-*.svg')
}

async function drawReads(draw, { figures, paces }) {
  await draw('page', {
    title: 'Page of 1,000 rows as JSON: less is better',
    axis: 'milliseconds',
    bars: figures('pageMs', (value) => value.toFixed(2)),
  })
  await draw('read', {
    title: 'Full read of the table as JSON: more is better',
    axis: 'rows a second',
    bars: paces('readSeconds'),
  })
  await draw('point', {
    title: 'One row by its ID: less is better',
    axis: 'microseconds',
    log: true,
    bars: [
      ...figures('coldMicros', (value) => `${value.toFixed(1)} cold`),
      ...figures('warmMicros', (value) => `${value.toFixed(1)} warm`),
    ],
  })
}

async function drawChanges(draw, figures) {
  await draw('update', {
    title: 'Updates of single rows: more is better',
    axis: 'updates a second',
    log: true,
    bars: [
      ...figures('updatesOne', (value) => `${value.toFixed(0)}, 1 at once`),
      ...figures('updatesMany', (value) => `${value.toFixed(0)}, 32 at once`),
    ],
  })
  await draw('disk', {
    title: 'Bytes on disk: less is better',
    axis: 'bytes a row',
    bars: figures('diskRowBytes', (value) => value.toFixed(0)),
  })
  await draw('memory', {
    title: 'Most memory of the process during the import: less is better',
    axis: 'MB resident',
    bars: figures('peakMegabytes', (value) => value.toFixed(0)),
  })
}

const thousands = (value) => (value / 1_000).toFixed(0)

function httpBars({ rowstash, parser }, rows) {
  return [
    { label: 'rowstash', own: true, runs: rowstash },
    { label: 'a server that only parses', own: false, runs: parser },
  ].map(({ label, own, runs }) => {
    const value = rows / median(runs.map(({ importSeconds }) => importSeconds))
    return { label, own, value, text: `${thousands(value)} k` }
  })
}

function finalizeBars({ finalize, engines, rows }) {
  const copySeconds = engines.sqliteTyped && middle(engines.sqliteTyped, 'copySeconds')
  const bar = (label, own, value) => ({ label, own, value, text: `${value.toFixed(1)} ms` })
  return finalize.flatMap(({ chunkCount, medianMs }) => {
    const copied = chunkCount * ROWS_OF_CHUNKS
    const own = bar(`rowstash, ${chunkCount.toLocaleString('en')} chunks`, true, medianMs)
    if (copySeconds === undefined) return [own]
    const label = `SQLite INSERT … SELECT, ${copied.toLocaleString('en')} rows`
    return [own, bar(label, false, (copySeconds / rows) * copied * 1000)]
  })
}
