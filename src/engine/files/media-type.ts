// Parses media types (RFC 9110, 8.3.1) by a stricter grammar than HTTP's: a text that browsers, proxies and frameworks
// read differently is no media type here.
//
// - Names as RFC 6838 registers them; no wildcards. ASCII only: no tab, no line break, no other control.
// - Spaces only around a semicolon, never at the ends. No empty parameter, no parameter twice.
// - A value is a token or a quoted string, whole: nothing stands beside it.

export type MediaType = Readonly<{
  /** Type and subtype, in lower case. */
  essence: string
  /**
   * The one spelling of the whole: names and charsets in lower case, parameters in order of their names,
   * quotes only where they must be. Two media types mean the same if and only if these are equal.
   */
  canonical: string
  /** Values by the names of their parameters in lower case, without quotes. */
  parameters: ReadonlyMap<string, string>
}>

/** A longer one is refused unread, and so is one whose canonical spelling is longer. */
const MEDIA_TYPE_CHARS_MAX = 255

const ESSENCE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/
const PARAMETER =
  / *; *([A-Za-z0-9!#$%&'*+.^_`|~-]+)=(?:([A-Za-z0-9!#$%&'*+.^_`|~-]+)|"((?:[ !#-[\]-~]|\\[ -~])*)")/y
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** Reads a media type, of a file or of a body; undefined when the text is not one. */
export function parseMediaType(text: string): MediaType | undefined {
  if (text.length > MEDIA_TYPE_CHARS_MAX) return undefined
  const [written] = ESSENCE.exec(text) ?? []
  if (written === undefined) return undefined
  const parameters = parseParameters(text, written.length)
  if (parameters === undefined) return undefined
  const essence = written.toLowerCase()
  const sorted = [...parameters].sort(([left], [right]) => (left < right ? -1 : 1))
  const canonical = essence + sorted.map(renderParameter).join('')
  return canonical.length > MEDIA_TYPE_CHARS_MAX ? undefined : { essence, canonical, parameters }
}

/** Parameters by their names in lower case; undefined when the text from `start` on is not a row of them. */
function parseParameters(text: string, start: number): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>()
  for (let at = start; at < text.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at
    const [found, name = '', token, quoted = ''] = PARAMETER.exec(text) ?? []
    if (found === undefined || parameters.has(name.toLowerCase())) return undefined
    parameters.set(name.toLowerCase(), token ?? quoted.replace(/\\(.)/g, '$1'))
  }
  return parameters
}

function renderParameter([name, value]: readonly [string, string]): string {
  const text = name === 'charset' ? value.toLowerCase() : value
  return `; ${name}=${TOKEN.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`}`
}
