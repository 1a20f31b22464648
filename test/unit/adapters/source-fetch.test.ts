// Goal: whatever a source does, a fetch ends in time, with the right code, and leaves nothing open.

import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { nodeSources, type SourceOptions } from '../../../adapters/node.js'
import type { FetchedSource } from '../../../src/ports.js'
import { until } from '../../support/until.js'
import { type Behaviour, rawServer, redirectAnswer } from './raw-server.js'

const BYTES_MAX = 1_000
const LIMITS = { bytesMax: BYTES_MAX }
/** Limits that only a hang reaches. */
const LONG: SourceOptions = {
  allowPrivate: true,
  connectTimeoutMs: 60_000,
  idleTimeoutMs: 600_000,
  totalTimeoutMs: 86_400_000,
}
/** Only one short limit each: for sources that stop, and for sources that continue too slowly. */
const SHORT_IDLE: SourceOptions = { ...LONG, idleTimeoutMs: 150 }
const SHORT_TOTAL: SourceOptions = { ...LONG, totalTimeoutMs: 600 }

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

async function readAll({ body }: FetchedSource): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** Sends a text and nothing more; the connection stays open. */
function says(text: string): Behaviour {
  return (socket) => socket.write(text, 'latin1')
}

function saysAndEnds(text: string): Behaviour {
  return (socket) => socket.end(text, 'latin1')
}

/** Repeats a text as fast as it is accepted, or at a pace. */
function repeats(start: string, text: string, everyMs?: number): Behaviour {
  return (socket) => {
    socket.write(start, 'latin1')
    if (everyMs === undefined) return repeatAsTaken(socket, text)
    const timer = setInterval(() => socket.write(text, 'latin1'), everyMs)
    socket.on('close', () => clearInterval(timer))
  }
}

function repeatAsTaken(socket: Socket, text: string): void {
  // Large pieces: a write of a few bytes costs more than the bytes.
  const piece = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)), 'latin1')
  const again = (): void => {
    if (!socket.destroyed) socket.write(piece, again)
  }
  again()
}

/** Not `resetAndDestroy`, which ends the connection properly before it resets it. */
function resets(text: string): Behaviour {
  return (socket) => {
    const reset = (): void => {
      Object.assign(socket, { resetAndClosing: true }).destroy()
    }
    if (text === '') reset()
    else socket.write(text, 'latin1', () => setTimeout(reset, 10))
  }
}

const FAILED = 'SOURCE_URL_FAILED'
const TIMEOUT = 'SOURCE_URL_TIMEOUT'
const TOO_LARGE = 'FILE_TOO_LARGE'
const NOT_ALLOWED = 'SOURCE_URL_NOT_ALLOWED'

type Case = readonly [name: string, behaviour: Behaviour, code: string]

const SIZE_CASES: readonly Case[] = [
  ['an endless chunked body', repeats(CHUNKED, `400\r\n${'x'.repeat(1_024)}\r\n`), TOO_LARGE],
  ['an endless body without a length', repeats(`${OK}\r\n`, 'x'.repeat(10_000)), TOO_LARGE],
  ['a length over the limit', says(`${OK}Content-Length: 1001\r\n\r\n`), TOO_LARGE],
  ['a length of 10^15', says(`${OK}Content-Length: ${10 ** 15}\r\n\r\n`), TOO_LARGE],
  ['one byte over the limit', saysAndEnds(`${OK}\r\n${'x'.repeat(BYTES_MAX + 1)}`), TOO_LARGE],
  ['endless chunks of one byte', repeats(CHUNKED, '1\r\nx\r\n'), TOO_LARGE],
  ['a length of 10^30', says(`${OK}Content-Length: 1${'0'.repeat(30)}\r\n\r\n`), FAILED],
]

