// Turns a draft into the bytes on a socket: framing, mutations, and the order in which they are written.
import { mutate, type Seeded } from '../../support/seeded.js'
import { type Draft, draft, type Header, type Known } from './grammar.js'

/** One request on the wire. */
export type Sent = Readonly<{
  bytes: Uint8Array<ArrayBuffer>
  /**
   * `whole`: a valid HTTP request. `broken`: its head or framing was changed, so that a parser may see another number
   * of requests; it is the last on its connection. `cut`: it ends early.
   */
  form: 'whole' | 'broken' | 'cut'
  /** Milliseconds between its pieces; 0: it is written at once. */
  pauseMs: number
  /** Its first line, for messages. */
  line: string
}>

/** Requests on one connection. If it is pipelined, all are written before the first answer is read. */
export type Conversation = Readonly<{ isPipelined: boolean; requests: readonly Sent[] }>

const REQUESTS_MAX = 12
const PAUSE_MS_MAX = 8
const LINE_BYTES_MAX = 1_000

export function conversation(random: Seeded, known: Known): Conversation {
  const count = 1 + random.below(REQUESTS_MAX)
  const requests: Sent[] = []
  for (let at = 0; at < count; at++) {
    const sent = request(random, known)
    requests.push(sent)
    if (sent.form !== 'whole') break
  }
  return { isPipelined: random.once(6), requests }
}

function request(random: Seeded, known: Known): Sent {
  const made = draft(random, known)
  const kind = random.below(100)
  const pauseMs = random.once(12) ? 1 + random.below(PAUSE_MS_MAX) : 0
  if (kind < 90) {
    const body = kind < 8 && made.body !== null ? mutated(random, made.body, BODY_BYTES) : made.body
    return sentAs('whole', framed(random, { ...made, body }), pauseMs)
  }
  if (kind < 95) return sentAs('broken', broken(random, made), pauseMs)
  const bytes = framed(random, made)
  if (kind < 97) return sentAs('cut', bytes.subarray(0, random.below(bytes.length)), pauseMs)
  const target = text(mutated(random, latin1(made.target), TARGET_BYTES)).replace(/[\s\0]/g, '%')
  return sentAs('broken', framed(random, { ...made, target }), pauseMs)
}

function sentAs(form: Sent['form'], bytes: Uint8Array<ArrayBuffer>, pauseMs: number): Sent {
  const lines = text(bytes.subarray(0, LINE_BYTES_MAX)).replace(/^[\r\n]+/, '') // skipped, as a parser does
  return { bytes, form, pauseMs, line: lines.split('\r\n')[0] ?? '' }
}

const BODY_BYTES = [...'[]{}":,\\\r\n\t \0-+.eE0129tfnu$', '\ufeff'].map(
  (c) => c.charCodeAt(0) & 255,
)
const TARGET_BYTES = [...'/?&=%.#;:@+~*[]|\\^`<>"{}0aZ'].map((c) => c.charCodeAt(0))
const HEAD_BYTES = [...'\r\n\t \0:;,"%/0aZ\x7f\x80\xff'].map((c) => c.charCodeAt(0))
const MUTATIONS_MAX = 4

function mutated(
  random: Seeded,
  bytes: Uint8Array<ArrayBuffer>,
  near: readonly number[],
): Uint8Array<ArrayBuffer> {
  let made = bytes
  for (let left = 1 + random.below(MUTATIONS_MAX); left > 0; left--)
    made = mutate(random, made, near)
  return made
}

/** A valid HTTP request: the body has a length, or is chunked. */
function framed(random: Seeded, made: Draft): Uint8Array<ArrayBuffer> {
  const { body } = made
  if (body === null) return joined(head(made), new Uint8Array())
  if (!random.once(4)) return joined(head(made, ['Content-Length', String(body.length)]), body)
  return joined(head(made, ['Transfer-Encoding', 'chunked']), chunked(random, body))
}

function head({ method, target, headers }: Draft, ...more: readonly Header[]): string {
  const lines = [...headers, ...more].map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

const CHUNKS_MAX = 6

function chunked(random: Seeded, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let at = 0
  for (let left = CHUNKS_MAX; at < body.length; left--) {
    const length = left <= 1 ? body.length - at : 1 + random.below(body.length - at)
    const extension = random.once(20) ? ';a="b"' : ''
    pieces.push(latin1(`${length.toString(16)}${extension}\r\n`), body.subarray(at, at + length))
    pieces.push(latin1('\r\n'))
    at += length
  }
  const trailer = random.once(20) ? 'X-Trailer: 1\r\n' : ''
  return concatenated([...pieces, latin1(`0\r\n${trailer}\r\n`)])
}

const LONG_HEADER_CHARS = 17_000
const MANY_HEADERS = 3_000

/** Requests that a lenient parser would read differently than a strict one. */
function broken(random: Seeded, made: Draft): Uint8Array<ArrayBuffer> {
  const body = made.body ?? new Uint8Array()
  const length: Header = ['Content-Length', String(body.length)]
  const withHeaders = (...more: readonly Header[]) => joined(head(made, ...more), body)
  const whole = head(made, length)
  return random.pick<() => Uint8Array<ArrayBuffer>>([
    () => joined(text(mutated(random, latin1(whole), HEAD_BYTES)), body),
    () => joined(text(mutated(random, latin1(whole), HEAD_BYTES)), body),
    () => joined(text(mutated(random, latin1(whole), HEAD_BYTES)), body),
    () => withHeaders(length, ['Transfer-Encoding', 'chunked']),
    () => withHeaders(length, ['Content-Length', '0']),
    () => withHeaders(['Content-Length', `+${body.length}`]),
    () => withHeaders(['Content-Length', String(body.length + 1 + random.below(100))]),
    () => withHeaders(['Content-Length', String(random.below(body.length + 1))]),
    () => withHeaders(['Content-Length', '99999999999']),
    () =>
      withHeaders([
        'Transfer-Encoding',
        random.pick(['gzip', 'gzip, chunked', 'xchunked', 'chunked, x']),
      ]),
    () => withHeaders(['Transfer-Encoding', 'chunked']), // The body is not chunked.
    () => withHeaders(length, ['Host', 'other.example.com']),
    () => withHeaders(length, ['X-Long', 'x'.repeat(LONG_HEADER_CHARS)]),
    () => withHeaders(length, ...Array.from({ length: MANY_HEADERS }, (): Header => ['X', '1'])),
    () => joined(whole.replaceAll('\r\n', '\n'), body),
    () => joined(whole.replace('Content-Length:', 'Content-Length :'), body),
    () => joined(whole.replace('Host: ', 'Host:\r\n '), body),
    () =>
      joined(
        whole.replace('HTTP/1.1', random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', ''])),
        body,
      ),
    () =>
      joined(
        whole.replace(' /', random.pick([' http://x/', ' *', ' //x/', ' x:1', ' /\u00e9'])),
        body,
      ),
    () => joined(whole.replace(/Host: .*\r\n/, ''), body),
    () => latin1('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    () => latin1('GET /\r\n'),
    () =>
      mutated(
        random,
        Uint8Array.from({ length: 1 + random.below(300) }, () => random.below(256)),
        HEAD_BYTES,
      ),
  ])()
}

function joined(headText: string, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return concatenated([latin1(headText), body])
}

function concatenated(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.concat(pieces))
}

function latin1(given: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(given, 'latin1'))
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}
