// Creates a table from a file at a URL: fetched under the guard of source URLs, read as it arrives, and created in
// one commit.

import { NAME_CHARS_MAX } from '../../base/limits.js'
import { checkNotAborted } from '../../base/signals.js'
import { formatOfName, isJson, type SourceFormat } from '../../base/source-format.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import type { Dialect } from '../../intake/dialect.js'
import { isEncoding } from '../../intake/dialect-rules.js'
import type { JobGuard } from '../commit/job-guard.js'
import type { TeamContext } from '../context/store-context.js'
import { cleanFileName, nameInUrl } from '../files/file-name.js'
import { parseRowsType, type RowsType } from '../files/rows-type.js'
import { foreignOption, readDialect, type SaidOfRows } from '../import/dialect-rows.js'
import { type SourceProgress, SourceRows } from '../import/source-rows.js'
import type { Authored } from '../types/call-types.js'
import type { CreateResult, OnSchemaError } from '../types/row-types.js'
import { type FetchedSource, fetchOf } from '../types/url-fetcher.js'
import { createTable } from './create-table.js'

export type ImportSource = Readonly<{
  fromUrl: string
  /** undefined: the table gets the name of the file without its extension. */
  name: string | undefined
  /** undefined: the response tells the format by its media type or the name of the file. */
  format: SourceFormat | undefined
  /** The dialect of the file; undefined: that of its format. */
  said?: SaidOfRows | undefined
  onSchemaError: OnSchemaError
  /** Whether to keep and return the receipt. */
  receipt?: boolean | undefined
  /** The job that runs the import. Its record has the ID of the new table. */
  guard?: JobGuard | undefined
  /** Who creates the table; undefined: unknown. */
  by?: Authored | undefined
  signal?: AbortSignal | undefined
}>

/** @throws {StoreError} SOURCE_URL_…, FILE_TOO_LARGE, RATE_LIMITED, and as `createTable` */
export function importTable(
  team: TeamContext,
  { fromUrl, name, format, said, onSchemaError, receipt, guard, by, signal }: ImportSource,
  onProgress: (progress: SourceProgress) => void,
): Promise<CreateResult> {
  const { fileBytesMax } = team.options
  const fetchSource = fetchOf(team.options)
  const run = async (ending: AbortSignal): Promise<CreateResult> => {
    const source = await fetchSource(fromUrl, { bytesMax: fileBytesMax }, ending)
    try {
      const noted = (progress: SourceProgress): void => {
        team.lifecycle.checkOpen() // So a close need not wait for a long source.
        onProgress(progress)
      }
      const rows = new SourceRows(openFile(team, source, format, said), noted)
      const request = {
        rows,
        schema: undefined,
        onSchemaError,
        key: undefined,
        guard,
        receipt,
        by,
        signal,
      }
      return await createTable(team, { ...request, name: name ?? nameOfSource(source) })
    } finally {
      source.close()
    }
  }
  return team.lifecycle.untilClosed(async (closing) => {
    const ending = signal === undefined ? closing : AbortSignal.any([closing, signal])
    try {
      return await team.transferLimit.run(team.teamId, () => run(ending), ending)
    } catch (failure) {
      if (isStoreError(failure) && failure.code === 'ABORTED') checkNotAborted('import', signal)
      throw failure
    }
  })
}

/** The type of a web page, such as a sign-in page instead of the file. */
const HTML = /^\s*text\/html\s*(?:;|$)/i

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
function openFile(
  team: TeamContext,
  source: FetchedSource,
  given: SourceFormat | undefined,
  said: SaidOfRows | undefined,
): Readonly<{ pieces: FetchedSource['body']; format: SourceFormat }> {
  const type = parseRowsType(source.contentType ?? '')
  const charset = type?.foreignCharset
  if (given === undefined && charset !== undefined && said === undefined) {
    throw invalidSource(`has the charset ${JSON.stringify(charset)}; it must be UTF-8`)
  }
  const format = given ?? formatOfSource(source, type)
  if (said === undefined) return { pieces: source.body, format }
  const foreign = foreignOption(said, format)
  if (foreign !== undefined) throw invalidSource(`has no ${foreign.name}, which ${foreign.problem}`)
  const whole = { ...said, dialect: { ...dialectOfType(type), ...said.dialect } }
  return readDialect(team, { pieces: source.body, format }, whole)
}

/** The dialect that a media type states. @throws {StoreError} REQUEST_VALIDATION_ERROR for an unknown charset */
function dialectOfType(type: RowsType | undefined): Dialect {
  if (type === undefined) return {}
  const { format, foreignCharset: encoding, header } = type
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw invalidSource(`has the charset ${JSON.stringify(encoding)}, which is unknown`)
  }
  const isHeaderless = header === 'absent' && !isJson(format)
  return { ...(encoding && { encoding }), ...(isHeaderless && { header }) }
}

/**
 * The format by the media type. If that names no format (many servers send text/plain or application/octet-stream), by
 * the extension of the name.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
function formatOfSource(
  { contentType, fileName, url }: FetchedSource,
  type: RowsType | undefined,
): SourceFormat {
  const format = type?.format ?? formatOfName(fileName ?? '') ?? formatOfName(nameInUrl(url))
  if (format === undefined) {
    throw invalidSource(
      'has neither a media type nor an extension of CSV, TSV, JSON or NDJSON (one object per line)',
    )
  }
  if (HTML.test(contentType ?? '')) throw invalidSource('is an HTML page, and has no rows')
  return format
}

function invalidSource(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `The file at fromUrl ${problem}`)
}

/** The name of the file without its extension. */
function nameOfSource({ fileName, url }: FetchedSource): string {
  const name = cleanFileName(fileName || nameInUrl(url))
  return (name.replace(/\.[^.]+$/, '') || name).slice(0, NAME_CHARS_MAX)
}
