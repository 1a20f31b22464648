// The sum of file sizes that `rowstash stats` prints as `directoryBytes`.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bytesBelow } from '../../../adapters/cli/stores/directory-bytes.js'

let place: string

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'rowstash-bytes-'))
})

afterAll(() => rm(place, { recursive: true }))

it('counts every file of nested folders, more than one read of a folder returns', async () => {
  // One read of a folder returns 32 entries. Each file has a different size, so that a missing one shows.
  const folder = join(place, 'nested')
  let expected = 0
  let size = 1
  for (const path of ['.', 'a', 'a/b', 'a/c', 'd', 'd/e/f']) {
    await mkdir(join(folder, path), { recursive: true })
    for (let i = 0; i < 70; i++) {
      await writeFile(join(folder, path, `file-${i}`), Buffer.alloc(size))
      expected += size++
    }
  }
  expect(await bytesBelow(folder)).toBe(expected)
})

it('does not count what links point to', async () => {
  const folder = join(place, 'linked')
  await mkdir(folder)
  await writeFile(join(folder, 'file'), 'four')
  await symlink(join(folder, 'file'), join(folder, 'link'))
  await symlink(folder, join(folder, 'circle'))
  expect(await bytesBelow(folder)).toBe(4)
})

it('rejects for a folder that is not there', async () => {
  await expect(bytesBelow(join(place, 'missing'))).rejects.toMatchObject({ code: 'ENOENT' })
})
