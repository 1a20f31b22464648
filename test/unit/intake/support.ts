// Sources for the intake, and the cells that it reads from them.
import { parse } from 'csv-parse/sync'
import type { Dialect } from '../../../src/intake/dialect.js'
import { type IntakeReport, openIntake } from '../../../src/intake/intake.js'

export type Read = Readonly<{
  columns: readonly string[]
  rows: readonly string[][]
  report: IntakeReport
}>

type How = Readonly<{
  format?: 'csv' | 'tsv' | 'json' | 'ndjson'
  dialect?: Dialect
  detects?: boolean
  at?: string
  nested?: 'flatten' | 'text'
  omits?: readonly string[]
  kinds?: Readonly<Record<string, string>>
  /** Default: true. */
  areFixed?: boolean
  /** Bytes per piece. Default: all. */
  size?: number
  rowsMax?: number
}>

async function* piecesOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Opens a source. Default: missing options are detected. */
export async function open(source: string | Uint8Array, how: How = {}) {
  const { format = 'csv', detects = true, kinds, size = Number.MAX_SAFE_INTEGER, ...said } = how
  const { rowsMax = 1_000, dialect, at, nested, omits } = said
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source
  const limits = { rowsMax, bytesMax: 1 << 20, rowBytesMax: 1 << 24 }
  const known = kinds && { kinds: new Map(Object.entries(kinds)), areFixed: how.areFixed ?? true }
  const kindsOf = async () => known
  return openIntake(piecesOf(bytes, size), {
    format,
    dialect,
    detects,
    at,
    nested,
    omits,
    limits,
    kindsOf,
  })
}

/** What a server would read from the source. */
export async function read(source: string | Uint8Array, how: How = {}): Promise<Read> {
  const intake = await open(source, how)
  let columns: readonly string[] = []
  const rows: string[][] = []
  for await (const { format, header, bytes, starts, offsets } of intake.runs) {
    if (starts.length !== offsets.length) throw new Error('Each row has a place')
    const delimiter = format === 'tsv' ? '\t' : ','
    const options = { delimiter, relax_column_count: true, skip_empty_lines: false }
    const body = Buffer.concat([header, bytes])
    const [first = [], ...others] = parse(body, options) as string[][]
    if (others.length !== starts.length) throw new Error('Each record is a row')
    columns = first
    rows.push(...others)
  }
  return { columns, rows, report: intake.report }
}

/** The rows of a JSON source. */
export async function readJson(source: string, how: How = {}): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for await (const { bytes } of (await open(source, { format: 'json', ...how })).runs) {
    rows.push(...JSON.parse(`[${new TextDecoder().decode(bytes)}]`))
  }
  return rows
}

export function codesOf({ report }: Read): readonly string[] {
  return report.advice.map(({ code }) => code)
}
