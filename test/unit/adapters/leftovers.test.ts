// Goal: leftovers of killed processes are removed, and files that living processes are working on stay.
// Method: processes stop just before their store, restored store or backup gets its name. Some are killed there. There
// are also leftovers of other machines.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { backupToFile, openDirectory, restoreDirectory } from '../../../adapters/node.js'
import { type BuiltPrograms, buildPrograms } from '../../rungs/crash/writer-process.js'

let programs: BuiltPrograms
let shared = ''

/** A backup of a small store. */
let backup = ''

beforeAll(async () => {
  programs = await buildPrograms(['stuck-maker'], { smallBuffers: false })
  shared = await mkdtemp(join(tmpdir(), 'rowstash-leftovers-'))
  backup = join(shared, 'backup')
  await makeStore(join(shared, 'store'), backup)
})

afterAll(async () => {
  await programs.remove()
  await rm(shared, { recursive: true, force: true })
})

async function newParent(): Promise<string> {
  const parent = await realpath(await mkdtemp(join(shared, 'parent-')))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  return parent
}

async function makeStore(path: string, copy?: string): Promise<void> {
  const store = await openDirectory(path)
  await store.team('t').createTable({ name: 'n', rows: [{ a: 1 }] })
  if (copy !== undefined) await backupToFile(store, copy)
  await store.close()
}

type Making = 'create' | 'restore' | 'backup'

/** A process that has done all but the last step. */
async function startStuck(what: Making, target: string, source = backup): Promise<ChildProcess> {
  const args = [programs.path('stuck-maker'), what, target, source]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = await once(child.stdout ?? child, 'data')
  expect(String(said)).toBe('stuck')
  return child
}

async function killStuck(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'close')
}

