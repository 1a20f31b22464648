// Finds the place of a refused row in the files of an import.
//
// The server answers `in row 3 (counted from 0) of chunk '7', line 5`, without the chunk in the answer to the chunk
// itself. The files are read again to find that row, so a successful import pays nothing.
import { isJson } from '../base/records.js'
import { endOfLineBreak } from './csv-fields.js'
import { canReadAgain, linesAt } from './import-bytes.js'
import { type RowRun, readFileRuns, type SourceFile } from './import-source.js'

/** Characters are counted from the beginning of a chunk, which says nothing to whoever has the file. */
const ROW_PLACE =
  /(?: at character \d{1,15})? in row (\d{1,15}) \(counted from 0\)(?: of chunk '([^']{1,256})')?(?:, line \d{1,15})?/

/** The place of the CSV header, which each chunk repeats, in the message of a server. */
const HEADER_PLACE = / in line 1(?!\d)/

export type RecordPlace = Readonly<{ run: number; record: number }>

/** How the chunks of an import were cut from its files. */
export type Cut = Readonly<{
  files: readonly SourceFile[]
  chunkRowsMax: number
  /** Where a chunk begins: the index of its run, and of the first record of the run that is in it. */
  startOf(serial: string): RecordPlace | undefined
}>

/**
 * The message of a server, with the file and the line in it in place of the chunk and the row.
 * @param sentSerial - The chunk that was refused itself; undefined: it was a table operation.
 */
export async function placeMessage(
  message: string,
  sentSerial: string | undefined,
  cut: Cut,
): Promise<string> {
  const found = ROW_PLACE.exec(message)
  const serial = found?.[2] ?? sentSerial
  const start = serial === undefined ? undefined : cut.startOf(serial)
  if (start === undefined) return message
  const row = found === null ? 0 : Number(found[1])
  const [place] = await findRows(cut, [{ ...start, row }])
  if (place === undefined) return message
  const { path, line } = place
  if (found !== null) return message.replace(ROW_PLACE, () => ` in ${path}, line ${line}`)
  if (HEADER_PLACE.test(message)) return message.replace(HEADER_PLACE, () => ` in ${path}, line 1`)
  return `${message} (${path}, from line ${line} on)`
}

export type RowPlace = Readonly<{ path: string; line: number }>

/** A row of a chunk: where its chunk begins, and its index from there on, as the server counts rows. */
type WantedRow = RecordPlace & Readonly<{ row: number }>

/**
 * Finds the places of rows, in the order of `rows`, with two passes over each file that has one.
 * undefined: no chunk of this import, or a file that cannot be read again or is not what it was.
 */
export async function findPlaces(
  cut: Cut,
  rows: readonly Readonly<{ serial?: string; row: number }>[],
): Promise<readonly (RowPlace | undefined)[]> {
  const wanted = rows.map(({ serial, row }): WantedRow => {
    const start = serial === undefined ? undefined : cut.startOf(serial)
    return { run: -1, record: 0, ...start, row }
  })
  return findRows(cut, wanted)
}

async function findRows(
  { files, chunkRowsMax }: Cut,
  wanted: readonly WantedRow[],
): Promise<(RowPlace | undefined)[]> {
  const places = Array.from<RowPlace | undefined>({ length: wanted.length })
  const ofRuns = new Map<number, number[]>()
  for (const [i, { run }] of wanted.entries()) ofRuns.set(run, [...(ofRuns.get(run) ?? []), i])
  ofRuns.delete(-1)
  let runIndex = 0
  for (const file of files) {
    if (ofRuns.size === 0 || !(await canReadAgain(file.path))) break
    const found: { at: number; offset: number }[] = []
    for await (const run of readFileRuns(file, chunkRowsMax)) {
      for (const at of ofRuns.get(runIndex) ?? []) {
        const { record = 0, row = 0 } = wanted[at] ?? {}
        const offset = offsetOfRow(run, record, row) ?? (row === 0 ? run.offset : undefined)
        if (offset !== undefined) found.push({ at, offset })
      }
      ofRuns.delete(runIndex++)
      if (ofRuns.size === 0) break
    }
    if (found.length === 0) continue
    found.sort((left, right) => left.offset - right.offset)
    const offsets = found.map(({ offset }) => offset)
    const lines = await linesAt(file.path, offsets)
    for (const [i, { at }] of found.entries()) places[at] = { path: file.path, line: lines[i] ?? 1 }
  }
  return places
}

/** Where in its source a row begins that the server counted from a record on. */
function offsetOfRow(run: RowRun, firstRecord: number, row: number): number | undefined {
  const { format, bytes, starts, ends, offset } = run
  if (isJson(format)) return sum(offset, starts[firstRecord + row])
  let rows = 0
  for (let record = firstRecord; record < starts.length; record++, rows++) {
    // Each empty line in front of a record is a row without cells.
    for (let at = starts[record] ?? 0; ; rows++) {
      if (rows === row) return offset + at
      const next = endOfLineBreak(bytes, at)
      if (next === at || next >= (ends[record] ?? 0)) break
      at = next
    }
  }
  return undefined
}

function sum(offset: number, start: number | undefined): number | undefined {
  return start === undefined ? undefined : offset + start
}
