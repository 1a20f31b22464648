// The tables of a LevelDB database are checked byte by byte before it is opened.
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkDatabaseFiles } from '../../../adapters/leveldb/leveldb-check.js'
import { crc32c, unpackSnappy } from '../../../adapters/leveldb/leveldb-codec.js'
import { seeded } from '../../support/seeded.js'
import { fifthOf } from '../../support/what-runs.js'

let folder: string

beforeEach(async () => {
  const made = await mkdtemp(join(tmpdir(), 'rowstash-leveldb-'))
  onTestFinished(() => rm(made, { recursive: true }))
  folder = made
})

/** Several tables, with blocks that compress well and blocks that do not. */
async function fillDatabase(count: number): Promise<void> {
  const random = seeded(7)
  const level = new ClassicLevel<string, Uint8Array>(folder, {
    valueEncoding: 'view',
    writeBufferSize: 64 * 1024,
  })
  await level.open()
  for (let at = 0; at < count; at += 50) {
    const operations = Array.from({ length: 50 }, (_, i) => {
      const value = Uint8Array.from({ length: 200 }, () => (i % 2 ? random.below(256) : 65))
      return { type: 'put' as const, key: `key ${String((at * 7 + i) % count)}`, value }
    })
    await level.batch(operations)
  }
  await level.compactRange('a', 'z')
  await level.put('later', new Uint8Array(10))
  await level.close()
  const again = new ClassicLevel(folder) // Its log becomes a small table.
  await again.open()
  await again.close()
}

async function tableNames(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.ldb')).sort()
}

async function problem(): Promise<string> {
  return checkDatabaseFiles(folder, { atLeast: 0, storeCrc: 0 }).then(
    () => 'none',
    (failure) => `${failure.code}: ${failure.message}`,
  )
}

test('a checksum is the one that its RFC gives', () => {
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa) // RFC 3720, B.4
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43)
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e)
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
})

test('Snappy is decompressed: literals, copies, and copies that overlap themselves', () => {
  const packed = Buffer.from([14, 0x0c, 0x61, 0x62, 0x63, 0x64, 0x19, 0x04])
  expect(unpackSnappy(packed).toString()).toBe('abcdabcdabcdab')
  for (const wrong of [
    [5, 0x0c, 0x61],
    [2, 0x0c, 0x61, 0x62, 0x63, 0x64],
    [8, 0x01, 0x01],
  ]) {
    expect(() => unpackSnappy(Buffer.from(wrong))).toThrow()
  }
})

test('a database without damage passes, one without tables too', async () => {
  const level = new ClassicLevel(folder)
  await level.open()
  await level.close()
  expect(await problem()).toBe('none')
  await fillDatabase(3_000)

  expect((await tableNames()).length).toBeGreaterThan(1)
  expect(await problem()).toBe('none')
})

test('a flipped bit is found wherever it is in a table, and the file is named', async () => {
  await fillDatabase(1_000)
  const random = seeded(3)
  const missed: string[] = []
  for (const name of await tableNames()) {
    const path = join(folder, name)
    const bytes = await readFile(path)
    const places = Array.from({ length: fifthOf(150) }, () => random.below(bytes.length))
    const ends = Array.from({ length: fifthOf(60) }, (_, i) => Math.max(0, bytes.length - 1 - i))
    for (const at of [...places, ...ends]) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8))
      await writeFile(path, flipped)
      const found = await problem()
      if (!found.startsWith('DATA_CORRUPT') || !found.includes(name)) missed.push(`${name} ${at}`)
    }
    await writeFile(path, bytes)
  }

  expect(missed).toEqual([])
  expect(await problem()).toBe('none')
})

test('a table that is cut, or has the bytes of another, is found', async () => {
  await fillDatabase(3_000)
  const [first = '', second = ''] = await tableNames()
  const bytes = await readFile(join(folder, first))
  await writeFile(join(folder, first), bytes.subarray(0, bytes.length >> 1))
  expect(await problem()).toContain('DATA_CORRUPT')
  await copyFile(join(folder, second), join(folder, first))
  expect(await problem()).toContain('DATA_CORRUPT')
})

test('what a crash left of a table that no manifest names is no damage', async () => {
  await fillDatabase(500)
  await writeFile(join(folder, '000999.ldb'), 'half of a ')

  expect(await problem()).toBe('none')
})
