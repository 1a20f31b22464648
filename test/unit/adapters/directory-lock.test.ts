// Owner records that cannot occur here are written by hand, and the test sets how many hours pass.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cp,
  mkdtemp,
  open,
  readdir,
  realpath,
  rename,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { lockDirectory } from '../../../adapters/directory/directory-lock.js'
import {
  type OwnerRecord,
  ownerName,
  parseOwnerName,
} from '../../../adapters/directory/owner-record.js'
import { utf8 } from '../../../src/base/bytes.js'
import { fifthOf } from '../../support/what-runs.js'

const HOLD_DATABASE = fileURLToPath(new URL('./hold-database.mjs', import.meta.url))
const isLinux = process.platform === 'linux'

async function newStore(): Promise<string> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'rowstash-lock-')))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const path = join(parent, 'store')
  await (await openDirectoryPorts(path)).close()
  return path
}

async function recordsIn(path: string): Promise<string[]> {
  return (await readdir(path)).filter((name) => name.startsWith('OWNER'))
}

/** The record of an owner in this process. */
async function ownRecord(path: string): Promise<OwnerRecord> {
  const ports = await openDirectoryPorts(path)
  const [name = ''] = await recordsIn(path)
  await ports.close()
  const record = parseOwnerName(name)
  if (record === undefined) throw new Error(`${name} is no record`)
  return { ...record, nonce: '00000000000000aa' }
}

/** Puts a record of another owner into a directory. @returns its path. */
async function plant(path: string, changed: Partial<OwnerRecord>): Promise<string> {
  const file = join(path, ownerName({ ...(await ownRecord(path)), ...changed }))
  await writeFile(file, '')
  return file
}

