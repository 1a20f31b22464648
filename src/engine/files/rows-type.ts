// Media types of rows: of request bodies, and of files that tables are imported from.
import { FORMAT_OF_TYPE, type SourceFormat } from '../../base/source-format.js'
import { parseMediaType } from './media-type.js'

/** Accepted charsets. All are read as UTF-8, of which US-ASCII is a subset. */
const CHARSETS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** A media type of rows. */
export type RowsType = Readonly<{
  format: SourceFormat
  /** A charset other than UTF-8; undefined: none. */
  foreignCharset: string | undefined
  /** The parameter `header` of RFC 4180, in lower case. */
  header: string | undefined
}>

/** Reads the media type of rows; undefined for a text that is not one. */
export function parseRowsType(text: string): RowsType | undefined {
  const media = parseMediaType(text, 'lenient')
  const format = media && FORMAT_OF_TYPE.get(media.essence)
  if (media === undefined || format === undefined) return undefined
  const charset = media.parameters.get('charset')
  const isRead = charset === undefined || CHARSETS.has(charset.toLowerCase())
  const header = media.parameters.get('header')?.toLowerCase()
  return { format, foreignCharset: isRead ? undefined : charset, header }
}
