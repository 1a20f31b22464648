// The formats of sources of rows, and how files indicate them.

/** `ndjson` is one JSON object per line. */
export const SOURCE_FORMATS = ['csv', 'tsv', 'json', 'ndjson'] as const
export type SourceFormat = (typeof SOURCE_FORMATS)[number]

const FORMAT_OF_EXTENSION: ReadonlyMap<string, SourceFormat> = new Map([
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['tab', 'tsv'],
  ['json', 'json'],
  ['ndjson', 'ndjson'],
  ['jsonl', 'ndjson'],
])

/** Formats by the media types of files, without parameters and in lower case. */
export const FORMAT_OF_TYPE: ReadonlyMap<string, SourceFormat> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['application/csv', 'csv'],
  ['text/tab-separated-values', 'tsv'],
  ['text/tsv', 'tsv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
])

/** The media types of bodies of rows. NDJSON is sent as a JSON array. */
export const BODY_TYPE_OF_FORMAT: Readonly<Record<SourceFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/json',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
}

/** The format by a file name's extension; undefined: unknown. */
export function formatOfName(name: string): SourceFormat | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return FORMAT_OF_EXTENSION.get(extension)
}

export function isJson(format: SourceFormat): boolean {
  return format === 'json' || format === 'ndjson'
}
