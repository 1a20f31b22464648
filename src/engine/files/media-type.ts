// Parses media types (RFC 9110, 8.3.1). There is one grammar with two readings, which differ in white space and
// repetition only.
//
// `strict` is for the types of files, which are stored and sent to browsers. It refuses a type that browsers, proxies
// and frameworks would read in different ways.
// - Names must be as RFC 6838 registers them, without wildcards. Only ASCII is allowed, without tabs, line breaks and
//   other control characters.
// - Spaces are allowed only around a semicolon, not at the ends. No parameter may be empty, or given twice.
// - A whole value must be a token or a quoted string, with nothing beside it.
//
// `lenient` is for the types of request bodies, which only choose a parser:
// - Spaces and tabs are also allowed at the ends and around an equals sign. Empty parameters are skipped.
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

/**
 * Matches one parameter with the semicolon before it. The groups are the name, the value as a token, and the value
 * between quotes.
 */
const PARAMETER = {
  strict: new RegExp(` *; *(${TOKEN})=${VALUE}`, 'y'),
  lenient: new RegExp(`[ \\t]*;[ \\t]*(?:(${TOKEN})[ \\t]*=[ \\t]*${VALUE})?`, 'y'),
} as const

/** How a media type is read: see the head of this file. */
export type MediaTypeReading = keyof typeof PARAMETER

/** Parses the media type of a file (`strict`) or of a body (`lenient`); undefined: the text is not a media type. */
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

/** A value in its canonical spelling: charsets are in lower case, because they are compared without case. */
function comparable(name: string, value: string): string {
  return name === 'charset' ? value.toLowerCase() : value
}

function renderParameter([name, value]: readonly [string, string]): string {
  const text = comparable(name, value)
  return `; ${name}=${ONLY_TOKEN.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`}`
}
