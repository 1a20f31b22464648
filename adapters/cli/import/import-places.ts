// Finds the place of a refused row in the files of an import.
//
// The server answers `in row 3 (counted from 0) of chunk '7', line 5`; the answer to a chunk itself does not name the
// chunk. The files are read again to find the row, so a successful import costs nothing more.
import type { ChunkPlace } from '../../../src/client/client.js'
import { canReadAgain, openFileBytes } from './import-bytes.js'
import { isEmptied, openFileText, type RowRun, readFileRuns } from './import-source.js'
import { type RowPlace, renderPlace, type SourceFile } from './source-file.js'

/** The place of a row in a server's message, with a character position before it, which counts only in the chunk. */
const ROW_PLACE =
  /(?: at character \d{1,15}(?: of the input,)?(?= in row ))?( in )?\brow (\d{1,15}) \(counted from 0\)(?! of the input)(?: of chunk '[^']{1,256}')?(?:, line \d{1,15})?(?: of the input)?/g

/** The place of the CSV header, which each chunk repeats, in a server's message. */
const HEADER_PLACE = / in line 1(?!\d)/

/** How the chunks of an import were cut from its files: each chunk is a run. */
export type Cut = Readonly<{
  files: readonly SourceFile[]
  chunkRowsMax: number
  /** The part of a run that was sent. If it has no rows, no chunk was sent. Default: the whole run. */
  sentOf?: ((run: RowRun) => Promise<RowRun>) | undefined
}>

/** A server's message without its row and line. */
export function messageWithoutPlace(message: string): string {
  return message.replace(ROW_PLACE, '')
}

/**
 * A server's message, with the file and line instead of the chunk and row.
 * @param starts - The chunks of the rows that the message names, in the same order. If the message names no row: the
 *   chunk of the row that it concerns.
 */
export async function placeMessage(
  message: string,
  starts: readonly ChunkPlace[],
  cut: Cut,
): Promise<string> {
  const named = [...message.matchAll(ROW_PLACE)]
  const rows = starts.map((start, i) => ({ start, row: Number(named[i]?.[2] ?? 0) }))
  const places = await findPlaces(cut, rows)
  if (named.length > 0) {
    let next = 0
    return message.replace(ROW_PLACE, (text: string, before = '') => {
      const place = places[next++]
      return place === undefined ? text : before + renderPlace(place)
    })
  }
  const [place] = places
  if (place === undefined) return message
  const { path, line, unit } = place
  if (HEADER_PLACE.test(message)) {
    const header = await findHeaderLine(path, cut)
    return message.replace(HEADER_PLACE, () => ` in ${path}, line ${header}`)
  }
  return `${message} (${path}, starting at ${unit} ${line})`
}

/** The line of the header. It is not line 1 if lines before the header are skipped. */
async function findHeaderLine(path: string, { files }: Cut): Promise<number> {
  const file = files.find((known) => known.path === path)
  if (file === undefined || file.format === 'parquet') return 1
  const intake = await openFileText(openFileBytes(path), file.format, 1, file)
  return intake.report.headerLine ?? 1
}

/** A row: the beginning of its chunk or part, and its index from there, as the server counts. */
type WantedRow = Readonly<{ start: ChunkPlace | undefined; row: number }>

/**
 * Finds the places of rows, in the order of `wanted`, with at most one pass per file. A place is undefined if its chunk
 * is not of this import, or if its file cannot be read again or has changed.
 */
export async function findPlaces(
  { files, chunkRowsMax, sentOf }: Cut,
  wanted: readonly WantedRow[],
): Promise<readonly (RowPlace | undefined)[]> {
  const places = Array.from<RowPlace | undefined>({ length: wanted.length })
  const ofRuns = new Map<number, number[]>()
  for (const [i, { start }] of wanted.entries()) {
    if (start !== undefined) ofRuns.set(start.chunk, [...(ofRuns.get(start.chunk) ?? []), i])
  }
  let runIndex = 0
  for (const file of files) {
    if (ofRuns.size === 0 || !(await canReadAgain(file))) break
    for await (const whole of readFileRuns(file, chunkRowsMax)) {
      const run = (await sentOf?.(whole)) ?? whole
      if (isEmptied(run, whole)) continue
      for (const at of ofRuns.get(runIndex) ?? []) {
        const { start, row = 0 } = wanted[at] ?? {}
        const offset = run.offsets[(start?.row ?? 0) + row] ?? (row === 0 ? 0 : undefined)
        if (offset !== undefined) places[at] = run.placeOf(offset)
      }
      ofRuns.delete(runIndex++)
      if (ofRuns.size === 0) break
    }
  }
  return places
}
