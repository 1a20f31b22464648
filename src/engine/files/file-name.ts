// Cleans names of files. A name is only a label, never part of a path. It is cleaned because it will appear in save
// dialogs, shells and folders of other users.
//
// Invariants of a clean name:
// - 1 to 255 bytes of well-formed UTF-8 in NFC, and cleaning it again changes nothing.
// - No separator, no character that a common file system refuses, no control character, no character that changes the
//   text direction or is invisible, no space or dot at the end.
// - Not the name of a Windows device, with or without an extension.
import { utf8 } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'

/** Maximum number of characters (code points) of a name from a client. */
const FILE_NAME_CHARS_MAX = 255

/** Maximum number of bytes of a name in common file systems. */
const FILE_NAME_BYTES_MAX = 255

/** The name given to a file without a name. */
const NAMELESS = 'file'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if the name is not a string, is empty or is too long. */
export function checkFileName(given: unknown): string {
  // A character has one or two UTF-16 units, so the number of units bounds the spread.
  const isBounded = typeof given === 'string' && given.length <= 2 * FILE_NAME_CHARS_MAX
  if (isBounded && given !== '' && [...given].length <= FILE_NAME_CHARS_MAX) {
    return cleanFileName(given)
  }
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `fileName must be a string of 1 to ${FILE_NAME_CHARS_MAX} characters`,
  )
}

/** Characters that join other characters, and characters that select the appearance of the preceding character. */
const JOINER = /\u200c|\u200d/
const SELECTOR = /\ufe0e|\ufe0f/

/**
 * Unicode controls and marks that are invisible, or change the appearance of text around them. Joiners and selectors are
 * left to `UNJOINED`.
 */
const UNSEEN = new RegExp(
  `[\\p{Cc}\\p{Zl}\\p{Zp}\\u2800\\ufff9-\\ufffb]|(?!${JOINER.source}|${SELECTOR.source})\\p{Default_Ignorable_Code_Point}`,
  'gu',
)

/**
 * Joiners that join nothing, and selectors that select nothing. Both are allowed within an emoji. Joiners are also
 * allowed between letters of scripts without cases, which need joiners.
 */
const UNJOINED = new RegExp(
  [
    `(?<!\\p{Lo}\\p{M}*|\\p{Extended_Pictographic}(?:\\ufe0f|\\p{Emoji_Modifier})?)(?:${JOINER.source})`,
    `(?:${JOINER.source})(?!\\p{Lo}|\\p{Extended_Pictographic})`,
    `(?<!\\p{Extended_Pictographic}|[0-9#](?=(?:${SELECTOR.source})\\u20e3))(?:${SELECTOR.source})`,
  ].join('|'),
  'gu',
)
const LONE_SURROGATE = /\p{Surrogate}/gu
const REFUSED_BY_FILE_SYSTEMS = /[<>:"/\\|?*]/g

/** Makes a clean name of any text, including the unchecked text of a source. */
export function cleanFileName(given: string): string {
  const seen = lastSegment(given).replace(LONE_SURROGATE, '_').replace(UNSEEN, '')
  const visible = seen.replace(UNJOINED, '')
  // Characters are composed before any is replaced: `<` with a combining stroke is one character, which may stay.
  const replaced = visible.normalize('NFC').replace(REFUSED_BY_FILE_SYSTEMS, '_')
  const name = cutName(replaced.trimStart())
  return renameDevice(name) || NAMELESS
}

/**
 * Maximum number of characters of a name that are read, besides its extension. It is far greater than that of a clean
 * name.
 */
const SEGMENT_CHARS_READ_MAX = 4_096

/** The last non-empty part of a path, with either kind of slash. */
function lastSegment(path: string): string {
  const segments = path.split(/[/\\]/)
  const segment = segments.findLast((part) => part !== '') ?? ''
  if (segment.length <= SEGMENT_CHARS_READ_MAX) return segment
  return segment.slice(0, SEGMENT_CHARS_READ_MAX) + extensionOf(segment)
}

function joins(character: string): boolean {
  return JOINER.test(character) || SELECTOR.test(character)
}

/** Shortens a name, without cutting a character, and keeps the extension, which shows the file's type. */
function cutName(name: string): string {
  let bytes = utf8(name).length
  if (bytes <= FILE_NAME_BYTES_MAX) return trimEnd(name)
  const extension = extensionOf(name)
  const characters = [...name.slice(0, name.length - extension.length)]
  while (bytes > FILE_NAME_BYTES_MAX || joins(characters.at(-1) ?? '')) {
    bytes -= utf8(characters.pop() ?? '').length
  }
  return trimEnd(characters.join('') + extension)
}

/** The extension of a name, if the part after the last dot looks like one: a short ASCII word. */
function extensionOf(name: string): string {
  return /\.[A-Za-z0-9]{1,16}$/.exec(name)?.[0] ?? ''
}

/** Drops spaces and dots at the end: Windows ignores them, so that the name would mean another file. */
function trimEnd(name: string): string {
  let end = name.length
  while (end > 0 && /[\s.]/.test(name.charAt(end - 1))) end--
  return name.slice(0, end)
}

const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\s*(?:\.|$))/i

function renameDevice(name: string): string {
  return cutName(name.replace(DEVICE, '$&_'))
}

/** The decoded name at the end of a URL's path; empty if the path ends without a name. */
export function nameInUrl(url: string): string {
  const { pathname } = new URL(url)
  const segment = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(segment)
  } catch (failure) {
    if (failure instanceof URIError) return segment
    throw failure
  }
}
