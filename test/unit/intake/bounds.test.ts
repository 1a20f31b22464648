// Goal: what an intake holds and does at once is bounded, whatever its source contains: the beginning on which it bases
// its plan, the rows of a run, the fields of a record, and the work between two turns. It is counted, not timed.
import { expect, test } from 'vitest'
import { openIntake } from '../../../src/intake/intake.js'

const KIB = 1024
const LIMITS = { rowsMax: 4_096, bytesMax: 256 * KIB, rowBytesMax: KIB * KIB }

type Work = Readonly<{ pauses: number; rows: number; runRowsMax: number; pieces: number }>

/** Reads a source as a server does. Each 8 KiB of work take a turn. */
async function workOf(bytes: Uint8Array, dialect: object, detects = false): Promise<Work> {
  const seen = { pauses: 0, rows: 0, runRowsMax: 0, pieces: 0 }
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 64 * KIB) {
      seen.pieces++
      yield bytes.subarray(at, at + 64 * KIB)
    }
  }
  let open = 0
  const slices = {
    spend: (work: number) => {
      open += work
      return open >= 8 * KIB
    },
    pause: async () => {
      open = 0
      seen.pauses++
    },
  }
  const intake = await openIntake(pieces(), {
    format: 'csv',
    dialect,
    detects,
    limits: LIMITS,
    slices,
  })
  for await (const { starts } of intake.runs) {
    seen.rows += starts.length
    seen.runRowsMax = Math.max(seen.runRowsMax, starts.length)
  }
  return seen
}

const SIZE = 256 * KIB

const HOSTILE: readonly (readonly [what: string, record: string, dialect: object])[] = [
  ['commas', ',,,,,,,,,,,\n', { trim: true, extraFields: 'dropEmpty' }],
  ['quotes', '"""""""""",""""""""\n', { trim: true }],
  ['blanks', '                 ,                 \n', { trim: true }],
  ['backslashes', '"\\\\\\\\\\\\\\\\","\\\\\\\\\\\\"\n', { escape: 'backslash' }],
  ['comments', '#\n', { comment: '#' }],
  ['blank lines that are rows', '\n', { comment: '#' }],
  ['blank lines that are none', '\r\n', { blankLines: 'skip' }],
  ['lines of delimiters', ',,\n', { blankLines: 'skip' }],
  ['days', '1.2.2026,3.4.2027\n', { dates: 'dd.mm.yyyy', nulls: ['x', 'y'] }],
  ['numbers', '1.100,"1,5"\n', { thousands: '.', decimal: ',', nulls: ['x', 'y'] }],
]

test.each(HOSTILE)('others have turns while %s are read', async (_what, record, dialect) => {
  const text = `a,b\n${record.repeat(SIZE / record.length)}x,y\n`
  const { pauses, runRowsMax } = await workOf(Buffer.from(text), dialect).catch((failure) => {
    throw new Error(record, { cause: failure })
  })
  expect(pauses).toBeGreaterThan(SIZE / (16 * KIB)) // The caller counts its pieces.
  expect(runRowsMax).toBeLessThanOrEqual(16_384)
})

test.each([',', '"",', ' ,', '\\,'])(
  'a record of %j has a bounded number of fields',
  async (field) => {
    const text = `a,b\n${field.repeat(SIZE / field.length)}\nx,y\n`
    const said = { trim: true, escape: 'backslash', extraFields: 'drop' }
    expect((await workOf(Buffer.from(text), said)).rows).toBe(2)
    const header = await workOf(
      Buffer.from(`${field.repeat(SIZE / field.length)}\nx,y\n`),
      said,
      true,
    )
    expect(header.rows).toBe(1)
  },
)

test('a record that does not end is refused where it is too long', async () => {
  const text = `a,b\n"${'x'.repeat(1.25 * KIB * KIB)}`
  const reading = workOf(Buffer.from(text), { trim: true })
  await expect(reading).rejects.toMatchObject({ message: /larger than 1048576 bytes/ })
})

test('a plan is made from the first megabyte, and no more of the source is read', async () => {
  let taken = 0
  const piece = Buffer.from('1;2,5\n'.repeat(10_000))
  async function* pieces() {
    yield Buffer.from('a;b\n')
    for (;;) {
      taken += piece.length
      yield piece
    }
  }
  await openIntake(pieces(), { format: 'csv', detects: true, limits: LIMITS })
  expect(taken).toBeLessThanOrEqual(KIB * KIB + piece.length)
})
