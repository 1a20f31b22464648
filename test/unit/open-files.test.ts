import { mkdtempSync, readdirSync, readlinkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OpenFiles } from '../../adapters/open-files.js'

const OPEN_MAX = 4

let directory: string
let files: OpenFiles

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rowstash-open-files-'))
  files = new OpenFiles(OPEN_MAX)
})

afterEach(() => {
  files.close()
  rmSync(directory, { recursive: true })
})

function write(name: string, length: number): { path: string; content: Uint8Array } {
  const content = Uint8Array.from({ length }, (_, i) => (i * 7 + name.length) & 0xff)
  const path = join(directory, name)
  writeFileSync(path, content)
  return { path, content }
}

/** Descriptors of this process that are open on files of the directory, also deleted ones. */
function openDescriptors(): number {
  const links = readdirSync('/proc/self/fd', { withFileTypes: true })
  return links.filter(({ name }) => linkOf(name).startsWith(directory)).length
}

function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`)
  } catch {
    return '' // The descriptor of the listing itself is closed by now.
  }
}

test.each([1_000, 65_536, 65_537, 200_000, 1_048_577])(
  'a range of %d bytes is read whole',
  async (length) => {
    const { path, content } = write('a', 1_300_000)
    expect(await files.read(path, { start: 10, limit: 10 + length })).toEqual(
      content.slice(10, 10 + length),
    )
  },
)

test.each([100, 100_000])('a range of %d bytes ends where the file ends', async (length) => {
  const { path, content } = write('a', 50)
  expect(await files.read(path, { start: 20, limit: 20 + length })).toEqual(content.slice(20))
  expect(await files.read(path, { start: 60, limit: 60 + length })).toEqual(new Uint8Array(0))
  expect(await files.read(path, { start: 0, limit: Number.MAX_SAFE_INTEGER })).toEqual(content)
})

test('a file that is not there is null, and is found once it is there', async () => {
  expect(await files.read(join(directory, 'a'), { start: 0, limit: 10 })).toBe(null)
  const { path, content } = write('a', 10)
  expect(await files.read(path, { start: 0, limit: 10 })).toEqual(content)
})

test('a file that was let go of is looked for again', async () => {
  const { path, content } = write('a', 10)
  expect(await files.read(path, { start: 0, limit: 10 })).toEqual(content)
  unlinkSync(path)
  files.drop(path)
  expect(await files.read(path, { start: 0, limit: 10 })).toBe(null)
})

test.skipIf(process.platform !== 'linux')(
  'no more files stay open than may, and none when it is closed; reads under way end well',
  async () => {
    const written = Array.from({ length: 20 }, (_, i) => write(`f${i}`, 100_000))
    const reads = written.map(({ path }) => files.read(path, { start: 0, limit: 100_000 }))
    files.drop(written[19]?.path ?? '')
    const all = await Promise.all(reads)
    const isWhole = (bytes: Uint8Array | null, i: number) =>
      bytes !== null && Buffer.compare(bytes, written[i]?.content ?? new Uint8Array(0)) === 0
    expect(all.every(isWhole)).toBe(true)
    expect(openDescriptors()).toBeLessThanOrEqual(OPEN_MAX)
    const last = files.read(written[3]?.path ?? '', { start: 0, limit: 100_000 })
    files.close()
    expect(isWhole(await last, 3)).toBe(true)
    expect(openDescriptors()).toBe(0)
  },
)

test('what the system has at hand comes at once; after a slow read the next 64 longer ones do not', async () => {
  const ticksMs: number[] = []
  const timed = new OpenFiles(OPEN_MAX, () => ticksMs.shift() ?? 0)
  const { path, content } = write('a', 300_000)
  const read = (limit: number) => timed.read(path, { start: 0, limit })
  const expectFirst = (bytes: unknown, count: number): void => {
    expect(bytes).toBeInstanceOf(Uint8Array)
    expect(Buffer.compare(bytes as Uint8Array, content.subarray(0, count))).toBe(0)
  }
  try {
    ticksMs.push(0, 1)
    expectFirst(read(100_000), 100_000)
    ticksMs.push(10, 13)
    expectFirst(read(100_000), 100_000) // The slow one.
    for (let i = 0; i < 64; i++) {
      const later = read(100_000)
      expect(later).toBeInstanceOf(Promise)
      expectFirst(await later, 100_000)
      expectFirst(read(1_000), 1_000)
    }
    expectFirst(read(100_000), 100_000)
  } finally {
    timed.close()
  }
})
