// The part of a store that lanes use: a store in this process, or servers (../fleet/http-store.ts).
import type { Store, Table, Team } from '../../../src/index.js'
import { MERGE_MODES } from '../../support/merge-oracle.js'
import type { SCHEMA } from './rows.js'

export type LaneRow = Readonly<Record<string, unknown>> & Readonly<{ $rowID: string }>

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Rows, or the name of a stash that contains them. */
export type LaneRows = Rows | Readonly<{ stash: string }>

export type LaneChange = Readonly<{ version: number; rowIds: readonly string[] }>

export interface LaneTable {
  addRows(rows: LaneRows): Promise<LaneChange>
  overwrite(rows: LaneRows): Promise<LaneChange>
  /** Merges rows by their names. @returns the IDs of the added rows */
  merge(mode: 'upsert' | 'replace', rows: LaneRows): Promise<LaneChange>
  updateRow(
    rowId: string,
    cells: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<{ version: number }>>
  deleteRow(rowId: string): Promise<Readonly<{ version: number }>>
  scan(): AsyncIterable<LaneRow>
  version(): Promise<number>
}

export type NewTable = Readonly<{ name: string; schema: typeof SCHEMA; rows: LaneRows }>

export interface LaneTeam {
  tables(): Promise<readonly Readonly<{ id: string; name: string }>[]>
  table(id: string): LaneTable
  createTable(table: NewTable): Promise<LaneChange & Readonly<{ tableId: string }>>
  putChunk(stash: string, serial: string, rows: Rows): Promise<void>
  deleteStash(stash: string): Promise<void>
  /** @returns its ID, and its path in the form that cells use */
  putFile(name: string, bytes: Uint8Array): Promise<Readonly<{ id: string; path: string }>>
}

export interface LaneStore {
  team(id: string): LaneTeam
  maintain(): Promise<void>
}

export function laneStoreOf(store: Store): LaneStore {
  return {
    team: (id) => laneTeamOf(store.team(id)),
    maintain: async () => void (await store.maintain()),
  }
}

function laneTeamOf(team: Team): LaneTeam {
  const inputOf = (rows: LaneRows) => ('stash' in rows ? team.stash(rows.stash) : rows)
  return {
    tables: () => team.tables(),
    table: (id) => laneTableOf(team.table(id), inputOf),
    async createTable({ name, schema, rows }) {
      const made = await team.createTable({ name, schema, rows: inputOf(rows) })
      return { ...made, rowIds: [...made.rowIds] }
    },
    putChunk: async (stash, serial, rows) => void (await team.stash(stash).put(serial, rows)),
    deleteStash: async (stash) => void (await team.stash(stash).delete()),
    putFile: (fileName, bytes) => team.files.put(bytes, { fileName, contentType: 'text/plain' }),
  }
}

type RowsInput = Parameters<Table['addRows']>[0]

function laneTableOf(table: Table, inputOf: (rows: LaneRows) => RowsInput): LaneTable {
  return {
    async addRows(rows) {
      const { version, rowIds } = await table.addRows(inputOf(rows))
      return { version, rowIds: [...rowIds] }
    },
    async overwrite(rows) {
      const { version, rowIds } = await table.overwrite({ rows: inputOf(rows) })
      return { version, rowIds: [...rowIds] }
    },
    async merge(mode, rows) {
      const { version, addedRowIds } = await table.merge({
        rows: inputOf(rows),
        key: ['k'],
        ...MERGE_MODES[mode],
      })
      return { version, rowIds: [...addedRowIds] }
    },
    updateRow: (rowId, cells) => table.updateRow(rowId, cells),
    deleteRow: (rowId) => table.deleteRow(rowId),
    scan: () => table.scan(),
    version: () => table.version(),
  }
}
