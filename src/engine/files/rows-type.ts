// Media types of rows, for request bodies and for files from which tables are imported.
import { FORMAT_OF_TYPE, type SourceFormat } from '../../base/source-format.js'
import { parseMediaType } from './media-type.js'

/** Accepted charsets. All of them are read as UTF-8, of which US-ASCII is a subset. */
const CHARSETS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** A media type of rows. */
export type RowsType = Readonly<{
  format: SourceFormat
  /** The named charset if it is not read as UTF-8; undefined: no such charset is named. */
  foreignCharset: string | undefined
  /** The parameter `header` of RFC 4180, in lower case. */
  header: string | undefined
}>

/** Reads the media type of rows; undefined: the text is not such a media type. */
export function parseRowsType(text: string): RowsType | undefined {
  const media = parseMediaType(text, 'lenient')
  const format = media && FORMAT_OF_TYPE.get(media.essence)
  if (media === undefined || format === undefined) return undefined
  const charset = media.parameters.get('charset')
  const isRead = charset === undefined || CHARSETS.has(charset.toLowerCase())
  const header = media.parameters.get('header')?.toLowerCase()
  return { format, foreignCharset: isRead ? undefined : charset, header }
}
