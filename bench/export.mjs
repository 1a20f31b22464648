// Exports a table to a file and imports the file again, in each format of the commands: whether the table is equal, the
// time and the memory, compared with DuckDB and sqlite-utils. Each step runs in a separate process.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { ENGINES, FORMATS, OURS } from './export-engines.mjs'
import { installPeers } from './install-peers.mjs'
import { DATA_SETS, ROWS_PER_CHUNK } from './peers/data-sets.mjs'
import { judge, median, printTable } from './report.mjs'
import { runWatched } from './watched-command.mjs'

/** Most memory of each rowstash process, in megabytes. */
const MEMORY_MAX = 250

const MEGABYTE = 1e6

/**
 * @param settings.rounds - Runs of every format of every engine. Only the first round compares tables.
 * @param settings.engines - The engines to measure; undefined: all.
 * @param settings.onRun - Receives the progress and the results so far.
 */
export async function measureExport(directory, { rows, rounds, seed, engines, onRun }) {
  installPeers()
  await mkdir(directory, { recursive: true })
  const source = join(directory, 'source.ndjson')
  await writeRows(source, rows, seed)
  const opened = []
  for (const name of engines ?? Object.keys(ENGINES)) {
    const leftOut = ENGINES[name].leftOut?.()
    if (leftOut === undefined) opened.push(await openEngine({ directory, name, source, rows }))
    else console.log(`${name} is left out: ${leftOut}`)
  }
  const runs = []
  const formats = FORMATS.filter(isPossible)
  for (let round = 0; round < rounds; round++) {
    for (const format of formats) {
      for (const engine of opened.filter(({ name }) => ENGINES[name].formats.includes(format))) {
        const run = await measureFormat(engine, format, round === 0)
        runs.push({ engine: engine.name, format, ...run })
        onRun(`round ${round + 1}, up to ${engine.name}, ${format}`, { rows, runs })
      }
    }
  }
  return { rows, runs, results: summarize(runs) }
}

function isPossible(format) {
  const isKnown = !format.endsWith('.zst') || zlib.createZstdCompress !== undefined
  if (!isKnown) console.log(`${format} is left out: Node ${process.version} has no zstd`)
  return isKnown
}

/** Writes an NDJSON file with the rows of README.md; the chunks repeat. */
async function writeRows(path, rows, seed) {
  const chunks = DATA_SETS.standard.makeChunks(seed).map((chunk) => {
    return JSON.parse(chunk.toString()).map((row) => `${JSON.stringify(row)}\n`)
  })
  function* texts() {
    for (let first = 0, at = 0; first < rows; first += ROWS_PER_CHUNK, at++) {
      yield chunks[at % chunks.length].slice(0, rows - first).join('')
    }
  }
  await pipeline(Readable.from(texts()), createWriteStream(path))
}

/** A store of the engine with all rows, its size, and how it was filled. */
async function openEngine({ directory, name, source, rows }) {
  const engine = ENGINES[name]
  const folder = join(directory, name)
  await mkdir(folder)
  const store = join(folder, 'store')
  if (engine.prepare !== undefined) await runWatched(engine.prepare(store))
  checkRows(engine, await runWatched(engine.fill(store, source)), rows)
  const { stdout: schema } = await runWatched(engine.schema(store))
  const schemaPath = join(folder, 'schema.json')
  await writeFile(schemaPath, schema)
  const digest = await digestOf(engine, store, folder)
  return { name, folder, store, rows, schemaPath, schema, digest }
}

/** Checks the number of rows that an engine reports; sqlite-utils reports none. */
function checkRows(engine, run, rows) {
  const found = engine.rowsOf?.(run) ?? rows
  if (found !== rows) throw new Error(`${found} rows were read or written, not ${rows}`)
}

/** SHA-256 of the rows of a store, from the engine's NDJSON export. */
async function digestOf(engine, store, folder) {
  const path = join(folder, 'digest.ndjson')
  await runWatched(engine.export(store, path, 'ndjson'))
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  await rm(path)
  return hash.digest('hex')
}

