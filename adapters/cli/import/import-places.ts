// Finds the place of a refused row in the files of an import.
//
// The server answers `in row 3 (counted from 0) of chunk '7', line 5`, without the chunk in the answer to the chunk
// itself. The files are read again to find that row, so a successful import pays nothing.
import type { ChunkPlace } from '../../../src/client/client.js'
import { canReadAgain, openFileBytes } from './import-bytes.js'
import { isEmptied, openFileText, type RowRun, readFileRuns } from './import-source.js'
import { type RowPlace, renderPlace, type SourceFile } from './source-file.js'

/** Characters are counted from the beginning of a chunk, which says nothing to whoever has the file. */
const ROW_PLACE =
  /(?: at character \d{1,15}(?: of the input,)?(?= in row ))?( in )?\brow (\d{1,15}) \(counted from 0\)(?! of the input)(?: of chunk '[^']{1,256}')?(?:, line \d{1,15})?(?: of the input)?/g

/** The place of the CSV header, which each chunk repeats, in the message of a server. */
const HEADER_PLACE = / in line 1(?!\d)/

/** How the chunks of an import were cut from its files: each is a run. */
export type Cut = Readonly<{
  files: readonly SourceFile[]
  chunkRowsMax: number
  /** The rows of a run that were sent; a run of which none was is no chunk. Default: all. */
  sentOf?: ((run: RowRun) => Promise<RowRun>) | undefined
}>

/** A message of a server, without the row and the line in it. */
export function messageWithoutPlace(message: string): string {
  return message.replace(ROW_PLACE, '')
}

/**
 * The message of a server, with the file and the line in it in place of the chunk and the row.
 * @param starts - Where the rows begin that the message names, in its order; or that it is about, if it names none.
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

/** The line of a header, which is not the first if lines in front of it are left out. */
async function findHeaderLine(path: string, { files }: Cut): Promise<number> {
  const file = files.find((known) => known.path === path)
  if (file === undefined || file.format === 'parquet') return 1
  const intake = await openFileText(openFileBytes(path), file.format, 1, file)
  return intake.report.headerLine ?? 1
}

/** A row: where its chunk begins, or a part of it, and its index from there on, as the server counts rows. */
type WantedRow = Readonly<{ start: ChunkPlace | undefined; row: number }>

/**
 * Finds the places of rows, in the order of `wanted`, with one pass over each file that has one.
 * undefined: no chunk of this import, or a file that cannot be read again or is not what it was.
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
