// A disk with too little space for an opening: the store is read from a stand-in, which changes nothing, until there is
// space.
import { describe, expect, onTestFinished, test } from 'vitest'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import { StoreError } from '../../../src/base/store-error.js'
import { decodeHighWater } from '../../../src/kv/high-water.js'
import type { KvStore } from '../../../src/kv/kv.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import type { LevelKvOptions } from '../../../src/kv/level-options.js'
import { VERSION_STEP } from '../../../src/kv/version-base.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { NO_FAULTS, nthStep, type PortStep } from '../../conformance/faults/fault-plan.js'
import { MemoryHighWater, STORE } from '../../support/memory-high-water.js'

const needsRoom = ({ port, operation }: PortStep): boolean =>
  port === 'level' && (operation === 'open' || operation === 'write')

const FULL = new StoreError('INSUFFICIENT_STORAGE', 'No space left on device')

type Disk = Readonly<{
  disk: FaultDisk
  file: MemoryHighWater
  fill(): void
  free(): void
  open(options?: LevelKvOptions): Promise<KvStore>
  /** Ends the process without a close. */
  kill(): void
}>

/** A disk with a store of one record that nobody has open. */
async function newDisk(options: LevelKvOptions = {}): Promise<Disk> {
  const [disk, file] = [new FaultDisk({ seed: 1 }), new MemoryHighWater()]
  const fill = (): void => {
    disk.faults = nthStep(0, { kind: 'full' }, { fits: needsRoom, lasting: true })
    file.failure = FULL
  }
  const free = (): void => {
    disk.faults = NO_FAULTS
    file.failure = undefined
  }
  const standIn = async () => {
    const { faults } = disk
    disk.faults = NO_FAULTS
    const level = disk.level()
    await level.open()
    disk.faults = faults
    return level
  }
  const open = async (more: LevelKvOptions = {}): Promise<KvStore> => {
    const given = { highWater: file.place, standIn, ...options, ...more }
    const kv = await openLevelKv(() => disk.level(), given)
    onTestFinished(() => kv.close().catch(() => undefined))
    return kv
  }
  const kv = await open()
  await put(kv, 'a')
  await kv.close()
  return { disk, file, fill, free, open, kill: () => disk.crash('process') }
}

function put(kv: KvStore, key: string) {
  return kv.partition('p').commit({ puts: [[utf8(key), utf8(key)]] })
}

async function stored(kv: KvStore, key: string): Promise<string | null> {
  const value = await kv.partition('p').read((view) => view.get(utf8(key)))
  return value && fromUtf8(value)
}

const REFUSED = { code: 'INSUFFICIENT_STORAGE', outcome: 'unchanged' }

describe('a store without room to open its database', () => {
  test('is read, refuses writes, leaves its mark as it is, and writes when there is room', async () => {
    const { file, fill, free, open } = await newDisk()
    fill()
    const mark = file.bytes?.slice()
    const kv = await open()

    expect(await stored(kv, 'a')).toBe('a')
    for (let tries = 0; tries < 2; tries++)
      await expect(put(kv, 'b')).rejects.toMatchObject(REFUSED)
    expect(file.bytes).toEqual(mark)

    free()
    await expect.poll(() => put(kv, 'b').catch((failure: unknown) => failure)).toEqual({ ok: true })
    expect([await stored(kv, 'a'), await stored(kv, 'b')]).toEqual(['a', 'b'])
    expect(decodeHighWater(STORE, file.bytes ?? new Uint8Array()).closed).toBe(false)
  })

  test('may be closed, and shows the same afterwards', async () => {
    const { file, fill, free, open } = await newDisk()
    fill()
    const mark = file.bytes?.slice()
    await (await open()).close()

    expect(file.bytes).toEqual(mark)
    free()
    expect(await stored(await open(), 'a')).toBe('a')
  })

  test('whose commits may be lost shows the versions that it goes on with', async () => {
    const { fill, free, open, kill } = await newDisk({ durability: 'interval' })
    await put(await open(), 'b')
    kill()
    fill()
    const kv = await open()
    expect(kv.versionBase).toBe(VERSION_STEP)
    free()
    await expect.poll(() => put(kv, 'c').catch((failure: unknown) => failure)).toEqual({ ok: true })
    expect(kv.versionBase).toBe(VERSION_STEP)
    await kv.close()

    expect((await open()).versionBase).toBe(VERSION_STEP)
  })

  test('that lacks commits is refused, as with room', async () => {
    const { file, fill, open } = await newDisk()
    const ahead = await newDisk()
    await put(await ahead.open(), 'b')
    file.bytes = ahead.file.bytes
    fill()

    await expect(open({ written: true })).rejects.toMatchObject({ code: 'DATA_LOSS' })
  })

  test('does not open if there is no room for a stand-in either, or for another reason', async () => {
    const { disk, fill, open } = await newDisk()
    fill()
    const failing = async (): Promise<never> => {
      throw new StoreError('INSUFFICIENT_STORAGE', 'nowhere')
    }
    await expect(open({ standIn: failing })).rejects.toMatchObject({ message: 'nowhere' })

    disk.faults = nthStep(0, { kind: 'fail' }, { fits: needsRoom, lasting: true })
    await expect(open({ standIn: failing })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })
})
