// A parser of Content-Disposition for tests, based only on the grammars of RFC 6266 and RFC 8187. It rejects every
// header that breaks them.

export type Disposition = Readonly<{
  type: string
  /** The name shown by clients that know `filename*`. */
  fileName: string
  /** The name shown by other clients. */
  fallback: string | undefined
}>

const TOKEN_CHARS = new Set("!#$%&'*+-.^_`|~0123456789".split(''))
const ATTR_CHARS = new Set('!#$&+-.^_`|~0123456789'.split(''))
for (const letter of 'abcdefghijklmnopqrstuvwxyz') {
  for (const char of [letter, letter.toUpperCase()]) {
    TOKEN_CHARS.add(char)
    ATTR_CHARS.add(char)
  }
}

export function parseDisposition(header: string): Disposition {
  let at = 0
  const parameters = new Map<string, string>()

  function fail(problem: string): never {
    throw new Error(`${problem} at ${at} of ${JSON.stringify(header)}`)
  }
  function token(): string {
    const start = at
    while (at < header.length && TOKEN_CHARS.has(header.charAt(at))) at++
    return at > start ? header.slice(start, at) : fail('no token')
  }
  function expect(char: string): void {
    if (header.charAt(at) !== char) fail(`no ${char}`)
    at++
  }
  function quoted(): string {
    expect('"')
    let text = ''
    while (header.charAt(at) !== '"') {
      if (header.charAt(at) === '\\') at++
      const char = header.charAt(at++)
      if (char === '' || char < ' ' || char > '~') fail('not a character of a quoted string')
      text += char
    }
    expect('"')
    return text
  }

  const type = token().toLowerCase()
  while (at < header.length) {
    expect(';')
    while (header.charAt(at) === ' ') at++
    const name = token().toLowerCase()
    expect('=')
    if (parameters.has(name)) fail(`${name} twice`)
    parameters.set(name, header.charAt(at) === '"' ? quoted() : token())
  }
  const fallback = parameters.get('filename')
  const extended = parameters.get('filename*')
  const fileName = extended === undefined ? fallback : decodeExtended(extended)
  return { type, fallback, fileName: fileName ?? fail('no file name') }
}

/** `UTF-8'language'text`, in percent-encoded UTF-8. */
function decodeExtended(value: string): string {
  const [charset = '', language = '', text = '', ...more] = value.split("'")
  if (charset.toUpperCase() !== 'UTF-8' || language !== '' || more.length > 0) {
    throw new Error(`not an extended value: ${value}`)
  }
  const bytes: number[] = []
  for (let at = 0; at < text.length; ) {
    const char = text.charAt(at)
    if (char === '%') {
      const digits = text.slice(at + 1, at + 3)
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) throw new Error(`broken percent-encoding: ${value}`)
      bytes.push(Number.parseInt(digits, 16))
      at += 3
    } else {
      if (!ATTR_CHARS.has(char)) throw new Error(`${char} must be encoded in ${value}`)
      bytes.push(char.charCodeAt(0))
      at++
    }
  }
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
}
