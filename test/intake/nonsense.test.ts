// Goal: a file that is not a table is refused, or the report tells how it was read.
// Method: a store with detection reads 100 files of 25 kinds, made by seeded code, as if each were CSV. Each file is
// refused; or its lines agree, so that it is a table in the dialect that the report names; or the report tells which
// lines disagree.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type IntakeReport, openMemory, type Store } from '../../src/index.js'
import { NONSENSE, nonsenseOf } from './nonsense.js'

const SEEDS = [1, 2, 3, 4]

let store: Store
beforeAll(async () => {
  store = await openMemory()
})
afterAll(() => store.close())

type Taken = 'refused' | 'told' | 'agrees' | 'untold'

async function takenFor(bytes: Uint8Array<ArrayBuffer>, format: 'csv' | 'json'): Promise<Taken> {
  const team = store.team('t')
  let report: IntakeReport | undefined
  const onReport = (read: IntakeReport): void => {
    report = read
  }
  try {
    const rows =
      format === 'csv'
        ? ({ csv: bytes, dialect: 'detect', onReport } as const)
        : ({ json: bytes, dialect: 'detect', onReport } as const)
    await team.createTable({ name: 'N', rows })
  } catch {
    return 'refused'
  }
  const told = report?.advice.filter(({ code }) => code !== 'delimiter' && code !== 'encoding')
  if (told === undefined || told.length > 0) return told === undefined ? 'untold' : 'told'
  const { delimiter = ',' } = report ?? {}
  const lines = new TextDecoder()
    .decode(bytes)
    .split('\n')
    .filter((line) => line !== '')
  const widths = new Set(lines.map((line) => line.split(delimiter).length))
  const isTable =
    widths.size === 1 && (!widths.has(1) || lines.every((line) => !/[\s,;|]/.test(line)))
  return isTable ? 'agrees' : 'untold'
}

/** The outcomes per kind, with the number of files. */
const FOUND: Readonly<Record<string, Partial<Record<Taken, number>>>> = {
  prose: { told: 1, refused: 3 },
  letter: { refused: 4 },
  poem: { told: 4 },
  markdown: { refused: 4 },
  typescript: { told: 4 },
  python: { refused: 4 },
  c: { told: 4 },
  css: { told: 4 },
  sql: { told: 4 },
  makefile: { refused: 4 },
  diff: { refused: 4 },
  serverLog: { refused: 4 },
  systemLog: { refused: 3, told: 1 },
  stackTrace: { told: 4 },
  mail: { refused: 4 },
  ini: { refused: 4 },
  yaml: { refused: 4 },
  config: { refused: 4 },
  html: { refused: 4 },
  page: { refused: 4 },
  xml: { refused: 4 },
  base64: { agrees: 4 },
  random: { refused: 4 },
  program: { refused: 4 },
  document: { told: 4 },
}

test.each(Object.keys(NONSENSE))('%s', async (kind) => {
  const found: Partial<Record<Taken, number>> = {}
  for (const seed of SEEDS) {
    const taken = await takenFor(nonsenseOf(kind, seed), 'csv')
    found[taken] = (found[taken] ?? 0) + 1
    expect(await takenFor(nonsenseOf(kind, seed), 'json')).toBe('refused')
  }

  expect(found).toEqual(FOUND[kind])
})
