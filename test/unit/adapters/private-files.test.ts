// Goal: a store's files, above all its signing secret, are readable only by their owner from the first byte on.
// Method: with a umask that permits everything, a store is created, used, backed up and restored.
import { createReadStream } from 'node:fs'
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { backupToFile, openDirectory, restoreDirectory } from '../../../adapters/node.js'

let umask = 0

beforeAll(() => {
  umask = process.umask(0)
})

afterAll(() => {
  process.umask(umask)
})

async function newParent(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'rowstash-private-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  return parent
}

/** A store with records, objects in one piece and in several, a signing secret and a high-water mark. */
async function makeStore(path: string): Promise<void> {
  const store = await openDirectory(path)
  const team = store.team('t')
  await team.createTable({ name: 'n', rows: { csv: `a\n${'x'.repeat(400_000)}\n` } })
  await team.files.put('text', { contentType: 'text/plain', fileName: 'f' })
  await team.files.createUpload({ contentType: 'text/plain', fileName: 'f' })
  await store.close()
}

/** The paths in a directory, including itself, that others may read, write or enter. */
async function openToOthers(path: string, below = ''): Promise<string[]> {
  const found = await stat(path)
  const open = (found.mode & 0o077) === 0 ? [] : [below]
  if (!found.isDirectory()) return open
  const inside = (await readdir(path)).map((name) =>
    openToOthers(join(path, name), `${below}/${name}`),
  )
  return [...open, ...(await Promise.all(inside)).flat()]
}

/** Files that LevelDB creates get their mode from the umask. The folder around them is closed. */
function isLevelDbs(path: string): boolean {
  return path.startsWith('/kv/')
}

/** The warnings that an action causes. */
async function warningsOf(action: () => Promise<void>): Promise<string[]> {
  const seen: string[] = []
  const note = (warning: Error): void => {
    seen.push(warning.message)
  }
  process.on('warning', note)
  try {
    await action()
    await new Promise((resolve) => setImmediate(resolve)) // A warning comes in a later turn.
  } finally {
    process.off('warning', note)
  }
  return seen
}

describe.skipIf(process.platform === 'win32')('a store is its owner’s alone', () => {
  test('every directory and file that it makes is closed to others', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)

    const open = await openToOthers(path)

    expect(open.filter((one) => !isLevelDbs(one))).toEqual([])
    expect((await readdir(path)).sort()).toEqual(['FORMAT', 'HIGHWATER', 'kv', 'objects'])
  })

  test('an empty directory that was there is closed', async () => {
    const path = await newParent()
    await chmod(path, 0o777)
    await makeStore(path)

    expect((await stat(path)).mode & 0o777).toBe(0o700)
  })

  test('a backup and what is restored of it are closed', async () => {
    const parent = await newParent()
    const [path, file, restored] = ['store', 'backup', 'restored'].map((name) => join(parent, name))
    await makeStore(path ?? '')
    const store = await openDirectory(path ?? '')
    await backupToFile(store, file ?? '')
    await store.close()
    await restoreDirectory(restored ?? '', createReadStream(file ?? ''))

    expect(await openToOthers(file ?? '')).toEqual([])
    expect((await openToOthers(restored ?? '')).filter((one) => !isLevelDbs(one))).toEqual([])
  })

  test('a directory that others may enter is opened with a warning that says what to do', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await chmod(path, 0o755)
    const reopen = async (): Promise<void> => (await openDirectory(path)).close()

    const warnings = await warningsOf(reopen)
    await chmod(path, 0o700)

    expect(warnings).toEqual([expect.stringContaining(`mode 755`)])
    expect(warnings[0]).toContain(`chmod 700 ${path}`)
    expect(await warningsOf(reopen)).toEqual([])
  })
})
