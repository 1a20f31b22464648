// A file that a person has chosen: read by pieces, never as a whole, and decompressed on the way if it is of gzip.
import { concatBytes } from '../../../../src/base/bytes.js'
import { type CutRun, cutRecords, partsOfRun } from '../../../../src/base/record-cutter.js'
import {
  BODY_TYPE_OF_FORMAT,
  formatOfName,
  isJson,
  type SourceFormat,
} from '../../../../src/base/source-format.js'
import { readWebStream } from '../../../../src/base/web-stream.js'
import { parseJson } from '../base/json-text.js'
import { parseCsvFields } from './csv-fields.js'

export const FORMATS: readonly SourceFormat[] = ['csv', 'tsv', 'json', 'ndjson']

/** What the sample of a file has, at most. */
const SAMPLE = { rowsMax: 50, bytesMax: 256 * 1024, rowBytesMax: 4 * 1024 * 1024 }

/** Bytes of a file that tell whether it is text. */
const HEAD_BYTES = 4_096

/** The bytes of a file, as a Blob that the client cuts into chunks. */
export class ReadFile extends Blob {
  readonly file: File
  readonly isGzip: boolean
  /** Bytes of the file, as it is on the disk, that were read so far. */
  bytesRead = 0

  constructor(file: File) {
    super()
    this.file = file
    this.isGzip = /\.gz$/i.test(file.name) || /gzip$/.test(file.type)
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.bytesRead = 0
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (piece, controller) => {
        this.bytesRead += piece.length
        controller.enqueue(piece)
      },
    })
    const stream = this.file.stream().pipeThrough(count)
    return this.isGzip ? stream.pipeThrough(new DecompressionStream('gzip')) : stream
  }
}

/** The name of a file without the extensions that say how it is written. */
export function plainName(name: string): string {
  return name.replace(/\.gz$/i, '').replace(/\.(?:csv|tsv|tab|json|ndjson|jsonl)$/i, '')
}

/** The format that the name of a file tells. */
export function formatOf({ name }: File): SourceFormat | undefined {
  return formatOfName(name.replace(/\.gz$/i, ''))
}

/** The first rows of a file: for people, and as the body of a request that checks them. */
export type Sample = Readonly<{
  columns: readonly string[]
  rows: readonly Readonly<Record<string, unknown>>[]
  type: string
  body: Uint8Array<ArrayBuffer>
}>

/** @throws {Error} if the beginning of the file is not of this format */
export async function readSample(file: ReadFile, format: SourceFormat): Promise<Sample> {
  for await (const run of cutRecords(readWebStream(file.stream()), format, SAMPLE)) {
    const rows = isJson(format) ? jsonRows(run) : fieldRows(run, format)
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    const body = concatBytes(partsOfRun(run, format)) as Uint8Array<ArrayBuffer>
    return { columns, rows, type: BODY_TYPE_OF_FORMAT[format], body }
  }
  return { columns: [], rows: [], type: 'application/json', body: new TextEncoder().encode('[]') }
}

type Run = Pick<CutRun, 'header' | 'bytes' | 'starts' | 'ends'>

function textsOfRun({ bytes, starts, ends }: Run): readonly string[] {
  const decoder = new TextDecoder()
  return starts.map((start, index) => decoder.decode(bytes.subarray(start, ends[index])))
}

function jsonRows(run: Run): readonly Readonly<Record<string, unknown>>[] {
  return textsOfRun(run).map((text) => Object(parseJson(text)) as Record<string, unknown>)
}

function fieldRows(run: Run, format: SourceFormat): readonly Readonly<Record<string, unknown>>[] {
  const separator = format === 'csv' ? ',' : '\t'
  const names = parseCsvFields(new TextDecoder().decode(run.header), separator)
  return textsOfRun(run).map((text) => {
    const fields = parseCsvFields(text, separator)
    return Object.fromEntries(names.map((name, index) => [name, fields[index]]))
  })
}

/**
 * Whether a file, or what of it was compressed, may have rows as text: its beginning is UTF-8 without a zero byte. What
 * cannot be decompressed is said when it is read.
 */
export async function isText(file: ReadFile): Promise<boolean> {
  const pieces = readWebStream(file.stream())
  const first = await pieces.next().catch(() => undefined)
  await pieces.return?.().catch(() => undefined)
  if (first === undefined || first.done === true) return true
  return isTextBegun(first.value.subarray(0, HEAD_BYTES))
}

function isTextBegun(head: Uint8Array): boolean {
  try {
    // A character may be cut at the end.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return !head.includes(0)
  } catch {
    return false
  }
}
