// Compares the stored state with the oracle: after each garbage collection, and at the end of a run.
import assert from 'node:assert/strict'
import { KEY_SPACE } from '../../../src/format/keys.js'
import { expectEqual, Mismatch } from '../model/operation.js'
import { checkFiles } from './file-operations.js'
import type { ModelUpload, Oracle } from './oracle.js'
import { keyOfId, listObjects, type RawState, readRaw } from './raw-state.js'
import { checkTables } from './row-operations.js'
import type { World } from './world.js'

/**
 * Accepts deletions of files that a garbage collection was allowed to make.
 * @param held - The files that some row named at each moment of the garbage collection.
 */
export async function reconcile(
  world: World,
  oracle: Oracle,
  held: ReadonlySet<string>,
): Promise<RawState> {
  const raw = await readRaw(world)
  const there = new Set(raw.files)
  const now = world.clock.now()
  for (const file of [...oracle.files.values()]) {
    const { id, completedAt } = file.stored
    if (there.has(keyOfId(id))) continue
    if (held.has(id)) throw new Mismatch(`${id} (${file.content}) was deleted, and a row names it`)
    if (!oracle.isOld(file, now)) {
      throw new Mismatch(`${id} (${file.content}) was deleted ${now - completedAt} ms old`)
    }
    oracle.removeFile(id)
  }
  const known = [...oracle.files.keys()].map(keyOfId).sort()
  expectEqual('the keys of the files', [...raw.files].sort(), known)
  const stored = [...oracle.files.values()].map((file) => file.stored)
  const bytes = stored.reduce((sum, file) => sum + file.bytes, 0)
  expectEqual('the files head', raw.head, { files: stored.length, bytes })
  return raw
}

/** After two garbage collections at rest, everything that may be deleted is gone. */
export async function checkSettled(world: World, oracle: Oracle, raw: RawState): Promise<void> {
  const now = world.clock.now()
  const held = oracle.held(now)
  for (const file of oracle.files.values()) {
    if (held.has(file.stored.id) || !oracle.isOld(file, now)) continue
    throw new Mismatch(`${file.stored.id} (${file.content}) is still there, and no row names it`)
  }
  const keysOf = (state: ModelUpload['record']) =>
    oracle.uploads.filter(({ record }) => record === state).map(({ uploadId }) => keyOfId(uploadId))
  const unsure = new Set(keysOf('maybe'))
  const sure = [...raw.uploads].filter((key) => !unsure.has(key))
  expectEqual('the keys of the uploads', sure.sort(), keysOf('there').sort())
  const files = new Set(raw.files)
  const stale = raw.markers.filter((key) => !files.has(key))
  expectEqual('the markers of files that are gone', stale, [])
}

const RUNS_MAX = 10
const DAY_MS = 24 * 3_600_000

/** Ends everything that may end, and checks what remains of it. */
export async function checkEnd(world: World, oracle: Oracle): Promise<void> {
  await checkFiles(world, 0, oracle)
  await checkTables(world, 0, oracle)
  await world.reopenAsOne()
  await checkFiles(world, 0, oracle)
  const team = world.team(0)
  for (const { id } of oracle.tables) await team.table(id).overwrite({ rows: [] })
  for (const stash of oracle.stashes.keys()) await team.stash(stash).delete()
  world.clock.pass(40 * DAY_MS)
  await maintainAll(world)
  const { counts, head } = await readRaw(world)
  const { length: tables } = oracle.tables
  const { catalog, tableHead, log } = KEY_SPACE
  const heads = { [catalog]: tables, [tableHead]: tables, [log]: tables }
  const expected = {
    ...(tables > 0 && { [KEY_SPACE.teamHead]: 1, [KEY_SPACE.schema]: tables, ...heads }),
    ...(counts[KEY_SPACE.filesHead] !== undefined && { [KEY_SPACE.filesHead]: 1 }),
  }
  assert.deepEqual(counts, expected, 'records are left')
  assert.deepEqual(head, { files: 0, bytes: 0 })
  assert.deepEqual(await listObjects(world), [], 'objects are left')
}

/** Collects garbage until there is nothing left to do. */
async function maintainAll(world: World): Promise<void> {
  for (let runs = 0; runs < RUNS_MAX; runs++) {
    world.clock.pass(world.profile.options.orphanGraceMs)
    const report = await world.store(0).maintain()
    if (runs > 2 && Object.values(report).every((count) => count === 0)) return
  }
  throw new Error(`there is still something to do after ${RUNS_MAX} garbage collections`)
}
