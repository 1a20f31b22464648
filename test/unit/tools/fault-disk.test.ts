// The disk of the crash tests must lose what a real disk loses, and nothing else.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openLevelKv } from '../../../src/index.js'
import type { FaultDiskOptions } from '../../conformance/faults/fault-disk.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import type { Fault, PortStep } from '../../conformance/faults/fault-plan.js'
import { nthStep } from '../../conformance/faults/fault-plan.js'
import { anySchema, anyValueOfKind } from '../../conformance/generators.js'
import { type KvSuiteOptions, kvSuite } from '../../conformance/kv/kv-suite.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const VIEW = { keyEncoding: 'view', valueEncoding: 'view' } as const

type Level = ReturnType<FaultDisk['level']>

async function openLevel(disk: FaultDisk): Promise<Level> {
  const level = disk.level()
  await level.open()
  return level
}

async function write(level: Level, key: string, sync: boolean): Promise<void> {
  const options = { ...VIEW, sync }
  await level.batch([{ type: 'put', key: bytes(key), value: bytes(`=${key}`) }], options)
}

async function keysOf(level: Level): Promise<string> {
  const keys = await level.keys<Uint8Array>(VIEW).all()
  return keys.map((key) => new TextDecoder().decode(key)).join('')
}

/** The keys that remain after a crash of the machine, for many seeds. */
async function keptBySeed(
  options: FaultDiskOptions,
  writes: readonly (readonly [key: string, sync: boolean])[],
): Promise<Set<string>> {
  const kept = new Set<string>()
  for (let seed = 0; seed < 200; seed++) {
    const disk = new FaultDisk({ seed, ...options })
    const level = await openLevel(disk)
    for (const [key, sync] of writes) await write(level, key, sync)
    disk.crash('machine')
    kept.add(await keysOf(await openLevel(disk)))
  }
  return kept
}

const writes = (step: PortStep): boolean => step.operation === 'write'

function onWrite(n: number, fault: Fault): FaultDisk {
  const disk = new FaultDisk({ seed: 7 })
  disk.faults = nthStep(n, fault, { fits: writes })
  return disk
}

describe('a power cut', () => {
  const some = [
    ['a', true],
    ['b', false],
    ['c', false],
  ] as const

  test('loses unsynced batches from the end, and no synced one', async () => {
    expect([...(await keptBySeed({}, some))].sort()).toEqual(['a', 'ab', 'abc'])
  })

  test('keeps what came before a synced batch in the same log', async () => {
    const kept = await keptBySeed({}, [
      ['a', false],
      ['b', true],
    ])

    expect([...kept]).toEqual(['ab'])
  })

  const twoLogs = [
    ['a', false],
    ['b', true],
  ] as const

  test('loses a batch of an older log although a later one was synced, as LevelDB does', async () => {
    const kept = await keptBySeed({ logBytesMax: 1 }, twoLogs)

    expect([...kept].sort()).toEqual(['ab', 'b'])
  })

  test('never does so in the model `prefix`', async () => {
    const kept = await keptBySeed({ logBytesMax: 1, model: 'prefix' }, twoLogs)

    expect([...kept]).toEqual(['ab'])
  })

  test('loses an older log no more once it has become a table', async () => {
    const later = Array.from('bcdefghij', (key) => [key, true] as const)
    const kept = await keptBySeed({ logBytesMax: 1 }, [['a', false], ...later])

    expect([...kept]).toEqual(['abcdefghij'])
  })
})

test('the end of a process loses nothing that was written', async () => {
  const disk = new FaultDisk()
  const level = await openLevel(disk)
  await write(level, 'a', false)

  disk.crash('process')

  await expect(write(level, 'b', true)).rejects.toThrow('ended')
  expect(await keysOf(await openLevel(disk))).toBe('a')
})

test('after a full disk writes are acknowledged, and gone at the next open', async () => {
  const disk = onWrite(1, { kind: 'full' })
  const level = await openLevel(disk)
  await write(level, 'a', true)
  await expect(write(level, 'b', true)).rejects.toThrow('No space left')
  await write(level, 'c', true)
  const before = await keysOf(level)
  await level.close()

  expect([before, await keysOf(await openLevel(disk))]).toEqual(['ac', 'a'])
})

test('a failed write may be there after the next open, and until then no write is accepted', async () => {
  const disk = onWrite(0, { kind: 'zombie' })
  const level = await openLevel(disk)
  await expect(write(level, 'a', true)).rejects.toThrow('Input/output error')
  await expect(write(level, 'b', true)).rejects.toThrow('Input/output error')
  const before = await keysOf(level)
  await level.close()

  expect([before, await keysOf(await openLevel(disk))]).toEqual(['', 'a'])
})

test.each([
  ['before', ''],
  ['after', 'a'],
] as const)('a crash %s a write leaves "%s"', async (side, left) => {
  const disk = onWrite(0, { kind: 'crash', side, of: 'process' })
  const level = await openLevel(disk)

  await expect(write(level, 'a', true)).rejects.toThrow('ended')
  expect(disk.isDown).toBe(true)
  expect(await keysOf(await openLevel(disk))).toBe(left)
})

