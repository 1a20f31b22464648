import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  DescriptorCache,
  descriptorLimits,
  freedFor,
  growTable,
} from '../../../adapters/fs/descriptor-cache.js'
import { OpenFiles } from '../../../adapters/fs/object-files.js'
import { sameBytes } from '../../../src/base/bytes.js'

const OPEN_MAX = 4

let directory: string
let kept: DescriptorCache
let files: OpenFiles

/** Names of files in the order of their opening. */
const opened: string[] = []

function pathOf(name: string): string {
  opened.push(name)
  return join(directory, name)
}

function openFiles(crowdedFrom = Number.POSITIVE_INFINITY): void {
  kept = new DescriptorCache({ keptMax: OPEN_MAX, crowdedFrom })
  files = new OpenFiles(kept, pathOf)
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rowstash-open-files-'))
  openFiles()
  opened.length = 0
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

/** Number of open descriptors of this process for files of the directory, including deleted files. */
function openDescriptors(): number {
  const links = readdirSync('/proc/self/fd', { withFileTypes: true })
  return links.filter(({ name }) => linkOf(name).startsWith(directory)).length
}

function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`)
  } catch {
    return '' // The descriptor of the listing itself is already closed.
  }
}

test.each([1_000, 65_536, 65_537, 200_000, 1_048_577])(
  'a range of %d bytes is read whole',
  async (length) => {
    const { content } = write('a', 1_300_000)
    const read = await files.read('a', { start: 10, limit: 10 + length })
    expect(read && sameBytes(read, content.slice(10, 10 + length))).toBe(true)
  },
)

test.each([100, 100_000])('a range of %d bytes ends where the file ends', async (length) => {
  const { content } = write('a', 50)
  expect(await files.read('a', { start: 20, limit: 20 + length })).toEqual(content.slice(20))
  expect(await files.read('a', { start: 60, limit: 60 + length })).toEqual(new Uint8Array(0))
  expect(await files.read('a', { start: 0, limit: Number.MAX_SAFE_INTEGER })).toEqual(content)
})

test('a file that is not there is null, and is found once it is there', async () => {
  expect(await files.read('a', { start: 0, limit: 10 })).toBe(null)
  const { content } = write('a', 10)
  expect(await files.read('a', { start: 0, limit: 10 })).toEqual(content)
})

test('a dropped file is opened again', async () => {
  const { path, content } = write('a', 10)
  expect(await files.read('a', { start: 0, limit: 10 })).toEqual(content)
  unlinkSync(path)
  files.drop('a')
  expect(await files.read('a', { start: 0, limit: 10 })).toBe(null)
})

test.skipIf(process.platform !== 'linux')(
  'no more files stay open than may, and none when it is closed; reads under way end well',
  async () => {
    const written = Array.from({ length: 20 }, (_, i) => write(`f${i}`, 100_000))
    const reads = written.map((_, i) => files.read(`f${i}`, { start: 0, limit: 100_000 }))
    files.drop('f19')
    const all = await Promise.all(reads)
    const isWhole = (bytes: Uint8Array | null, i: number) =>
      bytes !== null && Buffer.compare(bytes, written[i]?.content ?? new Uint8Array(0)) === 0
    expect(all.every(isWhole)).toBe(true)
    expect(openDescriptors()).toBeLessThanOrEqual(OPEN_MAX)
    const last = files.read('f3', { start: 0, limit: 100_000 })
    files.close()
    expect(isWhole(await last, 3)).toBe(true)
    expect(openDescriptors()).toBe(0)
  },
)

test('what the system has at hand comes at once; after a slow read the next 64 longer ones do not', async () => {
  const ticksMs: number[] = []
  const timed = new OpenFiles(kept, pathOf, () => ticksMs.shift() ?? 0)
  const { content } = write('a', 300_000)
  const read = (limit: number) => timed.read('a', { start: 0, limit })
  const expectFirst = (bytes: unknown, count: number): void => {
    expect(bytes).toBeInstanceOf(Uint8Array)
    expect(Buffer.compare(bytes as Uint8Array, content.subarray(0, count))).toBe(0)
  }
  try {
    ticksMs.push(0, 1)
    expectFirst(read(100_000), 100_000)
    ticksMs.push(10, 13)
    expectFirst(read(100_000), 100_000) // the slow one
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
const isLinux = process.platform === 'linux'

/** Which of `f0` and so on are open. */
function openNames(): string[] {
  const links = readdirSync('/proc/self/fd').map(linkOf)
  return links
    .filter((link) => link.startsWith(directory))
    .map((link) => basename(link))
    .sort()
}

function readFirst(name: string): void {
  expect(files.read(name, { start: 0, limit: 1 })).toHaveLength(1)
}

test.runIf(isLinux)('the file that is closed for another is one that was not read lately', () => {
  for (let i = 0; i < 40; i++) write(`f${i}`, 10)
  for (let i = 0; i < 40; i++) {
    readFirst(`f${i}`)
    readFirst('f1')
    readFirst('f2')
  }
  expect(openNames()).toHaveLength(OPEN_MAX)
  expect(openNames()).toEqual(expect.arrayContaining(['f1', 'f2', 'f39']))
  expect(opened).toEqual([...new Set(opened)])
})

test.runIf(isLinux)('two stores have what may be kept together, not each', () => {
  const others = new OpenFiles(kept, pathOf)
  for (let i = 0; i < 10; i++) write(`f${i}`, 10)
  for (let i = 0; i < 10; i++) {
    readFirst(`f${i}`)
    expect(others.read(`f${9 - i}`, { start: 0, limit: 1 })).toHaveLength(1)
  }
  expect(openNames()).toHaveLength(OPEN_MAX)
  others.close()
  files.close()
  expect(openNames()).toEqual([])
})

test.runIf(isLinux)('files that are let go of in any order make room, and are opened again', () => {
  for (let i = 0; i < 8; i++) write(`f${i}`, 10)
  for (let i = 0; i < 4; i++) readFirst(`f${i}`)
  for (const i of [1, 3, 0]) files.drop(`f${i}`)
  expect(openNames()).toEqual(['f2'])
  for (let i = 0; i < 8; i++) readFirst(`f${i}`)
  for (let i = 0; i < 8; i++) readFirst(`f${i}`)
  expect(openNames()).toHaveLength(OPEN_MAX)
})

test.runIf(isLinux)(
  'while the table of descriptors has to grow no more files are kept, and afterwards they are',
  async () => {
    for (let i = 0; i < 12; i++) write(`f${i}`, 10)
    const next = [0, 1, 2].map(() => openSync('/dev/null', 'r'))
    for (const descriptor of next) closeSync(descriptor)
    const grown: ((isGrown: boolean) => void)[] = []
    const rooms: number[] = []
    const grow = (room: number): Promise<boolean> => {
      rooms.push(room)
      return new Promise((resolve) => {
        grown.push(resolve)
      })
    }
    const room = (next[2] ?? 0) + 16 // The third has one of the last 16.
    kept = new DescriptorCache(
      { keptMax: 8, crowdedFrom: Number.POSITIVE_INFINITY },
      { room, grow },
    )
    files = new OpenFiles(kept, pathOf)
    for (let i = 0; i < 12; i++) readFirst(`f${i}`)
    expect(openNames()).toHaveLength(2)
    expect(rooms).toEqual([room])
    grown.shift()?.(false)
    await new Promise((resolve) => setImmediate(resolve))
    for (let i = 0; i < 12; i++) readFirst(`f${i}`)
    expect(openNames().length).toBeLessThanOrEqual(3)
    expect(rooms).toEqual([room, room])
    grown.shift()?.(true)
    await new Promise((resolve) => setImmediate(resolve))
    for (let i = 0; i < 12; i++) readFirst(`f${i}`)
    expect(openNames()).toHaveLength(8)
    expect(rooms).toEqual([room, room])
  },
)

test.runIf(isLinux)(
  'to grow the descriptor table leaves no descriptor open, and a failure to grow is reported',
  async () => {
    const free = openSync('/dev/null', 'r')
    closeSync(free)
    const count = () => readdirSync('/proc/self/fd').length
    const before = count()
    expect(await growTable(free + 5)).toBe(true)
    expect(await growTable(1_000_000)).toBe(false)
    expect(count()).toBe(before)
  },
)

test.runIf(isLinux)('where few descriptors are left, no file stays open beside the last', () => {
  openFiles(0)
  for (let i = 0; i < 3; i++) {
    write(`f${i}`, 10)
    readFirst(`f${i}`)
    expect(openNames()).toEqual([`f${i}`])
  }
})

test.runIf(isLinux)(
  'kept files are closed for what failed for want of a descriptor, once',
  async () => {
    const failure = (code: string) => Object.assign(new Error(code), { code })
    const { content } = write('a', 1_100_000)
    const reading = files.read('a', { start: 0, limit: 1_100_000 })
    expect(freedFor(failure('ENOSPC'), kept)).toBe(false)
    expect(freedFor(failure('EMFILE'), kept)).toBe(true)
    expect(freedFor(failure('ENFILE'), kept)).toBe(false)
    const read = await reading
    expect(read && sameBytes(read, content)).toBe(true)
    expect(openNames()).toEqual([])
  },
)

test.each([
  ['20000                20000', 4_096, 15_000],
  ['1024                 1048576', 256, 768],
  ['2                    2', 1, 1.5],
  ['unlimited            unlimited', 4_096, Number.POSITIVE_INFINITY],
])('of %s descriptors %d are for kept files', (limits, keptMax, crowdedFrom) => {
  const text = `Limit                     Soft Limit           Hard Limit           Units
Max processes             95717                95717                processes
Max open files            ${limits}              files
Max locked memory         8388608              8388608              bytes
`
  expect(descriptorLimits(text)).toEqual({ keptMax, crowdedFrom })
})

test('where nobody says how many descriptors there are, few files are kept', () => {
  expect(descriptorLimits('')).toEqual({ keptMax: 128, crowdedFrom: Number.POSITIVE_INFINITY })
})
