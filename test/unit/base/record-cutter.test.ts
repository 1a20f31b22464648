// A source in tiny pieces, or with many rows that each name a column: the work grows with its bytes.
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { type CutRun, cutRecords } from '../../../src/base/record-cutter.js'
import { openRecordScanner, type RecordScanner } from '../../../src/base/record-scanner.js'

const LIMITS = { rowsMax: 1_000, bytesMax: 64 * 1024, rowBytesMax: 64 * 1024 }

/** A scanner whose lists count how often an element is read. */
function countingScanner(): RecordScanner & { reads: number } {
  const scanner = openRecordScanner('ndjson')
  const counted = { reads: 0 }
  const isIndex = /^\d+$/
  const ends = new Proxy(scanner.ends, {
    get(list, name, receiver) {
      if (typeof name === 'string' && isIndex.test(name)) counted.reads++
      return Reflect.get(list, name, receiver)
    },
  })
  return {
    starts: scanner.starts,
    ends,
    namingStarts: scanner.namingStarts,
    get scanned() {
      return scanner.scanned
    },
    scan: (piece) => scanner.scan(piece),
    finish: () => scanner.finish(),
    get reads() {
      return counted.reads
    },
  }
}

async function* piecesOf(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function runsOf(text: string, size: number, scanner?: RecordScanner): Promise<CutRun[]> {
  const runs: CutRun[] = []
  const pieces = piecesOf(utf8(text), size)
  for await (const run of cutRecords(pieces, 'ndjson', LIMITS, { scanner })) runs.push(run)
  return runs
}

test('rows that fit into a run are not counted again with each piece', async () => {
  const scanner = countingScanner()
  const text = '{}\n'.repeat(2_500)
  const runs = await runsOf(text, 1, scanner)

  expect(runs.map(({ starts }) => starts.length)).toEqual([1_000, 1_000, 500])
  expect(scanner.reads).toBeLessThan(10 * 2_500 + 2 * text.length)
})

test('the rows that name a column first are told in order, each once', async () => {
  const rows = Array.from({ length: 1_500 }, (_, i) =>
    i % 3 === 0 ? `{"a${i}":1,"b${i}":2}` : '{}',
  )
  const [first, second] = await runsOf(rows.join('\n'), 4_096)

  const naming = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => i).filter((i) => (from + i) % 3 === 0)
  expect(first?.namingRecords).toEqual(naming(0, 1_000))
  expect(second?.namingRecords).toEqual(naming(1_000, 500))
})
