// The logs that LevelDB will replay are checked first: the records that it would read, and the sequence of the logs.
import { cp, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { readFormatFile } from '../../../adapters/directory/directory-format.js'
import { checkDatabaseFiles } from '../../../adapters/leveldb/leveldb-check.js'
import { Cursor } from '../../../adapters/leveldb/leveldb-codec.js'
import { readLog } from '../../../adapters/leveldb/leveldb-log.js'
import { fromHex } from '../../../src/base/bytes.js'
import { crc32 } from '../../../src/base/platform.js'
import { runs } from '../../support/runs.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { fifthOf } from '../../support/what-runs.js'
import { editBytes, logBytes } from './leveldb-files.js'

const BLOCK_BYTES = 32_768

let folder: string

beforeEach(async () => {
  const made = await mkdtemp(join(tmpdir(), 'rowstash-replay-'))
  onTestFinished(() => rm(made, { recursive: true }))
  folder = made
})

async function logOf(path: string): Promise<string> {
  const logs = (await readdir(path)).filter((name) => name.endsWith('.log')).sort()
  return join(path, logs.at(-1) ?? '')
}

/** The records of a log. */
async function recordsOf(path: string): Promise<Buffer[]> {
  const records: Buffer[] = []
  const handle = await open(path)
  try {
    await readLog(handle, {
      record: (bytes) => void records.push(Buffer.from(bytes)),
      damage: () => undefined,
    })
  } finally {
    await handle.close()
  }
  return records
}

describe('a log is read as LevelDB reads it', () => {
  const KEYS = 200

  /** Values of a few bytes, and some of several blocks. */
  async function fill(path: string, random: Seeded): Promise<void> {
    const level = new ClassicLevel<string, Uint8Array>(path, { valueEncoding: 'view' })
    await level.open()
    for (let n = 0; n < KEYS; n++) {
      const length = random.once(20) ? random.below(3 * BLOCK_BYTES) : random.below(300)
      await level.put(`key ${n}`, new Uint8Array(length).fill(n))
    }
    await level.close()
  }

  function keyOf(batch: Buffer): string {
    const cursor = new Cursor(batch, 13)
    return cursor.text().toString()
  }

  function damage(bytes: Buffer, random: Seeded): Buffer {
    if (bytes.length < 2) return bytes
    const at = random.below(bytes.length)
    const how = random.below(4)
    if (how === 0) return bytes.subarray(0, at)
    if (how === 1)
      return bytes.fill(0, at, Math.min(bytes.length, at + random.below(2 * BLOCK_BYTES)))
    if (how === 2) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
    else bytes.writeUInt16LE(random.below(65_536), Math.min(at, bytes.length - 2))
    return bytes
  }

  test('the same records are found in a damaged log', async () => {
    const whole = join(folder, 'whole')
    await fill(whole, seeded(1))
    const bytes = await readFile(await logOf(whole))
    const counts = new Set<number>()
    for (let run = 0; run < runs(60); run++) {
      const random = seeded(run)
      const copy = join(folder, 'copy')
      await cp(whole, copy, { recursive: true })
      const log = await logOf(copy)
      let damaged: Buffer = Buffer.from(bytes)
      for (let left = 1 + random.below(3); left > 0; left--) damaged = damage(damaged, random)
      await writeFile(log, damaged)

      const ours = (await recordsOf(log)).map(keyOf)
      const level = new ClassicLevel(copy)
      const theirs = await level.keys().all()
      await level.close()
      await rm(copy, { recursive: true })

      expect([run, ours.sort()]).toEqual([run, theirs.sort()])
      counts.add(ours.length)
    }
    expect(counts.size).toBeGreaterThan(runs(60) / 6)
  })
})

describe('a store', () => {
  const COMMITS = 120

  /** Commits of some hundred bytes, and some of more than a block. */
  async function newStore(
    name = 'store',
  ): Promise<{ kv: string; log: string; bytes: Buffer; last: number }> {
    const random = seeded(5)
    const { kv, close } = await openDirectoryPorts(join(folder, name))
    for (let n = 0; n < COMMITS; n++) {
      const length = n % 40 === 7 ? 2 * BLOCK_BYTES : random.below(900)
      await kv.partition('p').commit({ puts: [[Uint8Array.of(n), new Uint8Array(length).fill(n)]] })
    }
    await close()
    const log = await logOf(join(folder, name, 'kv'))
    // The first commit creates the store.
    return { kv: join(folder, name, 'kv'), log, bytes: await readFile(log), last: COMMITS + 1 }
  }

  async function problem(kv: string, atLeast: number | null): Promise<string> {
    const name = fromHex(await readFormatFile(join(kv, '..'))) ?? new Uint8Array()
    return await checkDatabaseFiles(kv, { atLeast, storeCrc: crc32(name) }).then(
      () => 'none',
      (failure) => `${failure.code}: ${failure.message}`,
    )
  }

  test('whose log ends early is whole up to the last batch, and refused if more was acknowledged', async () => {
    const { kv, log, bytes, last } = await newStore()
    const random = seeded(11)
    const ends = [
      bytes.length,
      0,
      1,
      BLOCK_BYTES - 1,
      BLOCK_BYTES,
      BLOCK_BYTES + 6,
      BLOCK_BYTES + 7,
    ]
    ends.push(...Array.from({ length: fifthOf(40) }, () => random.below(bytes.length)))
    for (const end of ends) {
      const cut = bytes.subarray(0, end)
      const tails = [0, 5, 3_000].flatMap((length) => [
        Buffer.alloc(length),
        Buffer.from(Array.from({ length }, () => random.below(256))),
      ])
      await writeFile(log, cut)
      const whole = (await recordsOf(log)).length
      for (const tail of end === bytes.length ? [Buffer.alloc(0)] : tails) {
        await writeFile(log, Buffer.concat([cut, tail]))
        const acknowledged = last - COMMITS + whole
        expect([end, await problem(kv, acknowledged)]).toEqual([end, 'none'])
        expect([end, await problem(kv, null)]).toEqual([end, 'none'])
        if (whole === 0) continue // Only the database itself can tell.
        const lost = await problem(kv, acknowledged + 1)
        expect([end, lost]).toEqual([end, expect.stringMatching(/^DATA_LOSS: The logs in .* end/)])
      }
    }
  })

  test('whose log is damaged before its last batch is refused, unless a loss is accepted', async () => {
    const { kv, log, bytes, last } = await newStore()
    const random = seeded(12)
    const lastBatch = bytes.length - 200
    for (let run = 0; run < fifthOf(150); run++) {
      const damaged = Buffer.from(bytes)
      const at = random.below(lastBatch - 900)
      if (run % 3 === 0) damaged.fill(0, at, at + 8 + random.below(600))
      else damaged[at] = (damaged[at] ?? 0) ^ (1 << random.below(8))
      if (damaged.equals(bytes)) continue
      await writeFile(log, damaged)

      expect([run, await problem(kv, last)]).toEqual([run, expect.stringMatching(/^DATA_LOSS: /)])
      expect([run, await problem(kv, null)]).toEqual([run, 'none'])
    }
  })

  /** Replaces the logs by logs with these numbers and contents. */
  async function withLogs(logs: Readonly<Record<string, readonly Buffer[]>>): Promise<void> {
    const kv = join(folder, 'store', 'kv')
    await rm(await logOf(kv))
    for (const [name, records] of Object.entries(logs)) {
      await writeFile(join(kv, `${name}.log`), logBytes(records))
    }
  }

  test('may have several logs, if each begins where the one before ends', async () => {
    const { kv, log, last } = await newStore()
    const records = await recordsOf(log)
    const current = basename(log, '.log')
    const [begin, middle, rest] = [records.slice(0, 50), records.slice(50, 51), records.slice(51)]
    const cases: readonly (readonly [Readonly<Record<string, readonly Buffer[]>>, RegExp])[] = [
      [{ [current]: records, '000999': [] }, /none/],
      [{ [current]: begin, '000999': [...middle, ...rest] }, /none/],
      [{ [current]: [], '000999': records }, /none/],
      [{ '000999': [], '001000': records }, /none/],
      [{ [current]: begin, '000999': rest }, /^DATA_LOSS: Changes \d+ to \d+ are missing before/],
      [{ [current]: [], '000999': rest }, /^DATA_LOSS: Changes/],
      [
        { [current]: records, '000999': begin },
        /^DATA_CORRUPT: .*000999.log .* repeats earlier changes/,
      ],
      [{ [current]: [...records, ...begin] }, /^DATA_CORRUPT: .* repeats earlier changes/],
      [{ [current]: [...rest, ...middle] }, /^DATA_LOSS: Changes/],
      [
        { [current]: [], '000999': [...records, ...begin] },
        /^DATA_CORRUPT: .* repeats earlier changes/,
      ],
    ]
    for (const [logs, expected] of cases) {
      await withLogs(logs)
      expect([Object.keys(logs), await problem(kv, last)]).toEqual([
        Object.keys(logs),
        expect.stringMatching(expected),
      ])
    }
  })

  test('whose log has lost its first batches is refused, although the manifest names a later change', async () => {
    const { kv, log, bytes, last } = await newStore()
    const number = Number(basename(log, '.log'))
    const manifest = join(kv, (await readFile(join(kv, 'CURRENT'), 'latin1')).trim())
    const end = editBytes({ log: number, nextFile: 1_000, lastSequence: 200 })
    await writeFile(manifest, logBytes([...(await recordsOf(manifest)), end]))
    expect(await problem(kv, last)).toBe('none')
    await writeFile(log, Buffer.from(bytes).fill(0, 0, 100))

    expect(await problem(kv, last)).toMatch(/^DATA_LOSS: .* is damaged at byte 0/)
    expect(await problem(kv, null)).toBe('none')
  })

  test('that has the log of another one, or all of its database, is refused', async () => {
    const [mine, other] = [await newStore(), await newStore('other')]
    expect(mine.bytes.length).toBe(other.bytes.length)
    await writeFile(mine.log, other.bytes)
    for (const acceptLoss of [false, true]) {
      await expect(openDirectoryPorts(join(folder, 'store'), { acceptLoss })).rejects.toMatchObject(
        {
          code: 'DATA_CORRUPT',
          message: expect.stringContaining(
            `${mine.log} is damaged: a batch belongs to another store`,
          ),
        },
      )
    }

    await writeFile(mine.log, mine.bytes)
    for (const name of ['store', 'other'])
      await (await openDirectoryPorts(join(folder, name))).close()
    await rm(mine.kv, { recursive: true })
    await cp(other.kv, mine.kv, { recursive: true })
    await expect(openDirectoryPorts(join(folder, 'store'))).rejects.toMatchObject({
      code: 'DATA_CORRUPT',
      message: expect.stringContaining('Commit 1 in the database belongs to another store'),
    })
    await (await openDirectoryPorts(join(folder, 'store'), { acceptLoss: true })).close()
    await (await openDirectoryPorts(join(folder, 'store'))).close()
  })

  test('whose log holds anything but batches of its own is refused, also if a loss is accepted', async () => {
    const { kv, log, last } = await newStore()
    const [first = Buffer.alloc(0), ...rest] = await recordsOf(log)
    const changed = (change: (batch: Buffer) => void): Buffer => {
      const batch = Buffer.from(first)
      change(batch)
      return batch
    }
    const foreign = Buffer.concat([first.subarray(0, 12), Buffer.from([1, 1, 65, 1, 66])])
    foreign.writeUInt32LE(1, 8)
    const cases: readonly (readonly [Buffer, string])[] = [
      [first.subarray(0, 11), 'a batch is too short'],
      [changed((batch) => batch.writeUInt32LE(9, 8)), 'operations instead of 9'],
      [changed((batch) => batch.writeUInt8(2, 12)), 'a batch has an entry of an unknown kind'],
      [first.subarray(0, first.length - 1), 'it ends early'],
      [changed((batch) => batch.writeBigUInt64LE(2n ** 60n, 0)), 'its numbers are too high'],
      [foreign, 'a batch has no commit record'],
    ]
    for (const [batch, expected] of cases) {
      await writeFile(log, logBytes([batch, ...rest]))
      for (const atLeast of [last, null]) {
        const told = `DATA_CORRUPT: The database file ${log} is damaged: `
        expect(await problem(kv, atLeast)).toContain(told)
        expect(await problem(kv, atLeast)).toContain(expected)
      }
    }
  })
})
