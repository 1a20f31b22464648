import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import {
  PACKAGE_VERSION,
  parseFormatFile,
  renderFormatFile,
} from '../../../adapters/directory/directory-format.js'
import { utf8 } from '../../../src/base/bytes.js'

async function newParent(): Promise<string> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'rowstash-directory-')))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  return parent
}

const HOLD_DATABASE = fileURLToPath(new URL('./hold-database.mjs', import.meta.url))

const OBJECT_ID = '0123456789abcdef0000000000000001'

/** Creates a store with a record and an object. */
async function makeStore(path: string): Promise<void> {
  const ports = await openDirectoryPorts(path)
  await ports.kv.partition('p').commit({ puts: [[utf8('key'), utf8('value')]] })
  await ports.objects.put(OBJECT_ID, utf8('content'))
  await ports.close()
}

async function expectStored(path: string): Promise<void> {
  const ports = await openDirectoryPorts(path)
  try {
    const value = await ports.kv.partition('p').read((view) => view.get(utf8('key')))
    expect(value).toEqual(utf8('value'))
    expect(await ports.objects.get(OBJECT_ID)).toEqual(utf8('content'))
  } finally {
    await ports.close()
  }
}

/** All that is visible of a tree: names, times, sizes, and the bytes of its files. */
async function fingerprint(path: string): Promise<string[]> {
  const found = await lstat(path, { bigint: true })
  const own = [basename(path), found.mode, found.ino, found.size, found.mtimeNs, found.ctimeNs]
  if (found.isFile()) {
    own.push(
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    )
  }
  const lines = [own.join(' ')]
  if (found.isDirectory()) {
    for (const name of (await readdir(path)).sort()) {
      lines.push(...(await fingerprint(join(path, name))))
    }
  }
  return lines
}

async function expectRefusedUntouched(path: string, code: string, tree = path): Promise<void> {
  const before = await fingerprint(tree)

  await expect(openDirectoryPorts(path)).rejects.toMatchObject({ name: 'StoreError', code })

  expect(await fingerprint(tree)).toEqual(before)
}

describe('making a store', () => {
  test('a missing directory becomes a store, with all that is above it', async () => {
    const path = join(await newParent(), 'deep', 'er', 'store')

    await makeStore(path)

    expect((await readdir(path)).sort()).toEqual(['FORMAT', 'HIGHWATER', 'kv', 'objects'])
    expect(await readdir(dirname(path))).toEqual(['store'])
    await expectStored(path)
  })

  test('an empty directory becomes a store', async () => {
    const path = join(await newParent(), 'store')
    await mkdir(path)

    await makeStore(path)

    await expectStored(path)
  })

  test('the FORMAT file names the format, the version and the store', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)

    const text = await readFile(join(path, 'FORMAT'), 'utf8')

    const features = 'requires: table-life keys shared-objects'
    const lines = [
      'rowstash store',
      'format: 1',
      features,
      `created-by: rowstash ${PACKAGE_VERSION}`,
    ]
    expect(text.split('\n').slice(0, 4)).toEqual(lines)
    expect(text.split('\n').slice(4)).toEqual([expect.stringMatching(/^store: [0-9a-f]{32}$/), ''])
  })

  test('an opening adds the features of this version to the FORMAT file of an earlier one', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    const format = join(path, 'FORMAT')
    const now = await readFile(format, 'utf8')
    await writeFile(format, now.replace('requires: table-life\n', '').replace('0.1.0', '0.0.9'))
    await expectStored(path)

    expect(await readFile(format, 'utf8')).toBe(now.replace('0.1.0', '0.0.9'))
    expect((await readdir(path)).filter((name) => name.startsWith('FORMAT'))).toEqual(['FORMAT'])
  })

  test('the version in the FORMAT file is that of the package', async () => {
    const manifest = JSON.parse(
      await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
    ) as { version: string }

    expect(PACKAGE_VERSION).toBe(manifest.version)
  })

  test('two stores have different names', async () => {
    const parent = await newParent()
    await makeStore(join(parent, 'a'))
    await makeStore(join(parent, 'b'))

    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) => readFile(join(parent, name, 'FORMAT'), 'utf8')),
    )

    expect(a).not.toBe(b)
  })

  test('the path that the ports tell is free of symbolic links', async () => {
    const parent = await newParent()
    await symlink(parent, join(parent, 'link'))

    const ports = await openDirectoryPorts(join(parent, 'link', 'store'))
    await ports.close()

    expect(ports.path).toBe(join(parent, 'store'))
  })

  test('of several makers at once one opens the store, and the others leave nothing', async () => {
    const parent = await newParent()
    const path = join(parent, 'store')

    const settled = await Promise.allSettled(
      Array.from({ length: 5 }, () => openDirectoryPorts(path)),
    )

    const opened = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    expect(opened.length).toBe(1)
    for (const one of settled) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STORE_LOCKED' })
    }
    expect(await readdir(parent)).toEqual(['store'])
    await opened[0]?.close()
  })

  test('a store is not made anew when it is opened again', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    const format = await readFile(join(path, 'FORMAT'), 'utf8')

    await expectStored(path)

    expect(await readFile(join(path, 'FORMAT'), 'utf8')).toBe(format)
  })
})