const STOP_CASES: readonly Case[] = [
  [
    'a redirect to what does not answer',
    (socket, path) => path === '/' && socket.end(redirectAnswer('/stop')),
    TIMEOUT,
  ],
  ['no answer', says(''), TIMEOUT],
  ['a stop in the status line', says('HTTP/1.1 20'), TIMEOUT],
  ['a stop in the headers', says(`${OK}Content-Type: text/plain\r\nX`), TIMEOUT],
  ['a stop before the body', says(`${OK}Content-Length: 5\r\n\r\n`), TIMEOUT],
  ['a stop in the body', says(`${OK}Content-Length: 500\r\n\r\nhel`), TIMEOUT],
  ['a stop in a chunk', says(`${CHUNKED}5\r\nhel`), TIMEOUT],
  ['a stop before the last chunk', says(`${CHUNKED}5\r\nhello\r\n`), TIMEOUT],
  ['an answer of 1xx now and then', repeats('', 'HTTP/1.1 102 Processing\r\n\r\n', 40), TIMEOUT],
]

const DRIP_CASES: readonly Case[] = [
  ['headers that come byte by byte', repeats(`${OK}X: `, 'x', 20), TIMEOUT],
  ['a byte now and then', repeats(`${OK}Content-Length: 500\r\n\r\n`, 'x', 40), TIMEOUT],
  ['a chunk of one byte now and then', repeats(CHUNKED, '1\r\nx\r\n', 40), TIMEOUT],
  ['a size of a chunk that never ends', repeats(CHUNKED, '0', 40), TIMEOUT],
]

const BROKEN_CASES: readonly Case[] = [
  ['a connection that ends at once', saysAndEnds(''), FAILED],
  ['a connection that is reset at once', resets(''), FAILED],
  ['a reset in the headers', resets(`${OK}Content-Le`), FAILED],
  ['a reset in the body', resets(`${OK}Content-Length: 500\r\n\r\nhello`), FAILED],
  ['a reset in a body without a length', resets(`${OK}\r\nhello`), FAILED],
  ['an end in the body', saysAndEnds(`${OK}Content-Length: 6\r\n\r\nhello`), FAILED],
  ['an end in a chunk', saysAndEnds(`${CHUNKED}6\r\nhello`), FAILED],
  ['an end before the last chunk', saysAndEnds(`${CHUNKED}5\r\nhello\r\n`), FAILED],
  ['an end in the headers', saysAndEnds(`${OK}Content-Type: text/plain\r\n`), FAILED],
  ['a size of a chunk that is no number', says(`${CHUNKED}zz\r\nhello\r\n0\r\n\r\n`), FAILED],
  ['a negative size of a chunk', says(`${CHUNKED}-5\r\nhello\r\n0\r\n\r\n`), FAILED],
  ['a size of a chunk of 2^68', says(`${CHUNKED}100000000000000000\r\nhello`), FAILED],
  ['a chunk that is longer than its size', says(`${CHUNKED}3\r\nhello\r\n0\r\n\r\n`), FAILED],
  ['a huge chunk extension', says(`${CHUNKED}5;${'x'.repeat(40_000)}\r\nhello`), FAILED],
  ['an endless chunk extension', repeats(`${CHUNKED}5;`, 'x'.repeat(1_000)), FAILED],
  ['endless trailers', repeats(`${CHUNKED}0\r\n`, `X: ${'x'.repeat(1_000)}\r\n`), FAILED],
]

