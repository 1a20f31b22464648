// The history of tables: the changes since a version, applied to its rows, give the current rows.
import { isStoreError, type RowWithId, type Table } from '../../../src/index.js'
import { changedRows, type SeenRows, seenRows } from '../../support/replay-changes.js'
import type { Model, RunCommand } from './model.js'
import { Mismatch, show } from './operation.js'
import type { World } from './world.js'

/** Follows each table from when it was last read. Nothing else runs. */
export class FollowChanges implements RunCommand {
  check(): boolean {
    return true
  }

  async run({ state }: Model, world: World): Promise<void> {
    if ((world.profile.options.historyRetentionMs ?? 0) === 0) return
    for (const { id } of state.tables) await follow(world, id)
  }

  toString(): string {
    return 'follow the changes'
  }
}

async function follow(world: World, tableId: string): Promise<void> {
  const table = world.team(0).table(tableId)
  const at = world.clock.now()
  const now = await seenRows(table)
  const before = world.seen.get(tableId)
  world.seen.set(tableId, { ...now, at })
  if (before === undefined) return
  try {
    await checkChanges(table, before, now)
  } catch (failure) {
    const isOld = at - before.at > (world.profile.options.historyRetentionMs ?? 0)
    if (isOld && isStoreError(failure) && failure.code === 'HISTORY_GONE') return
    const told = isStoreError(failure) ? show(failure) : String(failure)
    throw new Mismatch(`the changes of ${tableId} since version ${before.version}: ${told}`)
  }
}

async function checkChanges(table: Table, before: SeenRows, now: SeenRows): Promise<void> {
  const past = await seenRows(table.at(before.version))
  expectRows(`the rows at version ${before.version}`, past.rows, before.rows)
  let { version, rows } = before
  for await (const change of table.changes({ since: before.version })) {
    if (change.version !== version + 1) {
      throw new Mismatch(`the change after version ${version} is that of ${change.version}`)
    }
    version = change.version
    rows = await changedRows(table, change, rows)
    const then = await seenRows(table.at(version))
    expectRows(`the rows at version ${version}`, then.rows, rows)
  }
  if (version !== now.version) throw new Mismatch(`the changes end with version ${version}`)
  expectRows(`the rows after all changes`, now.rows, rows)
}

function expectRows(
  what: string,
  found: readonly RowWithId[],
  expected: readonly RowWithId[],
): void {
  if (JSON.stringify(found) === JSON.stringify(expected)) return
  throw new Mismatch(`${what} must be\n  ${show(expected)}\nbut are\n  ${show(found)}`)
}