/** Time that passes only during a wait. @param meanwhile - Called with the time. */
function virtualTime(meanwhile: (ms: number) => Promise<unknown> = async () => undefined) {
  let now = 0
  return {
    nowMs: () => now,
    async pause(ms: number) {
      now += ms
      await meanwhile(now)
    },
  }
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

const LOCKED = { name: 'StoreError', code: 'STORE_LOCKED' }

async function expectLocked(path: string, message = ''): Promise<void> {
  const locked = { ...LOCKED, message: expect.stringContaining(message) }
  await expect(openDirectoryPorts(path)).rejects.toMatchObject(locked)
}

/** Opens at once: waiting for a heartbeat would take longer. */
async function expectOpens(path: string): Promise<void> {
  const lock = await lockDirectory(
    path,
    0,
    virtualTime(() => Promise.reject(new Error('It waits'))),
  )
  expect(await recordsIn(path)).toHaveLength(1)
  await lock.release()
  expect(await recordsIn(path)).toEqual([])
}

describe('the owner of a directory', () => {
  test('has a record while the store is open, which says who it is', async () => {
    const path = await newStore()
    expect(await ownRecord(path)).toMatchObject({
      pid: process.pid,
      ...(isLinux && { boot: /^.{32}$/ }),
    })
    expect(await recordsIn(path)).toEqual([])
  })

  test('that lives keeps others out, and is named', async () => {
    const path = await newStore()
    const { host } = await ownRecord(path)
    const file = await open(`${path}-record`, 'wx')
    const child = spawn('sleep', ['1000'], { stdio: [file.fd, 'ignore', 'ignore'] })
    onTestFinished(() => void child.kill())
    await file.close()
    // The record of a system that does not report when processes started.
    await rename(`${path}-record`, await plant(path, { pid: child.pid ?? 0, start: '' }))

    await expectLocked(
      path,
      `Another process (${child.pid} on ${host}) has the directory ${path} open`,
    )
  })

  test('that was killed, or whose ID is another process by now, is gone at once', async () => {
    const path = await newStore()
    await plant(path, { pid: await deadPid() })
    await expectOpens(path)
    if (!isLinux) return
    await plant(path, { pid: process.ppid, start: '5' })
    await expectOpens(path)
    await plant(path, { start: '5' })
    await expectOpens(path)
  })

  test.runIf(isLinux)('of an earlier boot is gone at once, unless LevelDB is locked', async () => {
    const path = await newStore()
    const record = await plant(path, { boot: '0'.repeat(32) })
    const child = await holdDatabase(path)
    await expectLocked(path)
    child.send('end')
    await once(child, 'exit')
    expect(await recordsIn(path)).toEqual([record.slice(path.length + 1)])

    await expectOpens(path)
  })

  test('that released its record and could not remove it is gone at once', async () => {
    const path = await newStore()
    await utimes(await plant(path, { pid: process.ppid, start: '' }), 0, 0)

    await expectOpens(path)
  })

  test('of the directory that was copied has not the copy', async () => {
    const path = await newStore()
    const ports = await openDirectoryPorts(path)
    await ports.kv.partition('p').commit({ puts: [[utf8('key'), utf8('value')]] })
    await cp(path, `${path}-copy`, { recursive: true })
    expect(await recordsIn(`${path}-copy`)).toHaveLength(1)

    await expectOpens(`${path}-copy`)
    await expectLocked(path)
    await ports.close()
  })

  test.runIf(isLinux)('that was a worker thread which has ended is gone at once', async () => {
    const path = await newStore()
    // These processes are alive, and none of their threads has the file open.
    for (const changed of [{}, { pid: process.ppid, start: '' }]) {
      await plant(path, changed)
      await expectOpens(path)
    }
  })
})

test('what a process left that was killed while it made a record is removed', async () => {
  const path = await newStore()
  await writeFile(join(path, 'OWNER.0123456789abcdef.tmp'), '')

  await expectOpens(path)
})

describe.runIf(isLinux)('an owner in another PID namespace', () => {
  const elsewhere = { namespace: '1', pid: 1 }

  test('that is silent for three beats is gone within 10 seconds', async () => {
    const path = await newStore()
    await plant(path, elsewhere)
    const time = virtualTime()

    const lock = await lockDirectory(path, 0, time)

    expect(time.nowMs()).toBeGreaterThanOrEqual(7_500)
    expect(time.nowMs()).toBeLessThan(10_000)
    await lock.release()
  })

  test('on another machine, which numbers file systems otherwise, is no owner of a copy', async () => {
    const path = await newStore()
    await plant(path, { boot: 'f'.repeat(32), device: '1', host: 'another' })
    const time = virtualTime()

    const lock = await lockDirectory(path, 0, time)

    expect(time.nowMs()).toBeGreaterThanOrEqual(7_500)
    await lock.release()
  })

  test('whose clock jumps, and that beats, keeps others out', async () => {
    const path = await newStore()
    const record = await plant(path, elsewhere)
    let beat = 9e8
    const time = virtualTime(async (now) => {
      if (now % 2_500 === 0) await utimes(record, 0, beat--)
    })

    await expect(lockDirectory(path, 0, time)).rejects.toMatchObject(LOCKED)
    expect(time.nowMs()).toBe(2_500)
    await expect(lockDirectory(path, 60_000, time)).rejects.toMatchObject(LOCKED)
  })

  test('that opened it meanwhile keeps others out, who do not wait for ever', async () => {
    const path = await newStore()
    const later = { ...(await ownRecord(path)), ...elsewhere, nonce: '0000000000000002' }
    const record = await plant(path, elsewhere)
    const time = virtualTime(async (now) => {
      if (now !== 5_000) return
      await rm(record)
      await writeFile(join(path, ownerName(later)), '')
    })

    await expect(lockDirectory(path, 0, time)).rejects.toMatchObject(LOCKED)
    expect(time.nowMs()).toBe(5_000)
  })

  test('that is silent and has the lock of LevelDB keeps others out', async () => {
    const path = await newStore()
    await plant(path, elsewhere)
    const child = await holdDatabase(path)

    await expect(lockDirectory(path, 0, virtualTime())).rejects.toMatchObject(LOCKED)
    expect(await recordsIn(path)).toHaveLength(1)
    child.kill()
  })

  test('that comes back after it was taken for gone acknowledges nothing', async () => {
    const path = await newStore()
    const paused = await openDirectoryPorts(path)
    const [name = ''] = await recordsIn(path)
    await rm(join(path, name)) // Another process does this after three heartbeats.

    const commit = paused.kv.partition('p').commit({ puts: [[utf8('key'), utf8('value')]] })

    const taken = { code: 'DATA_LOSS', outcome: 'unknown', message: expect.stringContaining(name) }
    await expect(commit).rejects.toMatchObject(taken)
    await expect(paused.close()).rejects.toMatchObject({ code: 'DATA_LOSS' })
  })
})

describe('several that open a directory at the same time', () => {
  test('one has it, and every other one is refused', async () => {
    const path = await newStore()
    await plant(path, { pid: await deadPid() })
    for (let round = 0; round < fifthOf(10); round++) {
      const settled = await Promise.allSettled(
        Array.from({ length: 6 }, () => lockDirectory(path, 0)),
      )
      const locks = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      expect(locks).toHaveLength(1)
      for (const one of settled) {
        if (one.status === 'rejected') expect(one.reason).toMatchObject(LOCKED)
      }
      await locks[0]?.release()
    }
  })

  test('with waitMs all have it, one after the other', async () => {
    const path = await newStore()
    let holders = 0
    const hold = async (): Promise<void> => {
      const ports = await openDirectoryPorts(path, { waitMs: 60_000 })
      expect(++holders).toBe(1)
      holders--
      await ports.close()
    }

    await Promise.all([hold(), hold(), hold()])
  })

  test('waitMs has a range', async () => {
    const refused = { code: 'OPTION_NOT_ALLOWED', message: expect.stringContaining('waitMs') }
    await expect(openDirectoryPorts('x', { waitMs: -1 })).rejects.toMatchObject(refused)
  })
})

/** A process that has the database of a store open, without a record. */
async function holdDatabase(path: string): Promise<ChildProcess> {
  const child = fork(HOLD_DATABASE, [join(path, 'kv')])
  onTestFinished(() => void child.kill())
  await once(child, 'message')
  return child
}
