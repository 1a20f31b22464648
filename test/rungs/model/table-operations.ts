// Operations on existing rows: reading, walking, changing, deleting, and garbage collection.
import { fromUtf8 } from '../../../src/base/bytes.js'
import type { MaintenanceReport, Page, RowObject } from '../../../src/index.js'
import type { PageBytes } from '../../../src/ports.js'
import { parseRendered } from '../../../src/schema/parse-rendered.js'
import { isEmpty, type ModelSchema, storedToken } from './cell-rules.js'
import {
  type InputRow,
  type SampleRow,
  toJsonObject,
  tokensOfObject,
  tokensOfText,
  toObject,
} from './input.js'
import { isRefusedByKey, namedRows } from './key-rules.js'
import { expectEqual, expectFailure, expectValue, Mismatch, type Operation } from './operation.js'
import {
  changeSchema,
  currentOf,
  type Failure,
  fits,
  isReadable,
  type Judge,
  judgeOf,
  type ModelRow,
  type ModelTable,
  type ModelWalk,
  maintain,
  maintainGenerations,
  maintainStashes,
  type OnSchemaError,
  pageOf,
  rowJsonOf,
} from './oracle.js'
import { type IfMatch, onTable, type TableTarget, tableOf } from './row-operations.js'

export function readVersion(target: TableTarget): Operation {
  return {
    text: 'read the version',
    run: (world) => tableOf(world, target).version(),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        expectEqual('the version', expectValue(outcome), table.version)
      })
    },
  }
}

export function readSchema(target: TableTarget): Operation {
  return {
    text: 'read the schema',
    run: (world) => tableOf(world, target).schema(),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        expectEqual('the schema', expectValue(outcome), currentOf(table).schema)
      })
    },
  }
}

export function listTables(instance: number): Operation {
  return {
    text: 'list the tables',
    run: (world) => world.team(instance).tableNames(),
    check(state, outcome) {
      const expected = state.tables.map(({ id, name }) => ({ id, name }))
      expectEqual('the tables', expectValue(outcome), expected)
    },
  }
}

export function findRow({ generations }: ModelTable, rowId: string): [ModelRow, number] | null {
  const { rows } = generations.at(-1) ?? { rows: [] }
  const index = rows.findIndex(({ id }) => id === rowId)
  const row = rows[index]
  return row === undefined || row.gone ? null : [row, index]
}

const NOT_FOUND: Failure = { code: 'ROW_NOT_FOUND' }

const READS = 3

/** @param parsed - Whether to read an object; otherwise the exact text. */
export function getRow(target: TableTarget, rowId: string, parsed: boolean): Operation {
  return {
    text: `get row ${rowId}${parsed ? '' : ' as text'}`,
    async run(world) {
      const table = tableOf(world, target)
      const read = () => (parsed ? table.get(rowId) : table.getJson(rowId))
      // Repeated reads cache the row, and later ones come from the cache.
      for (let time = 1; time < READS; time++) await read()
      return read()
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const found = findRow(table, rowId)
        if (found === null) return expectEqual('no row', expectValue(outcome), null)
        const [row] = found
        const json = rowJsonOf(row, currentOf(table))
        const expected = parsed ? { row: parseRendered(json) } : { json }
        expectEqual('the row', expectValue(outcome), { ...expected, version: row.version })
      })
    },
  }
}

export type RowChange = Readonly<{
  cells: SampleRow
  asText: boolean
  ifMatch: IfMatch
  onSchemaError: OnSchemaError
}>

export function updateRow(target: TableTarget, rowId: string, change: RowChange): Operation {
  const { cells, asText, ifMatch, onSchemaError } = change
  const sent = asText ? tokensOfText(cells) : tokensOfObject(cells)
  const options = { onSchemaError, ...(ifMatch !== undefined && { ifMatch }) }
  return {
    text: `update row ${rowId} ifMatch ${ifMatch} ${onSchemaError}${asText ? ' as text' : ''} ${toJsonObject(cells)}`,
    run(world) {
      const table = tableOf(world, target)
      if (asText) return table.updateRowJson(rowId, toJsonObject(cells), options)
      return table.updateRow(rowId, toObject(cells), options)
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const found = findRow(table, rowId)
        if (found === null) return expectFailure(outcome, NOT_FOUND)
        const [row, index] = found
        if (ifMatch !== undefined && BigInt(row.version) > BigInt(ifMatch)) {
          return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        }
        const generation = currentOf(table)
        const changes = judgeChanges(sent, generation.schema, onSchemaError)
        if ('failure' in changes) return expectFailure(outcome, changes.failure)
        const { schema, tokens } = changes
        const version = table.version + (tokens.size > 0 ? 1 : 0)
        const updated = { ...row, cells: cellsAfter(row.cells, tokens), version }
        const rows = generation.rows.map((one) => (one === row ? updated : one))
        const keyed = { before: generation.schema, after: schema, rows: namedRows(rows) }
        if (tokens.size > 0 && isRefusedByKey(outcome, table.key, keyed)) return
        table.version = version
        expectEqual('the result', expectValue(outcome), { version })
        if (tokens.size === 0) return
        changeSchema(generation, schema, version)
        generation.rows[index] = updated
      })
    },
  }
}