test('a step that fails once works the next time, and a lasting one never', async () => {
  const level = await openLevel(onWrite(0, { kind: 'fail' }))
  await expect(write(level, 'a', true)).rejects.toThrow('Input/output error')
  await write(level, 'a', true)
  const disk = new FaultDisk()
  disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes, lasting: true })
  const other = await openLevel(disk)
  await expect(write(other, 'a', true)).rejects.toThrow('Input/output error')
  await expect(write(other, 'a', true)).rejects.toThrow('Input/output error')

  expect([await keysOf(level), await keysOf(other)]).toEqual(['a', ''])
})

test.each(['flip', 'misdirect'] as const)(
  'a read that meets %s gives another value',
  async (kind) => {
    const disk = new FaultDisk({ seed: 3 })
    const level = await openLevel(disk)
    for (const key of 'abcdefgh') await write(level, key, true)
    disk.faults = nthStep(0, { kind })
    const found = level.getSync<Uint8Array, Uint8Array>(bytes('a'), VIEW)
    const again = level.getSync<Uint8Array, Uint8Array>(bytes('a'), VIEW)

    expect(found).not.toEqual(bytes('=a'))
    expect(again).toEqual(bytes('=a'))
  },
)

test('there is one user of a database, until it closes or its process ends', async () => {
  const disk = new FaultDisk()
  const level = await openLevel(disk)
  await expect(disk.level().open()).rejects.toThrow('failed to open')
  await level.close()
  await openLevel(disk)
  disk.crash('process')

  expect((await openLevel(disk)).status).toBe('open')
})

describe('an object', () => {
  const ID = '0'.repeat(32)

  async function leftAfter(operation: string, side: 'before' | 'after'): Promise<Set<string>> {
    const left = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const disk = new FaultDisk({ seed })
      const fits = (step: PortStep): boolean => step.operation === operation
      disk.faults = nthStep(0, { kind: 'crash', side, of: 'machine' }, { fits })
      await expect(disk.objects().put(ID, bytes('abc'))).rejects.toThrow()
      const found = await disk.objects().get(ID)
      left.add(found === null ? 'nothing' : new TextDecoder().decode(found))
    }
    return left
  }

  test.each([
    ['put', 'before', ['nothing']],
    ['sync', 'after', ['nothing']],
    ['rename', 'before', ['nothing']],
    ['rename', 'after', ['abc', 'nothing']],
    ['syncFolder', 'before', ['abc', 'nothing']],
    ['syncFolder', 'after', ['abc']],
  ] as const)('whose put is cut at %s (%s) is whole or not there', async (step, side, left) => {
    expect([...(await leftAfter(step, side))].sort()).toEqual([...left])
  })

  test('that was deleted may come back with a power cut', async () => {
    const left = new Set<boolean>()
    for (let seed = 0; seed < 60; seed++) {
      const disk = new FaultDisk({ seed })
      const objects = disk.objects()
      await objects.put(ID, bytes('abc'))
      await objects.delete([ID])
      disk.crash('machine')
      left.add((await disk.objects().get(ID)) === null)
    }

    expect(left.size).toBe(2)
  })
})

describe('what means nothing is refused:', () => {
  const step = (fault: unknown, options = {}) => nthStep(0, fault as Fault, options)

  test.each<[string, () => unknown, string]>([
    ['an option', () => new FaultDisk({ sed: 1 } as FaultDiskOptions), 'Option "sed" is not an'],
    ['a model', () => new FaultDisk({ model: 'x' as 'prefix' }), 'Option "model" must be'],
    ['a flag', () => new FaultDisk({ locks: 1 as never }), 'Option "locks" must be true or false'],
    ['a seed', () => new FaultDisk({ seed: 0.5 }), 'Option "seed" must be an integer'],
    ['an end', () => new FaultDisk().crash('disk' as 'machine'), 'of must be one of'],
    ['damage', () => new FaultDisk().damage('flip' as 'cutLog'), 'kind must be one of'],
    ['a number', () => nthStep(-1, { kind: 'fail' }), 'n must be an integer from 0'],
    ['a kind', () => step({ kind: 'fial' }), 'kind must be one of "fail", "full"'],
    [
      'a member',
      () => step({ kind: 'fail', side: 'after' }),
      'fault of kind "fail" takes no "side"',
    ],
    ['a name', () => step({ kind: 'fail', sied: 1 }), 'fault takes no "sied"; it takes kind'],
    ['a side', () => step({ kind: 'crash', side: 'x', of: 'machine' }), 'side must be one of'],
    ['turns', () => step({ kind: 'delay', turns: 'x' }), 'turns must be an integer'],
    ['an option of a step', () => step({ kind: 'fail' }, { lastng: true }), 'Option "lastng"'],
    [
      'a filter',
      () => step({ kind: 'fail' }, { fits: 'write' }),
      'Option "fits" must be a function',
    ],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ name: 'StoreError' }))
  })
})

test('options of the suite of a key-value store, and arguments of generators, are checked', () => {
  const open = () => openLevelKv(new FaultDisk().level())

  expect(() => kvSuite(open, { openSecnd: open } as KvSuiteOptions)).toThrow('Option "openSecnd"')
  expect(() => kvSuite(open, { openSecond: 1 as never })).toThrow('must be a function')
  expect(() => anyValueOfKind(fc, 'text' as 'string')).toThrow('kind must be one of "string"')
  expect(() => anySchema(fc, 0)).toThrow('columnsMax must be an integer from 1')
})