const SYNTAX_CASES: readonly Case[] = [
  ['text instead of HTTP', saysAndEnds('hello, this is no HTTP\r\n\r\n'), FAILED],
  ['binary data instead of HTTP', saysAndEnds('\x00\x01\x02\xff\xfe\r\n\r\n'), FAILED],
  ['endless data instead of HTTP', repeats('', '\x00'.repeat(1_000)), FAILED],
  ['a greeting of SSH', saysAndEnds('SSH-2.0-OpenSSH_9.6\r\n'), FAILED],
  ['a greeting of SMTP', saysAndEnds('220 mail.example ESMTP\r\n'), FAILED],
  ['an alert of TLS', saysAndEnds('\x15\x03\x01\x00\x02\x02\x46'), FAILED],
  ['an answer of HTTP/2.0', saysAndEnds('HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'), FAILED],
  ['an answer of HTTP/0.9', saysAndEnds('HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n'), FAILED],
  ['a status of two digits', saysAndEnds('HTTP/1.1 20 OK\r\n\r\n'), FAILED],
  ['a status of four digits', saysAndEnds('HTTP/1.1 2000 OK\r\n\r\n'), FAILED],
  ['a header without a colon', says(`${OK}X y\r\nContent-Length: 0\r\n\r\n`), FAILED],
  ['a space before the colon', says(`${OK}Content-Length : 0\r\n\r\n`), FAILED],
  ['a NUL in a header', says(`${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`), FAILED],
  ['a bare line feed', says(`HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n`), FAILED],
  ['two lengths', says(`${OK}Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello`), FAILED],
  [
    'the same length twice',
    says(`${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`),
    FAILED,
  ],
  ['a list of lengths', says(`${OK}Content-Length: 5, 5\r\n\r\nhello`), FAILED],
  ['a negative length', says(`${OK}Content-Length: -5\r\n\r\nhello`), FAILED],
  ['a length with a sign', says(`${OK}Content-Length: +5\r\n\r\nhello`), FAILED],
  ['a length in base 16', says(`${OK}Content-Length: 0x5\r\n\r\nhello`), FAILED],
  [
    'a length and chunks',
    says(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    FAILED,
  ],
  [
    'chunks and a length',
    says(`${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`),
    FAILED,
  ],
]

const HEADER_CASES: readonly Case[] = [
  ['a header of 20 KB', says(`${OK}X: ${'x'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`), FAILED],
  ['a header name of 20 KB', says(`${OK}${'x'.repeat(20_000)}: 1\r\n\r\n`), FAILED],
  ['thousands of headers', says(`${OK}${'Xy: z\r\n'.repeat(10_000)}\r\n`), FAILED],
  ['300 short headers', says(`${OK}${'X: y\r\n'.repeat(300)}Content-Length: 0\r\n\r\n`), FAILED],
  [
    '3,000 short headers',
    says(`${OK}${'X: y\r\n'.repeat(3_000)}Content-Length: 0\r\n\r\n`),
    FAILED,
  ],
  ['endless headers', repeats(OK, 'X: y\r\n'), FAILED],
  ['an endless header', repeats(`${OK}X: `, 'x'.repeat(1_000)), FAILED],
  ['an endless status line', repeats('HTTP/1.1 200 ', 'x'.repeat(1_000)), FAILED],
  ['a flood of 1xx answers', repeats('', 'HTTP/1.1 100 Continue\r\n\r\n'), FAILED],
  ['a flood of early hints', repeats('', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'), FAILED],
  [
    'a switch of protocols',
    says('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    FAILED,
  ],
]

const ENCODING_CASES: readonly Case[] = [
  ...[
    'gzip',
    'br',
    'deflate',
    'zstd',
    'compress',
    'x-gzip',
    'GZIP',
    'identity, gzip',
    'aws-chunked',
    'none',
    '*',
  ],
  `gzip${', gzip'.repeat(2_000)}`,
].map(
  (coding): Case => [
    `Content-Encoding: ${coding.slice(0, 30)}`,
    saysAndEnds(`${OK}Content-Encoding: ${coding}\r\nContent-Length: 5\r\n\r\nhello`),
    FAILED,
  ],
)

const TRANSFER_CASES: readonly Case[] = [
  ...[
    'gzip',
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'xchunked',
    'chunked, chunked',
    'chunked;q=1',
  ],
].map(
  (coding): Case => [
    `Transfer-Encoding: ${coding}`,
    saysAndEnds(`${OK}Transfer-Encoding: ${coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    FAILED,
  ],
)

const STATUS_CASES: readonly Case[] = [
  ...[201, 202, 203, 204, 205, 206, 207, 226, 300, 304, 305, 306, 399],
  ...[
    400, 401, 402, 403, 404, 407, 408, 410, 416, 418, 421, 429, 451, 500, 502, 503, 504, 599, 600,
    999,
  ],
].map(
  (status): Case => [
    `status ${status}`,
    (socket, path) => {
      const shown = path === '/good' ? 200 : status // It must not be requested.
      socket.end(`HTTP/1.1 ${shown} X\r\nLocation: /good\r\nContent-Length: 5\r\n\r\nhello`)
    },
    FAILED,
  ],
)

const REDIRECT_CASES: readonly Case[] = [
  ['a redirect to itself', (socket, path) => socket.end(redirectAnswer(path)), FAILED],
  [
    'a redirect to a new place each time',
    (socket, path) => socket.end(redirectAnswer(`${path}x`)),
    FAILED,
  ],
  [
    'a redirect without a target',
    saysAndEnds('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'),
    FAILED,
  ],
  ['a redirect to a file', saysAndEnds(redirectAnswer('file:///etc/passwd')), NOT_ALLOWED],
  [
    'a redirect to another scheme',
    saysAndEnds(redirectAnswer('gopher://127.0.0.1/_x')),
    NOT_ALLOWED,
  ],
  [
    'a redirect to a URL with a password',
    saysAndEnds(redirectAnswer('http://a:b@127.0.0.1/')),
    NOT_ALLOWED,
  ],
  ['a redirect to nonsense', saysAndEnds(redirectAnswer('http://[')), NOT_ALLOWED],
  [
    'a redirect with an endless body',
    repeats(redirectAnswer('/x').replace('Length: 0', 'Length: 99999999'), 'xxxx'),
    FAILED,
  ],
  [
    'a redirect to what is not there',
    (socket, path) => socket.end(path === '/' ? redirectAnswer('/gone') : 'HTTP/1.1 404 X\r\n\r\n'),
    FAILED,
  ],
]

async function expectEnd(
  behaviour: Behaviour,
  code: string,
  options: SourceOptions,
): Promise<void> {
  const server = await rawServer(behaviour)

  const reading = nodeSources(options).fetch(`http://127.0.0.1:${server.port}/`, LIMITS)

  await expect(reading.then(readAll)).rejects.toMatchObject({ name: 'StoreError', code })
  await until(() => server.open() === 0)
  expect(server.requests.filter((head) => !head.startsWith('GET /'))).toEqual([])
  expect(server.connections()).toBeLessThanOrEqual(4)
}

describe('a source that is too slow', () => {
  test.concurrent.each(STOP_CASES)('with %s is a timeout', async (_, behaviour, code) => {
    await expectEnd(behaviour, code, SHORT_IDLE)
  })

  test.concurrent.each(DRIP_CASES)('with %s is a timeout', async (_, behaviour, code) => {
    await expectEnd(behaviour, code, SHORT_TOTAL)
  })
})

describe.each([
  ['too much', SIZE_CASES],
  ['a broken answer', BROKEN_CASES],
  ['an answer that is no HTTP', SYNTAX_CASES],
  ['odd headers', HEADER_CASES],
  ['an encoding', [...ENCODING_CASES, ...TRANSFER_CASES]],
  ['another status than 200', STATUS_CASES],
  ['redirects', REDIRECT_CASES],
])('a source that sends %s is refused at once', (_, cases) => {
  test.each(cases)('%s', async (_name, behaviour, code) => {
    await expectEnd(behaviour, code, LONG)
  })
})

test('there are more than a hundred bad behaviours', () => {
  const groups = [
    SIZE_CASES,
    STOP_CASES,
    DRIP_CASES,
    BROKEN_CASES,
    SYNTAX_CASES,
    HEADER_CASES,
    REDIRECT_CASES,
  ]
  const others = [ENCODING_CASES, TRANSFER_CASES, STATUS_CASES]

  expect([...groups, ...others].flat().length).toBeGreaterThan(100)
})
