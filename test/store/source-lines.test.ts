// Goal: an error in rows that were rewritten names their line in the source, or no line: never another one.
// Method: generated files with lines before the header, comments, blank lines and quoted line breaks, and one bad
// record at a known line, through each way in.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMemory, type Store, type Team } from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'

let served = new Uint8Array()
let store: Store
let team: Team
let tableId: string

beforeAll(async () => {
  store = await openMemory({
    sources: {
      async fetch(url) {
        async function* body(): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < served.length; at += 7) yield served.subarray(at, at + 7)
        }
        return { contentType: 'text/csv', fileName: 'x.csv', url, body: body(), close() {} }
      },
    },
  })
  team = store.team('t')
  const columns = [
    { id: 'n', type: 'number' },
    { id: 's', type: 'string' },
  ] as const
  tableId = (await team.createTable({ name: 'T', schema: { columns }, rows: [] })).tableId
})
afterAll(() => store.close())

const SAID = { skipLines: 2, comment: '#', blankLines: 'skip', nulls: ['-'] } as const

/** The elements of a file, each with its number of text lines, and whether it is a row. */
const LINES = [
  ['1,x', 1, true],
  ['-,"x\ny"', 2, true],
  ['2,"\n\n"', 3, true],
  ['# 3,x', 1, false],
  [',', 1, false],
  ['', 1, false],
] as const

const files = fc.record({
  before: fc.array(fc.constantFrom(...LINES), { maxLength: 40 }),
  behind: fc.array(fc.constantFrom(...LINES), { maxLength: 5 }),
  lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
})

type File = Readonly<{ csv: string; line: number; row: number }>

function fileOf(
  { before, behind, lineBreak }: typeof files extends fc.Arbitrary<infer T> ? T : never,
  bad: string,
): File {
  const lines = [
    'a title',
    '',
    'n,s',
    ...before.map(([text]) => text),
    bad,
    ...behind.map(([text]) => text),
  ]
  const csv = lines.join('\n').replaceAll('\n', lineBreak) + lineBreak
  const line = before.reduce((sum, [, count]) => sum + count, 4)
  return { csv, line, row: before.filter(([, , isRow]) => isRow).length }
}

type Refused = Readonly<{ row?: number; line?: number; message: string }>

async function refusalOf(operation: Promise<unknown>): Promise<Refused> {
  return operation.then(
    () => expect.fail('it was taken'),
    (failure: unknown) => failure as Refused,
  )
}

test('a value that does not fit, and a record that cannot be read, are told with the line of the file', async () => {
  await fc.assert(
    fc.asyncProperty(files, async (given) => {
      const table = team.table(tableId)
      const misfit = fileOf(given, 'bad,x')
      const { row, line } = misfit
      const added = await refusalOf(table.addRows({ csv: misfit.csv, ...SAID }))
      expect(added).toMatchObject({ row, line, message: expect.stringContaining(`line ${line}:`) })
      const { problems } = await table.preflight({
        operation: 'add',
        rows: { csv: misfit.csv, ...SAID },
      })
      expect(problems).toMatchObject([{ row, line, value: 'bad' }])
      const stash = team.stash(`lines`)
      await stash.put('0', { csv: misfit.csv, ...SAID })
      const staged = await refusalOf(table.addRows(stash))
      expect(staged).toMatchObject({ row, chunk: '0' })
      expect([line, undefined]).toContain(staged.line)

      const broken = fileOf(given, '1,x,y')
      served = new TextEncoder().encode(broken.csv)
      const operations = [
        table.addRows({ csv: broken.csv, ...SAID }),
        table.preflight({ operation: 'add', rows: { csv: broken.csv, ...SAID } }),
        stash.put('1', { csv: broken.csv, ...SAID }),
        team.importTable({ fromUrl: 'http://source.test/x.csv', ...SAID }),
      ]
      for (const refused of await Promise.all(operations.map(refusalOf)))
        expect(refused).toMatchObject({ row: broken.row, line: broken.line })
      await stash.delete()
    }),
    runOptions(200),
  )
})

test('rows of a stash on lines that follow each other have those lines', async () => {
  const stash = team.stash('regular')
  await stash.put('0', { csv: 'title\n\nn,s\n1,x\nbad,y\n', skipLines: 2 })

  expect(await refusalOf(team.table(tableId).addRows(stash))).toMatchObject({ row: 1, line: 5 })
})
