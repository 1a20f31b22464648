// The data for all engines: chunk files on disk, and the kinds of their columns.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeChunks } from '../workloads.mjs'

export const ROWS_PER_CHUNK = 1_000

/** Distinct chunk files: about as many rows as DuckDB compresses together. */
const CHUNK_FILES = 128

/** Chunks in memory for engines that take texts, used in turn. */
const CHUNKS_IN_MEMORY = 32

/** By path: the package does not export its data. */
const FLIGHTS = fileURLToPath(
  new URL('../../node_modules/vega-datasets/data/flights-200k.json', import.meta.url),
)

const columns = (kinds) => Object.entries(kinds).map(([id, kind]) => ({ id, kind }))

export const DATA_SETS = {
  standard: {
    columns: columns({
      name: 'text',
      city: 'text',
      email: 'text',
      website: 'text',
      visits: 'integer',
      score: 'real',
      price: 'real',
      active: 'boolean',
      created: 'time',
      tags: 'texts',
      notes: 'text',
    }),
    updated: 'visits',
    rowsPerChunk: ROWS_PER_CHUNK,
    makeChunks: (seed) => makeChunks({ seed, count: CHUNK_FILES, rows: ROWS_PER_CHUNK }),
  },
  flights: flights(ROWS_PER_CHUNK),
  /** Chunks with as many bytes as chunks of standard rows. */
  flightsInLargeChunks: flights(10 * ROWS_PER_CHUNK),
}

function flights(rowsPerChunk) {
  return {
    columns: columns({ delay: 'integer', distance: 'integer', time: 'real' }),
    updated: 'delay',
    rowsPerChunk,
    makeChunks: () => readFlights(rowsPerChunk),
  }
}

/** The 200,000 rows of a public data set, from its devDependency. */
function readFlights(rowsPerChunk) {
  const rows = JSON.parse(readFileSync(FLIGHTS, 'utf8'))
  const chunks = []
  for (let at = 0; at + rowsPerChunk <= rows.length; at += rowsPerChunk) {
    chunks.push(Buffer.from(JSON.stringify(rows.slice(at, at + rowsPerChunk))))
  }
  return chunks
}

/** Writes the chunks of a data set as JSON, and as CSV. @returns bytes per row of both */
export function writeChunkFiles(folder, { data, seed }) {
  mkdirSync(folder, { recursive: true })
  const { rowsPerChunk, makeChunks } = DATA_SETS[data]
  const chunks = makeChunks(seed)
  const bytes = { json: 0, csv: 0 }
  for (const [index, json] of chunks.entries()) {
    const csv = Buffer.from(renderCsv(DATA_SETS[data].columns, JSON.parse(json.toString())))
    writeFileSync(chunkPath(folder, index, 'json'), json)
    writeFileSync(chunkPath(folder, index, 'csv'), csv)
    bytes.json += json.length
    bytes.csv += csv.length
  }
  const rows = chunks.length * rowsPerChunk
  return { files: chunks.length, jsonRowBytes: bytes.json / rows, csvRowBytes: bytes.csv / rows }
}

const chunkPath = (folder, index, extension) => join(folder, `${index}.${extension}`)

/** The input of an import: chunks as texts, or the names of their files. */
export function openChunks(folder, { count, files, extension }) {
  const held = Math.min(CHUNKS_IN_MEMORY, files)
  const texts = Array.from({ length: held }, (_, index) =>
    readFileSync(chunkPath(folder, index, extension)),
  )
  return {
    count,
    text: (serial) => texts[serial % held],
    paths: Array.from({ length: count }, (_, serial) =>
      chunkPath(folder, serial % files, extension),
    ),
  }
}

/** Rows as CSV with a header. */
export function renderCsv(columns, rows) {
  const cell = (value) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  const lines = rows.map((row) => columns.map(({ id }) => cell(row[id])).join(','))
  return `${columns.map(({ id }) => id).join(',')}\n${lines.join('\n')}\n`
}
