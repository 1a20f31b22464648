// Finds the place of a refused row in the files of an import.
//
// The server answers `in row 3 (counted from 0) of chunk '7', line 5`, without the chunk in the answer to the chunk
// itself. The files are read again to find that row, so a successful import pays nothing.
import { isJson } from '../base/records.js'
import { endOfLineBreak } from './csv-fields.js'
import { canReadAgain, lineAt } from './import-bytes.js'
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
  const place = await findRow(cut, start, found === null ? 0 : Number(found[1]))
  if (place === null) return message
  const { path, line } = place
  if (found !== null) return message.replace(ROW_PLACE, () => ` in ${path}, line ${line}`)
  if (HEADER_PLACE.test(message)) return message.replace(HEADER_PLACE, () => ` in ${path}, line 1`)
  return `${message} (${path}, from line ${line} on)`
}

type RowPlace = Readonly<{ path: string; line: number }>

/** Finds a row of a chunk; null: a file cannot be read again, or is not what it was. */
async function findRow(
  { files, chunkRowsMax }: Cut,
  start: RecordPlace,
  row: number,
): Promise<RowPlace | null> {
  let index = 0
  for (const file of files) {
    if (!(await canReadAgain(file.path))) return null
    for await (const run of readFileRuns(file, chunkRowsMax)) {
      if (index++ < start.run) continue
      const offset = offsetOfRow(run, start.record, row) ?? (row === 0 ? run.offset : undefined)
      const line = offset === undefined ? null : await lineAt(file.path, offset)
      return line === null ? null : { path: file.path, line }
    }
  }
  return null
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
