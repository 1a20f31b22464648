// Goal: a backup is the store at one moment, whatever is written meanwhile. A restore gives this state, with versions
// that the old store never had. An incomplete backup is refused.
// Method: four writers of two teams record what their tables contain at each version, and when each operation began and
// ended. The versions in the restored store must be possible at one moment.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import { openDirectory, restoreDirectory } from '../../../adapters/node.js'
import type { Store } from '../../../src/index.js'
import {
  isStoreError,
  memoryObjects,
  openLevelKv,
  openStore,
  restoreBackup,
} from '../../../src/index.js'
import type { RestorePorts } from '../../../src/ports.js'
import { report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { TableWriterProcess, type Ticks } from './backup-writers.js'

const PLACES = [
  { team: 'acme', name: 'one' },
  { team: 'acme', name: 'two' },
  { team: 'beta', name: 'three' },
  { team: 'beta', name: 'four' },
]
const OPTIONS = {
  maintenance: {
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    garbageCollectionIntervalMs: 0,
  },
  orphanGraceMs: 0,
} as const
const SIZES = {
  ...OPTIONS,
  inlineRowsMax: 5,
  segmentRowsMax: 16,
  maintenance: { ...OPTIONS.maintenance, compactionRecordsMin: 3 },
  overwrittenRowsTtlMs: 0,
}

/** One run in this number uses directories. */
const DIRECTORY_RUNS = 5

async function memoryPorts(versionBaseMin = 0): Promise<RestorePorts> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  return { kv: await openLevelKv(database, { versionBaseMin }), objects: memoryObjects() }
}

/** Restores into memory. */
async function restored(bytes: Uint8Array): Promise<RestorePorts> {
  let ports: RestorePorts | undefined
  const open = async (versionBaseMin: number): Promise<RestorePorts> => {
    ports = await memoryPorts(versionBaseMin)
    return ports
  }
  await restoreBackup(inPieces(bytes), { open })
  if (ports === undefined) throw new Error('Nothing was opened')
  return ports
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 60_000) yield bytes.subarray(at, at + 60_000)
}

/** Reads a backup slowly, so that much is written meanwhile. */
async function readSlowly(backup: AsyncIterable<Uint8Array>, random: Seeded): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of backup) {
    pieces.push(piece)
    for (let turns = random.below(3); turns > 0; turns--) await nextTurn()
  }
  return Buffer.concat(pieces)
}

type Taken = Readonly<{ writers: readonly TableWriterProcess[]; bytes: Uint8Array; begun: number }>

async function backUpWhileWriting(store: Store, random: Seeded): Promise<Taken> {
  const ticks: Ticks = { now: 0 }
  const starts = PLACES.map((place, i) => {
    return TableWriterProcess.start(store, place, random.below(2 ** 30) + i, ticks)
  })
  const writers = await Promise.all(starts)
  for (let steps = random.below(25); steps > 0; steps--) await random.pick(writers).step()
  let isOver = false
  const running = writers.map((writer) => writer.run(() => isOver))
  const maintaining = (async () => {
    while (!isOver) {
      await store.maintain()
      for (let turns = 0; turns < 20; turns++) await nextTurn()
    }
  })()
  for (let turns = random.below(40); turns > 0; turns--) await nextTurn()
  const begun = ticks.now++
  try {
    return { writers, bytes: await readSlowly(store.backup(), random), begun }
  } finally {
    isOver = true
    await Promise.all([...running, maintaining])
  }
}

