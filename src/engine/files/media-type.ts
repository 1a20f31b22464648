// Parses media types (RFC 9110, 8.3.1). There is one grammar with two readings, which differ in white space and
// repetition only.
//
// `strict`, for the types of files, which are stored and sent to browsers: a type that browsers, proxies and
// frameworks read differently is refused.
// - Names as RFC 6838 registers them; no wildcards. ASCII only: no tab, no line break, no other control.
// - Spaces only around a semicolon, never at the ends. No empty parameter, no parameter twice.
// - A value is a token or a quoted string, whole: nothing stands beside it.
//
// `lenient`, for the types of request bodies, which only choose a parser:
// - Spaces and tabs also at the ends and around an equals sign. Empty parameters are skipped.
// - A parameter may be repeated with the same value. Different values are refused.

export type MediaType = Readonly<{
  /** Type and subtype, in lower case. */
  essence: string
  /**
   * The canonical spelling: names and charsets in lower case, parameters ordered by name, quotes only where needed.
   * Two media types are equivalent if and only if these are equal.
   */
  canonical: string
  /** Values by the names of their parameters in lower case, without quotes. */
  parameters: ReadonlyMap<string, string>
}>

/** Maximum number of UTF-16 units of a media type, including its canonical spelling. */
const MEDIA_TYPE_CHARS_MAX = 255

const ESSENCE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
const VALUE = `(?:(${TOKEN})|"((?:[ !#-[\\]-~]|\\\\[ -~])*)")`
const ONLY_TOKEN = new RegExp(`^${TOKEN}$`)
const ENDS = /^[ \t]+|[ \t]+$/g

/** One parameter with the semicolon before it: name, value as a token, value between quotes. */
const PARAMETER = {
  strict: new RegExp(` *; *(${TOKEN})=${VALUE}`, 'y'),
  lenient: new RegExp(`[ \\t]*;[ \\t]*(?:(${TOKEN})[ \\t]*=[ \\t]*${VALUE})?`, 'y'),
} as const

/** How a media type is read: see the head of this file. */
export type MediaTypeReading = keyof typeof PARAMETER

/** Parses a media type, of a file (`strict`) or of a body (`lenient`); undefined: the text is not one. */
export function parseMediaType(
  text: string,
  reading: MediaTypeReading = 'strict',
): MediaType | undefined {
  if (text.length > MEDIA_TYPE_CHARS_MAX) return undefined
  const whole = reading === 'lenient' ? text.replace(ENDS, '') : text
  const [written] = ESSENCE.exec(whole) ?? []
  if (written === undefined) return undefined
  const parameters = parseParameters(whole, written.length, reading)
  if (parameters === undefined) return undefined
  const essence = written.toLowerCase()
  const sorted = [...parameters].sort(([left], [right]) => (left < right ? -1 : 1))
  const canonical = essence + sorted.map(renderParameter).join('')
  return canonical.length > MEDIA_TYPE_CHARS_MAX ? undefined : { essence, canonical, parameters }
}

/** Parameters by their names in lower case; undefined: the text from `start` on is not a list of parameters. */
function parseParameters(
  text: string,
  start: number,
  reading: MediaTypeReading,
): ReadonlyMap<string, string> | undefined {
  const grammar = PARAMETER[reading]
  const parameters = new Map<string, string>()
  for (let at = start; at < text.length; at = grammar.lastIndex) {
    grammar.lastIndex = at
    const [found, written, token, quoted = ''] = grammar.exec(text) ?? []
    if (found === undefined) return undefined
    if (written === undefined) continue
    const name = written.toLowerCase()
    const value = token ?? quoted.replace(/\\(.)/g, '$1')
    const earlier = parameters.get(name)
    if (earlier !== undefined && (reading === 'strict' || !isSameParameter(name, earlier, value)))
      return undefined
    parameters.set(name, value)
  }
  return parameters
}

function isSameParameter(name: string, left: string, right: string): boolean {
  return comparable(name, left) === comparable(name, right)
}

/** A value in its canonical spelling: charsets are compared without case. */
function comparable(name: string, value: string): string {
  return name === 'charset' ? value.toLowerCase() : value
}

function renderParameter([name, value]: readonly [string, string]): string {
  const text = comparable(name, value)
  return `; ${name}=${ONLY_TOKEN.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`}`
}