async function make(what: 'create' | 'restore', path: string): Promise<void> {
  if (what === 'create') await makeStore(path)
  else await restoreDirectory(path, createReadStream(backup))
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Sets the modification time of a path and of everything directly in it. */
async function setAge(path: string, ms: number): Promise<void> {
  const then = new Date(Date.now() - ms)
  const inside = await readdir(path).catch(() => [])
  for (const one of [...inside.map((name) => join(path, name)), path]) await utimes(one, then, then)
}

describe.skipIf(process.platform === 'win32')('stores', () => {
  test.each(['create', 'restore'] as const)(
    'what a killed %s left is removed by the next one',
    async (what) => {
      const parent = await newParent()
      const path = join(parent, 'store')
      await killStuck(await startStuck(what, path))
      const left = await readdir(parent)
      expect(left).toEqual([expect.stringMatching(/^store\..*[0-9a-f]{16}$/)])

      await make(what, path)

      expect(await readdir(parent)).toEqual(['store'])
      expect((await readdir(path)).sort()).toEqual(['FORMAT', 'HIGHWATER', 'kv', 'objects'])
    },
  )

  test.skipIf(!existsSync('/proc/self/stat'))(
    'what a killed restore left is removed also if nobody has asked how it ended',
    async () => {
      const parent = await newParent()
      const path = join(parent, 'store')
      const args = [process.execPath, programs.path('stuck-maker'), 'restore', path, backup]
      // The shell becomes another program, which does not know of its child.
      const careless = ['-c', '"$0" "$@" & exec sleep 1000', ...args]
      const child = spawn('sh', careless, { stdio: ['ignore', 'pipe', 'inherit'] })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      const [temporary = ''] = await readdir(parent)
      const maker = await readFile(join(parent, temporary, 'MAKER'), 'utf8')
      const pid = Number(maker.split(' ')[1])
      process.kill(pid, 'SIGKILL')
      const state = async () => /\) (.)/.exec(await readFile(`/proc/${pid}/stat`, 'latin1'))?.[1]
      await expect.poll(state).toBe('Z')

      await make('restore', path)

      expect(await readdir(parent)).toEqual(['store'])
    },
  )

  test.each(['create', 'restore'] as const)(
    'what a living %s is at work on stays, and does not hinder the next one',
    async (what) => {
      const parent = await newParent()
      const path = join(parent, 'store')
      const child = await startStuck(what, path)
      const [temporary = ''] = await readdir(parent)
      await setAge(join(parent, temporary), 30 * DAY_MS)
      const before = await readdir(join(parent, temporary))

      await make(what, path)

      expect((await readdir(parent)).sort()).toEqual(['store', temporary])
      expect(await readdir(join(parent, temporary))).toEqual(before)
      await killStuck(child)
    },
  )

  test('of two restores into one place at the same time one wins, and the other leaves nothing', async () => {
    const parent = await newParent()
    const path = join(parent, 'store')
    const bytes = await readFile(backup)
    let go: () => void = () => undefined
    const mayGo = new Promise<void>((resolve) => {
      go = resolve
    })
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 100)
      await mayGo
      yield bytes.subarray(100)
    }
    const slow = restoreDirectory(path, slowly())
    await expect.poll(async () => (await readdir(parent)).length).toBe(1)
    await restoreDirectory(path, createReadStream(backup))
    expect(await readdir(parent)).toHaveLength(2)
    go()

    await expect(slow).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await readdir(parent)).toEqual(['store'])
    await makeStore(path)
  })

  test('what a process of another machine left, or nobody knows who, is removed when it is a day old', async () => {
    const parent = await newParent()
    const names = ['store.tmp-0123456789abcdef', 'store.restoring-0123456789abcdef']
    const others = [
      'store.tmp-0123',
      'other.tmp-0123456789abcdef',
      'store.tmp-0123456789abcdef.txt',
    ]
    for (const name of [...names, ...others]) {
      await mkdir(join(parent, name, 'kv'), { recursive: true })
      if (name === names[0]) await writeFile(join(parent, name, 'MAKER'), 'elsewhere 1 5\n')
      await setAge(join(parent, name), DAY_MS - MINUTE_MS)
    }
    await makeStore(join(parent, 'store'))
    expect((await readdir(parent)).sort()).toEqual([...names, ...others, 'store'].sort())

    await rm(join(parent, 'store'), { recursive: true })
    for (const name of [...names, ...others]) await setAge(join(parent, name), DAY_MS)
    await makeStore(join(parent, 'store'))

    expect((await readdir(parent)).sort()).toEqual([...others, 'store'].sort())
  })

  test.runIf(process.platform === 'linux')(
    'a process that has the ID of a dead maker does not keep what that one left',
    async () => {
      const parent = await newParent()
      const path = join(parent, 'store')
      await killStuck(await startStuck('create', path))
      const [temporary = ''] = await readdir(parent)
      const file = join(parent, temporary, 'MAKER')
      const maker = await readFile(file, 'utf8')
      await writeFile(file, maker.replace(/ \d+ /, ` ${process.pid} `))

      await makeStore(path)

      expect(await readdir(parent)).toEqual(['store'])
    },
  )
})

describe('backups', () => {
  test('what a killed one left is removed by the next one into that folder, a day later', async () => {
    const parent = await newParent()
    const store = join(parent, 'store')
    await makeStore(store)
    const folder = join(parent, 'backups')
    await mkdir(folder)
    await killStuck(await startStuck('backup', join(folder, 'monday'), store))
    const [killed = ''] = await readdir(folder)
    const others = ['notes.tmp-0123456789abcdef', 'monday.tmp-0123', 'old']
    for (const name of others) await writeFile(join(folder, name), 'something else')
    for (const name of others) await setAge(join(folder, name), 30 * DAY_MS)

    await setAge(join(folder, killed), DAY_MS - MINUTE_MS)
    await makeStore(store, join(folder, 'tuesday'))
    expect((await readdir(folder)).sort()).toEqual([killed, ...others, 'tuesday'].sort())
    await setAge(join(folder, killed), DAY_MS)
    await makeStore(store, join(folder, 'wednesday'))

    expect((await readdir(folder)).sort()).toEqual([...others, 'tuesday', 'wednesday'].sort())
  })
})
