// Files compressed with zstd, on runtimes with and without zstd.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { expect, test } from 'vitest'
import { useOrders } from './orders-store.js'

const { folder, importing, exporting } = useOrders()

/** undefined: this version of Node has no zstd. */
const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Buffer }

/** Node 22 has zstd, but reads a truncated file without an error. */
const CAN_READ = Number.parseInt(process.versions.node, 10) >= 24

const CSV = `id,note\n${Array.from({ length: 100_000 }, (_, n) => `${n},row ${n}\n`).join('')}`

test.runIf(CAN_READ)('a zstd file has all its rows', async () => {
  const packed = zstdCompressSync?.(Buffer.from(CSV)) ?? Buffer.alloc(0)
  const path = join(folder, 'packed.csv.zst')
  await writeFile(path, packed)
  const cut = join(folder, 'cut.csv.zst')
  await writeFile(cut, packed.subarray(0, packed.length / 2))
  await importing(path, '--table', 'packed')

  expect(await exporting('-', '--format', 'csv', '--table', 'packed')).toBe(CSV)
  const unnamed = join(folder, 'unnamed.csv')
  await writeFile(unnamed, packed)
  await importing(unnamed, '--table', 'unnamed')
  expect(await exporting('-', '--format', 'csv', '--table', 'unnamed')).toBe(CSV)
  await expect(importing(cut, '--table', 'cut')).rejects.toThrow(cut)
  await expect(exporting('-', '--format', 'csv', '--table', 'cut')).rejects.toThrow('no table')
})

test.skipIf(CAN_READ)('a zstd file is refused where a cut one would pass', async () => {
  const path = join(folder, 'packed.csv.zst')
  const signature = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
  await writeFile(path, zstdCompressSync?.(Buffer.from(CSV)) ?? signature)

  await expect(importing(path, '--table', 'packed')).rejects.toThrow(
    `${path}: This version of Node cannot read zstd files safely; 24 and later can. Decompress`,
  )
  const unnamed = join(folder, 'unnamed.csv')
  await writeFile(unnamed, signature)
  await expect(importing(unnamed, '--table', 'packed')).rejects.toThrow(
    `${unnamed}: This version of Node cannot read zstd files safely`,
  )
})