/** Cells after a change, which sets some or, with null, empties them. The others stay as they were written. */
export function cellsAfter(
  cells: ModelRow['cells'],
  tokens: ReadonlyMap<string, string | null>,
): ModelRow['cells'] {
  const after = new Map(cells)
  for (const [id, token] of tokens) {
    if (token === null) after.delete(id)
    else after.set(id, token)
  }
  return [...after]
}

type Changes = Readonly<{ schema: ModelSchema; tokens: ReadonlyMap<string, string | null> }>

/** The cells that an update writes: tokens, or null where a cell is emptied. */
function judgeChanges(
  sent: InputRow,
  before: ModelSchema,
  onSchemaError: OnSchemaError,
): Changes | Readonly<{ failure: Failure }> {
  const chunk = { columns: sent.map(([id]) => id), rows: [sent], claims: [] }
  const judge = judgeOf([{ chunk }], before, onSchemaError)
  const found = tokensOf(sent, judge)
  return 'failure' in found ? found : { schema: judge.schema, tokens: found.tokens }
}

export function tokensOf(
  sent: InputRow,
  judge: Judge,
): Pick<Changes, 'tokens'> | Readonly<{ failure: Failure }> {
  const tokens = new Map<string, string | null>()
  for (const [column, cell] of sent) {
    const type = judge.schema.columns.find(({ id }) => id === column)?.type
    if (type !== undefined && (isEmpty(cell) || fits(type, cell, judge))) {
      tokens.set(column, storedToken(type, cell))
    } else if (!judge.drops) {
      const code = type === undefined ? 'COLUMN_ID_NOT_FOUND' : 'COLUMN_HAS_INVALID_VALUE'
      return { failure: { code, column } }
    }
  }
  return { tokens }
}

export function deleteRow(target: TableTarget, rowId: string): Operation {
  return {
    text: `delete row ${rowId}`,
    run: (world) => tableOf(world, target).deleteRow(rowId),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const found = findRow(table, rowId)
        if (found !== null) {
          const [row, index] = found
          table.version++
          currentOf(table).rows[index] = { ...row, cells: [], gone: true }
        }
        const expected = { version: table.version, deleted: found !== null }
        expectEqual('the result', expectValue(outcome), expected)
      })
    },
  }
}

/** Enough memory for some pages, too little for others. */
const MEMORY_BYTES = 2_048

const WALKS_MAX = 6