/** The versions of a restored store, which must belong to one moment after the beginning of the backup. */
async function checkMoment(copy: Store, { writers, begun }: Taken): Promise<void> {
  let lastBegun = -1
  let firstEnded = Number.POSITIVE_INFINITY
  for (const { team, tableId, history } of writers) {
    const table = copy.team(team).table(tableId)
    const page = await table.page({ limit: 10_000 })
    const version = page.version - 2 ** 32
    const known = history.get(version)
    assert.ok(known, `the old table had version ${version}`)
    assert.deepEqual(
      page.rows.map(({ n }) => n),
      known.rows.map(({ n }) => n),
    )
    const ids = page.rows.map(({ $rowID }) => $rowID)
    assert.ok(
      known.rows.every(({ id }, i) => id === '' || id === ids[i]),
      'rows keep their IDs',
    )
    for (const [other, { begun: otherBegun, ended }] of history) {
      if (other <= version) lastBegun = Math.max(lastBegun, otherBegun)
      else firstEnded = Math.min(firstEnded, ended)
    }
  }
  assert.ok(lastBegun < firstEnded, 'what is in the backup began before what is not had ended')
  assert.ok(begun < firstEnded, 'what had ended before the backup began is in it')
}

/** No version of the restored store denoted other content in the old store. */
async function checkVersions(copy: Store, { writers }: Taken): Promise<void> {
  for (const { team, tableId, history } of writers) {
    const table = copy.team(team).table(tableId)
    const { rowIds } = await table.addRows([{ n: -1 }])
    const versions = [await table.version(), (await table.get(rowIds.at(0) ?? ''))?.version ?? 0]
    for (const { $rowID } of (await table.page({ limit: 3 })).rows) {
      versions.push((await table.get($rowID))?.version ?? 0)
    }
    for (const version of versions) assert.ok(!history.has(version), `version ${version} is new`)
    const old = new Set([...history.values()].flatMap(({ rows }) => rows.map(({ id }) => id)))
    assert.ok(
      [...rowIds].every((id) => !old.has(id)),
      'row IDs are new',
    )
  }
}

async function checkRefused(bytes: Uint8Array, random: Seeded): Promise<void> {
  const flipped = Uint8Array.from(bytes)
  const at = random.below(bytes.length)
  flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8))
  const broken = [flipped, bytes.subarray(0, random.below(bytes.length))]
  for (const backup of broken) {
    await assert.rejects(restored(backup), (failure) => {
      return isStoreError(failure) && ['DATA_CORRUPT', 'FORMAT_UNKNOWN'].includes(failure.code)
    })
  }
}

async function runInMemory(random: Seeded): Promise<void> {
  const store = await openStore({ ...SIZES, ...(await memoryPorts()) })
  const taken = await backUpWhileWriting(store, random)
  await store.close()
  const copy = await openStore({ ...SIZES, ...(await restored(taken.bytes)) })
  assert.deepEqual((await copy.verify({ full: true })).findings, [])
  await checkMoment(copy, taken)
  await checkVersions(copy, taken)
  await copy.close()
  await checkRefused(taken.bytes, random)
}

async function runInDirectories(random: Seeded): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-t17-'))
  try {
    const store = await openDirectory(join(folder, 'store'), SIZES)
    const taken = await backUpWhileWriting(store, random)
    await store.close()
    const place = join(folder, 'copy')
    const cut = taken.bytes.subarray(0, random.below(taken.bytes.length))
    await assert.rejects(restoreDirectory(place, inPieces(cut)))
    assert.deepEqual(await readdir(folder), ['store'])
    await restoreDirectory(place, inPieces(taken.bytes))
    const copy = await openDirectory(place, SIZES)
    await checkMoment(copy, taken)
    await checkVersions(copy, taken)
    await copy.close()
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a backup is the store at one moment', { timeout: 3_600_000 }, async () => {
  const [runs, seed] = [sizeOf({ push: 50, deep: 500 }), suiteSeed()]
  const startedAt = performance.now()
  const violations: string[] = []
  for (let run = 0; run < runs; run++) {
    const random = seeded(seed + run)
    try {
      await (run % DIRECTORY_RUNS === 0 ? runInDirectories(random) : runInMemory(random))
    } catch (failure) {
      violations.push(`seed ${seed + run}: ${String(failure)}`)
    }
  }
  const seconds = (performance.now() - startedAt) / 1_000
  report({ suite: 'T17 backup', seed, runs, seconds, violations: violations.length })

  expect(violations).toEqual([])
})
