// Tells a path or a URL from a text of rows: a caller who passes the name of a file means its content.

/** How URLs, absolute paths and explicit relative ones begin. */
const BEGINNING = /^(?:[a-z][a-z\d+.-]*:[\\/]|(?:blob|data|file):|(?:\.{1,2}|~)?[\\/])/i
const EXTENSION = /\.(?:csv|tsv|tab|txt|json|ndjson|jsonl|parquet|xlsx?|gz|zst|zip)$/i
/** How JSON and quoted fields begin. */
const CONTENT = /^["[{]/

/** Whether a text of rows is probably a path or a URL. A text with a line end is none. */
export function looksLikePath(text: string): boolean {
  if (text.length > PATH_CHARS_MAX || /[\r\n]/.test(text)) return false
  const trimmed = text.trim()
  return !CONTENT.test(trimmed) && (BEGINNING.test(trimmed) || EXTENSION.test(trimmed))
}

/** As in most file systems. */
const PATH_CHARS_MAX = 4_096