describe('a path that is something else', () => {
  test('a directory with foreign files is refused and not touched', async () => {
    const parent = await newParent()
    const path = join(parent, 'store')
    await mkdir(join(path, 'sub'), { recursive: true })
    await writeFile(join(path, 'sub', 'file'), 'content')

    await expectRefusedUntouched(path, 'FORMAT_UNKNOWN', parent)
  })

  test('a LevelDB database of somebody else is refused and not touched', async () => {
    const parent = await newParent()
    await makeStore(join(parent, 'store'))

    await expectRefusedUntouched(join(parent, 'store', 'kv'), 'FORMAT_UNKNOWN', parent)
  })

  test('a file is refused and not touched', async () => {
    const parent = await newParent()
    await writeFile(join(parent, 'file'), 'content')

    await expectRefusedUntouched(join(parent, 'file'), 'FORMAT_UNKNOWN', parent)
    await expectRefusedUntouched(join(parent, 'file', 'below'), 'FORMAT_UNKNOWN', parent)
  })

  test.each([
    ['another format', 'rowstash store\nformat: 2\nsomething: else\n'],
    ['another first line', 'another store\nformat: 1\n'],
    ['no line', ''],
    ['a missing line', 'rowstash store\nformat: 1\ncreated-by: rowstash 0.1.0\n'],
    ['a further line', `${renderFormatFile('0'.repeat(32))}more\n`],
    ['a short name', renderFormatFile('0'.repeat(31))],
    ['too many bytes', `${renderFormatFile('0'.repeat(32))}${' '.repeat(5_000)}`],
    ['other line ends', renderFormatFile('0'.repeat(32)).replaceAll('\n', '\r\n')],
  ])('a FORMAT file with %s is refused and nothing is touched', async (_what, text) => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await writeFile(join(path, 'FORMAT'), text)

    await expectRefusedUntouched(path, 'FORMAT_UNKNOWN')
  })

  test('the number of an unknown format is told', () => {
    const parse = () => parseFormatFile('rowstash store\nformat: 27\nmore\n', 'FORMAT')

    expect(parse).toThrow('format 27')
  })

  test('what is rendered is parsed', () => {
    expect(parseFormatFile(renderFormatFile('ab'.repeat(16)), 'FORMAT')).toBe('ab'.repeat(16))
  })
})

