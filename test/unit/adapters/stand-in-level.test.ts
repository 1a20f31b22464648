// The stand-in from which a database is read while its disk is full: it changes no file of the store, and holds its
// lock.
import { createHash } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { DirectoryLevel } from '../../../adapters/leveldb/directory-level.js'
import { openStandIn } from '../../../adapters/leveldb/stand-in-level.js'
import { utf8 } from '../../../src/base/bytes.js'
import { StoreError } from '../../../src/base/store-error.js'

const FULL = new StoreError('INSUFFICIENT_STORAGE', 'The disk is full')

/** The database of a store with records in tables and in its log, and with leftovers of failed openings. */
async function newDatabase(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'rowstash-stand-in-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const path = join(parent, 'store')
  for (let opened = 0; opened < 3; opened++) {
    const ports = await openDirectoryPorts(path)
    const put = [utf8(`key ${opened}`), utf8('x'.repeat(10_000))] as const
    await ports.kv.partition('p').commit({ puts: [put] })
    await ports.close()
  }
  const folder = join(path, 'kv')
  // LevelDB takes the next numbers for its new files.
  for (let number = 0; number < 30; number++) {
    const name = `${String(number).padStart(6, '0')}.ldb`
    await writeFile(join(folder, name), 'what a failed opening left', { flag: 'wx' }).catch(
      () => null,
    )
  }
  return folder
}

/** All that is visible of the files of a folder, except access times. */
async function fingerprint(folder: string): Promise<string[]> {
  const lines: string[] = []
  for (const name of (await readdir(folder)).sort()) {
    const { mode, ino, size, mtimeNs, ctimeNs } = await lstat(join(folder, name), { bigint: true })
    const bytes = createHash('sha256')
      .update(await readFile(join(folder, name)))
      .digest('hex')
    lines.push([name, mode, ino, size, mtimeNs, ctimeNs, bytes].join(' '))
  }
  return lines
}

describe.skipIf(process.platform === 'win32')('a stand-in for a database', () => {
  test('holds what the database holds, and changes none of its files, whatever is done with it', async () => {
    const folder = await newDatabase()
    const before = await fingerprint(folder)
    const standIn = await openStandIn(folder, FULL)
    const keys = await standIn.keys({ keyEncoding: 'view' }).all()
    await standIn.compactRange(Uint8Array.of(0), Uint8Array.of(0xff), { keyEncoding: 'view' })
    const entries = await standIn.iterator({ keyEncoding: 'view', valueEncoding: 'view' }).all()
    await standIn.close()

    expect(await fingerprint(folder)).toEqual(before)
    const database = new DirectoryLevel(folder, { createIfMissing: false })
    onTestFinished(() => database.close())
    const own = { keyEncoding: 'view', valueEncoding: 'view' } as const
    expect(await database.iterator<Uint8Array, Uint8Array>(own).all()).toEqual(entries)
    expect(keys).toEqual(entries.map(([key]) => key))
    expect(keys.length).toBeGreaterThan(3)
  })

  test('holds the lock of the database', async () => {
    const folder = await newDatabase()
    const standIn = await openStandIn(folder, FULL)
    expect(await readlink(join(standIn.location, 'LOCK'))).toBe(join(folder, 'LOCK'))

    await standIn.close()
    const database = new DirectoryLevel(folder, { createIfMissing: false })
    await database.open()
    await database.close()
  })

  test('is gone when it was closed, with what a process that was killed left of its own', async () => {
    const folder = await newDatabase()
    const { dev, ino } = await lstat(folder)
    const start = `rowstash-read-${dev}-${ino}-`
    const left = join(tmpdir(), `${start}killed`)
    await mkdir(left)
    await writeFile(join(left, 'CURRENT'), '')
    const standIns = async () => (await readdir(tmpdir())).filter((name) => name.startsWith(start))

    const standIn = await openStandIn(folder, FULL)
    expect(await standIns()).toHaveLength(1)
    expect((await lstat(standIn.location)).mode & 0o777).toBe(0o700)
    await standIn.close()

    expect(await standIns()).toEqual([])
  })
})
