// CPU of the main thread for an import, a page, a point read and an update, compared with the whole process.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emptyFiles } from './empty-files.mjs'
import { measureHttp } from './http-import.mjs'
import { ROWS_PER_CHUNK, writeChunkFiles } from './peers/data-sets.mjs'
import { median, printTable } from './report.mjs'

const PROCESS = fileURLToPath(new URL('main-process.mjs', import.meta.url))

export async function measureMain(directory, { rows: wanted, rounds, seed, data, storeOptions }) {
  const rows = Math.ceil(wanted / ROWS_PER_CHUNK) * ROWS_PER_CHUNK
  const chunkFolder = join(directory, 'chunks')
  const { files: chunkFiles } = writeChunkFiles(chunkFolder, { data, seed })
  const runs = []
  for (let round = 0; round < rounds; round++) {
    const place = join(directory, `main-${round}`)
    runs.push(
      await runOnce({ directory: place, data, rows, chunkFolder, chunkFiles, storeOptions }),
    )
    await emptyFiles(place)
  }
  const http = await measureHttp(directory, { rows, rounds, chunkFolder })
  return { rows, runs, http }
}

async function runOnce(argument) {
  const child = fork(PROCESS, [JSON.stringify(argument)])
  const [{ measured, failed }] = await once(child, 'message')
  if (failed !== undefined) throw new Error(failed)
  return measured
}

const FIGURES = [
  ['import, 1,000 rows', ({ import: used }) => used],
  ['page of 1,000 rows', ({ fresh }) => fresh.page],
  ['point read, cold', ({ fresh }) => fresh.point],
  ['update, 32 callers', ({ fresh }) => fresh.update],
  ['recompression, 1,000 rows', ({ recompress }) => recompress],
  ['page of 1,000 rows, recompressed', ({ recompressed }) => recompressed.page],
  ['point read, cold, recompressed', ({ recompressed }) => recompressed.point],
  ['update, 32 callers, recompressed', ({ recompressed }) => recompressed.update],
]

export function printMain({ rows, runs, http }) {
  const lines = FIGURES.map(([what, figureOf]) => lineOf(what, runs.map(figureOf)))
  const each = ({ cpu }) => ({
    main: cpu.main === undefined ? undefined : (cpu.main * ROWS_PER_CHUNK) / rows,
    all: (cpu.all * ROWS_PER_CHUNK) / rows,
  })
  lines.push(lineOf('import over HTTP, 1,000 rows: the server', http.rowstash.map(each)))
  lines.push(lineOf('PUTs that are only parsed, 1,000 rows', http.parser.map(each)))
  printTable(['CPU, µs', 'main thread', 'whole process'], lines)
}

function lineOf(what, used) {
  const middle = (name) => {
    const figures = used.map(({ [name]: figure }) => figure)
    return figures.includes(undefined) ? '?' : median(figures).toFixed(1)
  }
  return [what, middle('main'), middle('all')]
}
