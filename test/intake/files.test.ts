// Goal: a file as people have it becomes the same table by every way in, with the same report. A way without detection
// gives the same table with the options that the report names; without options, it gives what it gave before there was
// detection.
// Method: each file of a table, with its meaning beside it, through each way.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CSV_FILES } from './csv-files.js'
import type { FileCase } from './file-case.js'
import { OTHER_FILES } from './other-files.js'
import { type Outcome, openWays, type Source, type Ways } from './ways.js'

const FILES = Object.entries({ ...CSV_FILES, ...OTHER_FILES })

let ways: Ways
beforeAll(async () => {
  ways = await openWays()
})
afterAll(() => ways.close())

function sourceOf(name: string, { bytes, given = {} }: FileCase): Source {
  const written = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes
  return { name, bytes: written, said: given }
}

/** The expected outcome of a way. */
function meantBy(way: string, file: FileCase): Outcome {
  if (file.columns === undefined) return { refused: expect.stringContaining(file.refused) }
  const { columns, rows, read, told = [], refusedBy = {} } = file
  const refused = refusedBy[way]
  if (refused !== undefined) return { refused: expect.stringContaining(refused) }
  const [format, encoding, delimiter, line] = read.split(' ') as [string, string, string?, string?]
  const headerLine = line === undefined || line === '-' ? undefined : Number(line)
  const report = [format, encoding, delimiter, headerLine, rows.length]
  return { columns, rows, report, told }
}

const isLines = (name: string) => /\.(?:csv|tsv|tab)$/.test(name)

/** Over HTTP, only CSV and TSV are detected. A body is never NDJSON. */
const detects = (way: string, name: string) => way !== 'POST' || isLines(name)

describe.each(FILES)('%s', (name, file) => {
  const { given = {}, plain, posted, refusedBy = {} } = { refusedBy: undefined, ...file }

  test('is detected by every way that detects', async () => {
    for (const [way, read] of Object.entries(ways.detecting)) {
      if (!detects(way, name)) continue
      expect([way, await read(sourceOf(name, file))]).toEqual([way, meantBy(way, file)])
    }
  })

  test('is read without detection as it is said to be', async () => {
    if (file.columns === undefined || file.says === 'no option') return
    const { says = {}, columns, rows } = file
    const source = { ...sourceOf(name, file), said: { ...given, ...says } }
    for (const [way, read] of Object.entries(ways.plain)) {
      const isTaken = way !== 'POST' || isLines(name) || says.encoding === undefined
      const isOfWay = isTaken && refusedBy[way] === undefined && detects(way, name)
      if (!isOfWay || /gzip|\.gz$/.test(name)) continue
      expect([way, await read(source)]).toEqual([way, expect.objectContaining({ columns, rows })])
    }
  })

  test('is what it was where nothing is said', async () => {
    if (plain === undefined) return
    for (const [way, read] of Object.entries(ways.plain)) {
      const found = await read({ ...sourceOf(name, file), said: {} })
      const isUnknown = way === 'POST' && /ndjson|jsonl/.test(name)
      const wanted = isUnknown ? 'not supported here' : wantedPlain(way)
      if ('columns' in found) expect([way, found.columns]).toEqual([way, wanted])
      else expect([way, found.refused.toLowerCase()]).toEqual([way, containing(wanted)])
    }
  })

  function wantedPlain(way: string): string {
    if (way === 'POST' && posted !== undefined) return posted
    if (way === 'importTable' && name.endsWith('.gz')) return 'neither a media type'
    return plain === 'the same' ? (file.columns ?? '') : (plain ?? '')
  }
})

function containing(text: string): unknown {
  return expect.stringContaining(text.toLowerCase())
}
