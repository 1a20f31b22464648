// Finds a table by its name, or creates it, and adds the columns that a program needs.

import { NO_BYTES } from '../../base/bytes.js'
import { shown } from '../../base/options.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import { parseTableId } from '../../format/table-id.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { firstTableNamed, readTableInfo } from '../read/table-infos.js'
import { ensuredColumns } from './altered-columns.js'
import type { CheckedEnsure } from './check-requests.js'
import { createTable } from './create-table.js'
import { alterTable } from './table-life.js'

/** Maximum number of attempts. A second one is needed only if the table is deleted during the first. */
const TRIES_MAX = 10

/** @returns the ID of the oldest table with that name */
export async function ensureTable(team: TeamContext, request: CheckedEnsure): Promise<string> {
  const { name } = request
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = await team.partition.read((view) => firstTableNamed(view, name))
    const tableId = found ?? (await createOnce(team, request))
    if (await hasBecome(team, tableId, request)) return tableId
  }
  throw tooBusy(`Tables named ${shown(name)} keep being deleted`)
}

async function createOnce(team: TeamContext, request: CheckedEnsure): Promise<string> {
  const rows = { onSchemaError: 'abort', rows: [], key: undefined } as const
  const { tableId } = await createTable(team, { ...request, ...rows, isOnlyOfName: true })
  return tableId
}

/** Adds missing columns to a table, and widens types. @returns false: the table is gone. */
async function hasBecome(
  team: TeamContext,
  tableId: string,
  { schema, keyColumns, by, signal }: CheckedEnsure,
): Promise<boolean> {
  const place = { team, table: parseTableId(tableId) ?? NO_BYTES, tableId, by }
  try {
    await checkSameKey(place, keyColumns)
    await alterTable(
      place,
      {
        name: undefined,
        columns: (before) => ensuredColumns(before, schema, team.options.columnsMax),
        drop: [],
        widens: true,
        countsCells: false,
        ifMatch: undefined,
        signal,
      },
      async () => 0,
    )
    return true
  } catch (failure) {
    if (isStoreError(failure) && failure.code === 'TABLE_NOT_FOUND') return false
    throw failure
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
async function checkSameKey(
  place: TablePlace,
  wanted: readonly string[] | undefined,
): Promise<void> {
  if (wanted === undefined) return
  const { key = null } = await readTableInfo(place)
  if (key !== null && wanted.join('\0') === key.join('\0')) return
  const has = key === null ? 'no key' : `the key ${key.map(shown).join(', ')}`
  const problem = `The table has ${has}, not ${wanted.map(shown).join(', ')}`
  throw new StoreError('REQUEST_VALIDATION_ERROR', `${problem}. Change it with alter({ key })`)
}