/** @param walk - null: begins a walk. A walk that has ended or cannot continue is forgotten. */
export function readPage(
  target: TableTarget,
  walk: ModelWalk | null,
  { limit, parsed }: Readonly<{ limit: number | undefined; parsed: boolean }>,
): Operation {
  const request = {
    ...(limit !== undefined && { limit }),
    ...(walk !== null && { continuation: walk.token }),
  }
  return {
    text: `read a page ${walk === null ? '' : `on from row ${walk.at} of generation ${walk.generation} `}limit ${limit}`,
    run(world) {
      const table = tableOf(world, target)
      if (parsed) return table.page(request)
      const memory = new Uint8Array(MEMORY_BYTES).fill(0x7e)
      return table.pageBytes(limit === undefined ? request : { ...request, memory })
    },
    check(state, outcome, { now, limits }) {
      onTable(state, target, outcome, (table) => {
        const generation = walk?.generation ?? table.generations.length - 1
        const read = table.generations[generation]
        if (walk !== null) state.walks = state.walks.filter(({ token }) => token !== walk.token)
        const place = { instance: target.instance, now, limits }
        if (read === undefined || !isReadable(state, table, generation, place)) {
          return expectFailure(outcome, { code: 'CONTINUATION_INVALID' })
        }
        const rowsMax = Math.min(limit ?? limits.pageRowsMax, limits.pageRowsMax)
        const max = { rows: rowsMax, bytes: limits.pageBytesMax }
        const { rows, next } = pageOf(read, walk?.at ?? 0, max)
        const page = expectValue(outcome) as Page | PageBytes
        const json = `[${rows.map((row) => rowJsonOf(row, read)).join(',')}]`
        if ('json' in page) {
          expectEqual('the page', fromUtf8(page.json), json)
          expectEqual('rowCount', page.rowCount, rows.length)
        } else expectEqual('the page', page.rows, parseRendered(json))
        expectEqual('the version', page.version, read.retired?.lastVersion ?? table.version)
        const { continuation } = page
        if ((continuation !== undefined) !== (next !== null)) {
          throw new Mismatch(`next is ${next}, but the continuation ${continuation}`)
        }
        const on = walkOn(table, generation, walk, rows)
        if (continuation === undefined || next === null) return checkWholeWalk(table, on)
        state.walks = [
          ...state.walks.slice(1 - WALKS_MAX),
          { ...on, at: next, token: continuation },
        ]
      })
    },
  }
}

function liveIds(rows: readonly ModelRow[]): string[] {
  return rows.filter(({ gone }) => !gone).map(({ id }) => id)
}

function walkOn(
  { id: tableId, generations }: ModelTable,
  generation: number,
  walk: ModelWalk | null,
  rows: readonly ModelRow[],
): Omit<ModelWalk, 'at' | 'token'> {
  const before = walk?.before ?? liveIds(generations[generation]?.rows ?? [])
  return { tableId, generation, before, seen: [...(walk?.seen ?? []), ...rows.map(({ id }) => id)] }
}

/** A walk returns each row that existed throughout exactly once, and in order. */
function checkWholeWalk(
  { generations }: ModelTable,
  { generation, before, seen }: Omit<ModelWalk, 'at' | 'token'>,
): void {
  const now = new Set(liveIds(generations[generation]?.rows ?? []))
  const throughout = before.filter((id) => now.has(id))
  const mustSee = new Set(throughout)
  expectEqual(
    'the rows of the whole walk',
    seen.filter((id) => mustSee.has(id)),
    throughout,
  )
  expectEqual('the number of different rows', new Set(seen).size, seen.length)
}

export type BadPage = Readonly<{ limit?: number; continuation?: string }>

export function readBadPage(
  target: TableTarget,
  request: BadPage,
  code: Failure['code'],
): Operation {
  return {
    text: `read a page of ${JSON.stringify(request)}`,
    run: (world) => tableOf(world, target).page(request),
    check(state, outcome) {
      if (request.limit !== undefined) return expectFailure(outcome, { code }) // before the table is checked
      onTable(state, target, outcome, () => expectFailure(outcome, { code }))
    },
  }
}

/** Reads all rows, and each row by its ID too. */
export function scanAll(target: TableTarget): Operation {
  return {
    text: 'scan',
    async run(world) {
      const rows: RowObject[] = []
      for await (const row of tableOf(world, target).scan()) rows.push(row)
      return rows
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const generation = currentOf(table)
        const rows = generation.rows.filter(({ gone }) => !gone)
        const texts = rows.map((row) => rowJsonOf(row, generation))
        const expected = parseRendered(`[${texts.join(',')}]`)
        expectEqual('the rows', expectValue(outcome), expected)
      })
    },
  }
}

/** A garbage collection while nothing else runs, so that its report is as exact as its effect. */
export function runMaintain(instance: number): Operation {
  return {
    text: 'garbageCollection',
    run: (world) => world.store(instance).maintain(),
    check(state, outcome, place) {
      const expected = maintain(state, { ...place, instance })
      const { generations, stashes } = expectValue(outcome) as MaintenanceReport
      expectEqual('the report', { generations, stashes }, expected)
    },
  }
}

/** A garbage collection during which others run, also between its parts. */
export function runMaintenanceInParts(instance: number): Operation {
  return {
    text: 'garbageCollection',
    run: (world) => world.store(instance).maintain(),
    begin: (state, place) => void maintainGenerations(state, { ...place, instance }),
    check(state, outcome, place) {
      expectValue(outcome)
      maintainStashes(state, { ...place, instance })
    },
  }
}
