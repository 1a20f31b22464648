// The process that `rowstash torture` kills: it runs the operations of all lanes concurrently, and reports each
// completed one.
import type { Store, Table, Team } from '../../../src/index.js'
import { openDirectory } from '../../open-directory.js'
import type { CommandIo } from '../command/command.js'
import { ProgramFailure } from '../command/program-failure.js'
import {
  applyOperation,
  drawOperation,
  type LaneOperation,
  type LaneRow,
  stateAfter,
} from './lane.js'

/** Number of lanes that write concurrently, each into its own team. */
export const LANES = 3

/** The table of each lane. */
export const LANE_TABLE = {
  name: 'torture',
  schema: {
    columns: [
      { id: 'key', type: { kind: 'string' } },
      { id: 'value', type: { kind: 'string' } },
    ],
  },
  key: ['key'],
} as const

/** The starting point of a writer. */
export type WriterPlan = Readonly<{
  directory: string
  seed: number
  /** The number of operations done per lane. */
  done: readonly number[]
}>

/** Rows per chunk of an overwrite. */
const ROWS_A_CHUNK = 200

/** Writes until the process is killed. Prints `ready` once the store is open, and `LANE NUMBER` after each operation. */
export async function runWriter(
  { directory, seed, done }: WriterPlan,
  { print, signal }: Pick<CommandIo, 'print' | 'signal'>,
): Promise<void> {
  const store = await openDirectory(directory)
  print('ready')
  try {
    await Promise.all(done.map((from, lane) => runLane(lane, from)))
  } finally {
    await store.close()
  }

  async function runLane(lane: number, from: number): Promise<void> {
    const state = stateAfter(seed, lane, from, from)
    const { team, table } = await laneOf(store, lane)
    for (let number = from + 1; !signal.aborted; number++) {
      const operation = drawOperation(seed, lane, number, state)
      await perform(team, table, operation)
      applyOperation(state, operation)
      print(`${lane} ${number}`)
    }
  }
}

export function teamOf(store: Store, lane: number): Team {
  return store.team(`lane-${lane}`)
}

/** The team and the table of a lane. The first call creates them. */
export async function laneOf(store: Store, lane: number): Promise<{ team: Team; table: Table }> {
  const team = teamOf(store, lane)
  return { team, table: await team.ensureTable(LANE_TABLE) }
}

async function perform(team: Team, table: Table, operation: LaneOperation): Promise<void> {
  switch (operation.kind) {
    case 'add':
      await table.addRows(operation.rows)
      break
    case 'merge':
      await table.merge({ rows: operation.rows, key: LANE_TABLE.key })
      break
    case 'overwrite':
      await overwrite(team, table, operation.rows)
      break
    case 'update': {
      const [{ key, value }] = operation.rows
      await table.updateRow(await rowIdOf(table, key), { value })
      break
    }
    case 'delete':
      await table.deleteRows(await Promise.all(operation.keys.map((key) => rowIdOf(table, key))))
      break
    case 'file':
      await team.files.put(operation.content, {
        fileName: operation.name,
        contentType: 'text/plain',
      })
  }
}

async function overwrite(team: Team, table: Table, rows: readonly LaneRow[]): Promise<void> {
  const stash = team.stash('overwrite')
  await stash.delete() // A killed writer may have left chunks.
  const chunks: Promise<unknown>[] = []
  for (let at = 0; at < rows.length; at += ROWS_A_CHUNK) {
    chunks.push(stash.put(String(at), rows.slice(at, at + ROWS_A_CHUNK)))
  }
  await Promise.all(chunks)
  await table.overwrite({ rows: stash })
  await stash.delete()
}

async function rowIdOf(table: Table, key: string): Promise<string> {
  const found = await table.get({ key })
  if (found === null) throw new ProgramFailure('failed', `The row with the key ${key} is missing`)
  return found.row.$rowID
}
