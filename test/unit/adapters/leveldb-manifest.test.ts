// Goal: a LevelDB manifest is accepted only if LevelDB could have written its content.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readManifest } from '../../../adapters/leveldb/leveldb-manifest.js'
import { type Edit, editBytes, logBytes } from './leveldb-files.js'

let folder: string

beforeEach(async () => {
  const made = await mkdtemp(join(tmpdir(), 'rowstash-manifest-'))
  onTestFinished(() => rm(made, { recursive: true }))
  folder = made
  await writeFile(join(folder, 'CURRENT'), 'MANIFEST-000007\n')
})

async function written(bytes: Uint8Array): Promise<void> {
  await writeFile(join(folder, 'MANIFEST-000007'), bytes)
}

const table = (level: number, number: number, smallest: string, largest: string) => {
  return { level, number, smallest, largest }
}

const FIRST: Edit = {
  comparator: 'leveldb.BytewiseComparator',
  added: [table(0, 3, 'a', 'z'), table(1, 4, 'a', 'c'), table(1, 5, 'd', 'f')],
}
const SECOND: Edit = { log: 8, previousLog: 0, nextFile: 9, lastSequence: 100 }

test('its tables are those that were added and not deleted, and its numbers the last ones', async () => {
  const third: Edit = {
    log: 10,
    nextFile: 12,
    lastSequence: 120,
    deleted: [table(0, 3, '', ''), table(1, 5, '', '')],
    added: [table(1, 5, 'd', 'f'), table(2, 11, 'a', 'z')],
  }
  const bytes = logBytes([FIRST, SECOND, third].map(editBytes))
  for (const tail of [0, 3, 50]) {
    // The part of an edit that was written before a power cut.
    await written(Buffer.concat([bytes, Buffer.alloc(tail)]))
    const { tables, ...numbers } = await readManifest(folder)
    expect(numbers).toEqual({ log: 10, lastSequence: 120 })
    expect(tables.map(({ level, number }) => `${number} of ${level}`)).toEqual([
      '4 of 1',
      '5 of 1',
      '11 of 2',
    ])
  }
  await written(bytes.subarray(0, bytes.length - 1))
  expect(await readManifest(folder)).toMatchObject({ log: 8, lastSequence: 100 })
})

test.each<[string, readonly Edit[]]>([
  ['does not begin with a comparator', [SECOND, FIRST]],
  ['its keys are ordered by another comparator', [{ ...FIRST, comparator: 'other' }, SECOND]],
  ['it names its comparator twice', [FIRST, SECOND, { comparator: 'leveldb.BytewiseComparator' }]],
  ['it lacks numbers that every manifest has', [FIRST, { log: 8, nextFile: 9 }]],
  ['it lacks numbers that every manifest has', []],
  ['its numbers decrease', [FIRST, SECOND, { lastSequence: 99 }]],
  ['its numbers decrease', [FIRST, SECOND, { log: 7 }]],
  ['it names a second log', [FIRST, SECOND, { previousLog: 6 }]],
  ['it assigns the number 9 to two files', [FIRST, SECOND, { added: [table(0, 9, 'a', 'b')] }]],
  ['it assigns the number 9 to two files', [FIRST, SECOND, { log: 9 }]],
  ['it adds table 4 twice', [FIRST, SECOND, { added: [table(2, 4, 'a', 'c')] }]],
  ['it removes table 4', [FIRST, SECOND, { deleted: [table(0, 4, '', '')] }]],
  ['it has the invalid level 7', [FIRST, SECOND, { added: [table(7, 6, 'a', 'c')] }]],
  ['its tables 5 and 6 overlap', [FIRST, SECOND, { added: [table(1, 6, 'e', 'g')] }]],
  ['its tables 4 and 6 overlap', [FIRST, SECOND, { added: [table(1, 6, 'c', 'cc')] }]],
])('%s (%#)', async (problem, edits) => {
  await written(logBytes(edits.map(editBytes)))

  await expect(readManifest(folder)).rejects.toMatchObject({
    code: 'DATA_CORRUPT',
    message: expect.stringContaining(problem),
  })
})

test('a record that is no edit, and damage before the end, are told', async () => {
  const edits = [FIRST, SECOND].map(editBytes)
  const whole = logBytes([...edits, ...Array.from({ length: 8_000 }, () => editBytes(SECOND))])
  const damaged = [
    logBytes([...edits, Buffer.from('text')]),
    logBytes([...edits, Buffer.from([7, 0, 1, 1, 3, 65, 66, 67, 3, 65, 66, 67])]),
    Buffer.from(whole).fill(0, 40_000, 40_100),
    Buffer.from(whole).fill(0, 32_768, 65_536),
    Buffer.from(whole).fill(1, whole.length - 1),
  ]
  for (const [index, bytes] of damaged.entries()) {
    await written(bytes)
    const corrupt = { code: 'DATA_CORRUPT' }
    await expect(readManifest(folder), `${index}`).rejects.toMatchObject(corrupt)
  }
})

test.each(['', 'MANIFEST-000007', 'MANIFEST-7\n', '000007.log\n', '../x\n', 'MANIFEST-000007\n\n'])(
  'CURRENT may not be %j',
  async (text) => {
    await written(logBytes([FIRST, SECOND].map(editBytes)))
    expect(await readManifest(folder)).toMatchObject({ log: 8 })
    await writeFile(join(folder, 'CURRENT'), text)

    await expect(readManifest(folder)).rejects.toMatchObject({
      code: 'DATA_CORRUPT',
      message: expect.stringContaining('it names no manifest'),
    })
  },
)

test('a manifest that is missing is a loss, and a folder of its name is damage', async () => {
  await expect(readManifest(folder)).rejects.toMatchObject({ code: 'DATA_LOSS' })
  await mkdir(join(folder, 'MANIFEST-000007'))
  await expect(readManifest(folder)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  await rm(join(folder, 'CURRENT'))
  await expect(readManifest(folder)).rejects.toMatchObject({ code: 'DATA_LOSS' })
})