/** Exports, and imports the file into a new store. */
async function measureFormat(
  { name, folder, store, rows, schemaPath, ...table },
  format,
  compares,
) {
  const engine = ENGINES[name]
  const path = join(folder, `bench.${format}`)
  const again = join(folder, 'again')
  const source = engine.packedFrom?.[format]
  const written = source === undefined ? path : join(folder, `bench.${source}`)
  const exported = await runWatched(engine.export(store, written, source ?? format))
  checkRows(engine, exported, rows)
  if (source !== undefined) {
    await pipeline(createReadStream(written), zlib.createZstdCompress(), createWriteStream(path))
    await rm(written)
  }
  if (engine.prepare !== undefined) await runWatched(engine.prepare(again))
  const imported = await runWatched(engine.import(again, path, { format, schemaPath }))
  checkRows(engine, imported, rows)
  const { size: bytes } = await stat(path)
  await rm(path)
  const isEqual = compares ? await isSame(engine, again, folder, table) : undefined
  await rm(again, { recursive: true })
  const measured = source === undefined ? { export: usageOf(exported) } : {}
  return { bytes, ...measured, import: usageOf(imported), isEqual }
}

async function isSame(engine, store, folder, { schema, digest }) {
  const { stdout } = await runWatched(engine.schema(store))
  return stdout === schema && (await digestOf(engine, store, folder)) === digest
}

function usageOf({ seconds, cpuSeconds, peakBytes }) {
  const peakMegabytes = peakBytes === undefined ? undefined : peakBytes / MEGABYTE
  return { seconds, cpuSeconds, peakMegabytes }
}

/** undefined: not measured, because there is no /proc. */
function medianOf(values) {
  return values.includes(undefined) ? undefined : median(values)
}

/** Medians over the rounds, for each format of each engine. */
function summarize(runs) {
  const groups = new Map()
  for (const run of runs) {
    const key = `${run.format} ${run.engine}`
    groups.set(key, [...(groups.get(key) ?? []), run])
  }
  return [...groups.values()].map((group) => {
    const [{ engine, format, bytes, isEqual }] = group
    const medians = (step) => {
      if (group[0][step] === undefined) return undefined
      const of = (name) => medianOf(group.map((run) => run[step][name]))
      return {
        seconds: of('seconds'),
        cpuSeconds: of('cpuSeconds'),
        peakMegabytes: of('peakMegabytes'),
      }
    }
    return { engine, format, bytes, isEqual, export: medians('export'), import: medians('import') }
  })
}

export function printExport({ rows, results }) {
  console.log(
    `\n${rows} rows; rows per second, CPU time, and the peak of resident memory of each process`,
  )
  const shown = (usage) => {
    if (usage === undefined) return ['–', '', '']
    const { seconds, cpuSeconds, peakMegabytes } = usage
    const rate = Math.round(rows / seconds / 1_000) * 1_000
    return [
      rate.toLocaleString('en'),
      `${cpuSeconds?.toFixed(1)} s`,
      `${peakMegabytes?.toFixed(0)} MB`,
    ]
  }
  printTable(
    ['format', 'engine', 'file', 'export', 'CPU', 'memory', 'import', 'CPU', 'memory', 'equal'],
    results.map(({ format, engine, bytes, isEqual, ...steps }) => [
      format,
      engine,
      `${(bytes / MEGABYTE).toFixed(0)} MB`,
      ...shown(steps.export),
      ...shown(steps.import),
      isEqual ? 'yes' : 'NO',
    ]),
  )
}

/** Every format restores an equal table, and the memory of our commands does not depend on the rows. */
export function exportRules({ results }) {
  const ours = results.filter(({ engine }) => engine === OURS)
  const unequal = ours.filter(({ isEqual }) => !isEqual).length
  const rules = [judge('formats that give another table', unequal, 0, '')]
  for (const { format, ...steps } of ours) {
    for (const step of ['export', 'import']) {
      const peak = steps[step]?.peakMegabytes
      if (peak === undefined) continue // not measured, or no /proc
      rules.push(judge(`memory, ${step} of ${format}`, peak, MEMORY_MAX, 'MB'))
    }
  }
  return rules
}