describe('a damaged store', () => {
  test('without CURRENT it is refused, and its table files stay', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await expectStored(path) // LevelDB turns its log into a table file at the next open.
    await unlink(join(path, 'kv', 'CURRENT'))
    const tables = (await readdir(join(path, 'kv'))).filter((name) => name.endsWith('.ldb'))
    expect(tables.length).toBeGreaterThan(0)

    await expectRefusedUntouched(path, 'DATA_LOSS')
  })

  test.each(['kv', 'objects'])('without %s it is refused and not touched', async (part) => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await rename(join(path, part), `${path}-${part}`)

    await expectRefusedUntouched(path, 'DATA_LOSS')
    await rename(`${path}-${part}`, join(path, part))

    await expectStored(path)
  })

  test('without its FORMAT file it is refused and not touched', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await unlink(join(path, 'FORMAT'))

    await expectRefusedUntouched(path, 'FORMAT_UNKNOWN')
  })

  test('a database that lost all its records is refused', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    for (const name of await readdir(join(path, 'kv'))) {
      if (name.endsWith('.ldb') || name.endsWith('.log')) await unlink(join(path, 'kv', name))
    }

    const refused = { name: 'StoreError', code: expect.stringMatching(/^DATA_/) }
    await expect(openDirectoryPorts(path)).rejects.toMatchObject(refused)
  })

  test('a failed open releases the directory', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await rename(join(path, 'kv', 'CURRENT'), join(path, 'kv', 'CURRENT-away'))
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_LOSS' })
    await rename(join(path, 'kv', 'CURRENT-away'), join(path, 'kv', 'CURRENT'))

    await expectStored(path)
  })

  test('an open that fails inside LevelDB releases the directory', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    await unlink(join(path, 'kv', 'LOCK'))
    await mkdir(join(path, 'kv', 'LOCK'))
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ name: 'StoreError' })
    await rm(join(path, 'kv', 'LOCK'), { recursive: true })

    await expectStored(path)
  })
})

describe('a store that is open', () => {
  test('is not opened again by any spelling of its path', async () => {
    const parent = await newParent()
    const path = join(parent, 'store')
    const ports = await openDirectoryPorts(path)
    await symlink(path, join(parent, 'link'))
    await symlink(parent, join(parent, 'parent-link'))

    const spellings = [
      path,
      `${path}/`,
      `${parent}/./store`,
      `${parent}/../${basename(parent)}/store`,
      join(parent, 'link'),
      join(parent, 'parent-link', 'store'),
      relative(process.cwd(), path),
    ]
    for (const spelling of spellings) {
      const locked = { name: 'StoreError', code: 'STORE_LOCKED' }
      await expect(openDirectoryPorts(spelling)).rejects.toMatchObject(locked)
    }

    await ports.close()
  })

  test('is not opened again after it was moved', async () => {
    const parent = await newParent()
    const ports = await openDirectoryPorts(join(parent, 'store'))
    await rename(join(parent, 'store'), join(parent, 'moved'))

    const opening = openDirectoryPorts(join(parent, 'moved'))

    await expect(opening).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await rename(join(parent, 'moved'), join(parent, 'store'))
    await ports.close()
  })

  test('can be opened again after it was closed, and closed twice', async () => {
    const path = join(await newParent(), 'store')
    for (let round = 0; round < 3; round++) {
      const ports = await openDirectoryPorts(path)
      await Promise.all([ports.close(), ports.close()])
    }

    const ports = await openDirectoryPorts(path)
    await ports.close()
    await expect(ports.objects.list('')).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })

  test('by another process is refused, again and again, and its lock holds', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    const child = fork(HOLD_DATABASE, [join(path, 'kv')])
    onTestFinished(() => void child.kill())
    await once(child, 'message')

    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(openDirectoryPorts(path)).rejects.toMatchObject({
        code: 'STORE_LOCKED',
        message: expect.stringContaining(path),
      })
    }

    child.send('end')
    await once(child, 'exit')
    await expectStored(path)
  })

  test('keeps another process out, also after a second open here failed', async () => {
    const path = join(await newParent(), 'store')
    const ports = await openDirectoryPorts(path)
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'STORE_LOCKED' })

    const child = fork(HOLD_DATABASE, [join(path, 'kv')], { silent: true })
    const [code] = await once(child, 'exit')

    expect(code).not.toBe(0)
    await ports.close()
  })

  test('removes left-over temporary files of objects when it is opened', async () => {
    const path = join(await newParent(), 'store')
    await makeStore(path)
    const folder = join(path, 'objects', '0123456789abcdef', '0000000000000')
    await writeFile(join(folder, '0123456789abcdef0000000000000009.tmp'), 'half')

    await expectStored(path)

    expect(await readdir(folder)).toEqual([OBJECT_ID])
  })
})
