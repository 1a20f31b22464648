// Decides the media type of a served file. Files are untrusted and must not run in a browser, so only the types on
// a list are shown, and all others are downloaded. (A list of dangerous types would become wrong with the next type
// that a browser supports.)
import { parseMediaType } from '../engine/files/media-type.js'

export type ServedMedia = Readonly<{ type: string; kind: 'inline' | 'attachment' }>

/** Types that browsers show and that hold no script, no markup and no links to elsewhere. */
const INLINE: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/jpg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'audio/mpeg',
  'audio/mp3',
  'audio/mp4',
  'audio/x-m4a',
  'audio/aac',
  'audio/flac',
  'audio/ogg',
  'audio/webm',
  'audio/wav',
  'audio/x-wav',
  'audio/wave',
  'video/mp4',
  'video/webm',
  'video/ogg',
  'text/plain',
])

const UNKNOWN = 'application/octet-stream'

/** Parameters are dropped: a boundary or a charset can turn one file into another. */
export function serveAs(contentType: string): ServedMedia {
  const essence = parseMediaType(contentType)?.essence ?? UNKNOWN
  // Without a boundary it cannot be read, and with one its parts would have types of their own.
  if (essence.startsWith('multipart/')) return { type: UNKNOWN, kind: 'attachment' }
  const kind = INLINE.has(essence) ? 'inline' : 'attachment'
  return { type: essence === 'text/plain' ? 'text/plain; charset=utf-8' : essence, kind }
}
