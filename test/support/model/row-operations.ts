// Operations that bring rows in: create, add, overwrite, and the stash.
import type { Changed, Created, RowsInput, SchemaInput, Stash, Table } from '../../../src/index.js'
import type { ModelSchema } from './cell-rules.js'
import { type RowsSpec, toChunk, toInput } from './input.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  Mismatch,
  type Operation,
  type Outcome,
} from './operation.js'
import {
  currentOf,
  type Failure,
  inferSchema,
  judgeSource,
  type ModelGeneration,
  type ModelRow,
  type ModelTable,
  type Source,
  type State,
  stashSource,
} from './oracle.js'
import type { World } from './world.js'

/** Bodies that are refused whatever the table is. */
export const BROKEN_INPUTS = Object.freeze({
  unclosed: { json: '[{"a":"x"},' },
  number: { json: '[1]' },
  badUtf8: { csv: Uint8Array.of(0x61, 0x0a, 0xff) },
  emptyCsv: { csv: '' },
  longRecord: { csv: 'a\nx\ny,z' },
  reserved: { json: '[{"a":"x"},{"$stashID":"s"}]' },
  twice: { tsv: 'a\ta\nx\ty' },
}) satisfies Record<string, RowsInput>

export type BrokenInput = keyof typeof BROKEN_INPUTS

export type RowsRef =
  | Readonly<{ stash: string }>
  | Readonly<{ rows: RowsSpec }>
  | Readonly<{ broken: BrokenInput }>

const BROKEN_CODE: Partial<Record<BrokenInput, Failure['code']>> = {
  reserved: 'COLUMN_ID_RESERVED',
  twice: 'COLUMN_ID_NOT_UNIQUE',
}

function brokenFailure(broken: BrokenInput): Failure {
  return { code: BROKEN_CODE[broken] ?? 'REQUEST_VALIDATION_ERROR' }
}

function inputOf(ref: RowsRef, world: World, instance: number): RowsInput | Stash {
  if ('stash' in ref) return world.team(instance).stash(ref.stash)
  return 'rows' in ref ? toInput(ref.rows) : BROKEN_INPUTS[ref.broken]
}

function stashOf(ref: RowsRef): string | undefined {
  return 'stash' in ref ? ref.stash : undefined
}

function textOf(ref: RowsRef): string {
  if ('stash' in ref) return `stash ${ref.stash}`
  if ('broken' in ref) return `${ref.broken} rows`
  const { form, rows, times } = ref.rows
  const shown = form === 'csv' || form === 'tsv' ? 'field' : 'json'
  const texts = rows.map(
    (row) => `{${row.map(([id, cell]) => `${id}: ${cell[shown]}`).join(', ')}}`,
  )
  return `${form} ${times > 1 ? `${times} times ` : ''}[${texts.join(', ')}]`
}

/** Failures of the body itself come before those of its data, with the table's version between. */
type Resolved = Readonly<{ source: Source }> | Readonly<{ failure: Failure; ofData: boolean }>

function resolve(state: State, ref: RowsRef, chunks?: Source): Resolved {
  if ('broken' in ref) {
    const failure = brokenFailure(ref.broken)
    return { failure, ofData: failure.code !== 'REQUEST_VALIDATION_ERROR' }
  }
  if ('rows' in ref) return { source: [{ chunk: toChunk(ref.rows) }] }
  const source = chunks ?? stashSource(state, ref.stash)
  return source === null ? { failure: { code: 'STASH_NOT_FOUND' }, ofData: false } : { source }
}

/** Reads the row IDs as soon as there are some, and checks that they never came before. */
function noteRowIds<T extends Created | Changed>(world: World, made: T): T & { ids: string[] } {
  const ids = [...made.rowIds]
  expectEqual('rowIds.length', made.rowIds.length, ids.length)
  const ends = [made.rowIds.at(0), made.rowIds.at(-1), made.rowIds.at(ids.length)]
  expectEqual('the IDs at both ends', ends, [ids[0], ids.at(-1), undefined])
  for (const id of ids) {
    if (!/^[\w-]{22}$/.test(id)) throw new Mismatch(`${id} is not a row ID`)
    if (world.rowIds.has(id)) throw new Mismatch(`the row ID ${id} came before`)
    world.rowIds.add(id)
  }
  return { ...made, ids }
}

function newRows(
  ids: readonly string[],
  rows: readonly ModelRow['cells'][],
  version: number,
): ModelRow[] {
  expectEqual('the number of row IDs', ids.length, rows.length)
  return rows.map((cells, i) => ({ id: ids[i] ?? '', cells, version, gone: false }))
}

function newGeneration(rows: ModelRow[], schema: ModelSchema): ModelGeneration {
  return { rows, schema, retired: null, dropped: false }
}

export function create(
  instance: number,
  request: Readonly<{ name: string; ref: RowsRef; schema: ModelSchema | null }>,
): Operation {
  const { name, ref, schema } = request
  return {
    stash: stashOf(ref),
    text: `create "${name}" ${schema === null ? '' : 'with a schema '}from ${textOf(ref)}`,
    async run(world) {
      const made = await world.team(instance).createTable({
        name,
        rows: inputOf(ref, world, instance),
        ...(schema && { schema: schema as SchemaInput }),
      })
      return noteRowIds(world, made)
    },
    check(state, outcome, _, chunks) {
      const resolved = resolve(state, ref, chunks)
      if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
      const made = schema ?? inferSchema(resolved.source)
      const judged = judgeSource(resolved.source, made, schema === null)
      if ('failure' in judged) return expectFailure(outcome, judged.failure)
      const { tableId, version, ids } = expectValue(outcome) as Created & { ids: string[] }
      expectEqual('the version', version, 1)
      const rows = newRows(ids, judged.rows, 1)
      state.tables.push({ id: tableId, name, version, generations: [newGeneration(rows, made)] })
    },
  }
}

export type TableTarget = Readonly<{ instance: number; tableId: string }>

export function tableOf(world: World, { instance, tableId }: TableTarget): Table {
  return world.team(instance).table(tableId)
}

/** Checks an outcome against a table; without one it must be TABLE_NOT_FOUND. */
export function onTable(
  state: State,
  { tableId }: TableTarget,
  outcome: Outcome,
  check: (table: ModelTable) => void,
): void {
  const table = state.tables.find(({ id }) => id === tableId)
  if (table === undefined) expectFailure(outcome, { code: 'TABLE_NOT_FOUND' })
  else check(table)
}

export function addRows(target: TableTarget, ref: RowsRef): Operation {
  return {
    stash: stashOf(ref),
    text: `add ${textOf(ref)}`,
    async run(world) {
      const input = inputOf(ref, world, target.instance)
      return noteRowIds(world, await tableOf(world, target).addRows(input))
    },
    check(state, outcome, _, chunks) {
      onTable(state, target, outcome, (table) => {
        const resolved = resolve(state, ref, chunks)
        if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
        const { rows, schema } = currentOf(table)
        const judged = judgeSource(resolved.source, schema, false)
        if ('failure' in judged) return expectFailure(outcome, judged.failure)
        const { version, ids } = expectValue(outcome) as Changed & { ids: string[] }
        if (judged.rows.length > 0) table.version++
        expectEqual('the version', version, table.version)
        for (const row of newRows(ids, judged.rows, version)) rows.push(row)
      })
    },
  }
}

export type IfMatch = number | bigint | undefined

export function overwrite(
  target: TableTarget,
  request: Readonly<{ ref: RowsRef; schema: ModelSchema | null; ifMatch: IfMatch }>,
): Operation {
  const { ref, schema, ifMatch } = request
  return {
    stash: stashOf(ref),
    text: `overwrite ${schema === null ? '' : 'with a schema '}ifMatch ${ifMatch} from ${textOf(ref)}`,
    async run(world) {
      const made = await tableOf(world, target).overwrite({
        rows: inputOf(ref, world, target.instance),
        ...(schema && { schema: schema as SchemaInput }),
        ...(ifMatch !== undefined && { ifMatch }),
      })
      return noteRowIds(world, made)
    },
    check(state, outcome, { now }, chunks) {
      onTable(state, target, outcome, (table) => {
        const resolved = resolve(state, ref, chunks)
        if ('failure' in resolved && !resolved.ofData) {
          return expectFailure(outcome, resolved.failure)
        }
        if (ifMatch !== undefined && BigInt(table.version) > BigInt(ifMatch)) {
          return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        }
        if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
        const before = currentOf(table)
        const judged = judgeSource(resolved.source, schema ?? before.schema, false)
        if ('failure' in judged) return expectFailure(outcome, judged.failure)
        const { version, ids } = expectValue(outcome) as Changed & { ids: string[] }
        before.retired = { at: now, lastVersion: table.version }
        table.version++
        expectEqual('the version', version, table.version)
        const rows = newRows(ids, judged.rows, version)
        table.generations.push(newGeneration(rows, schema ?? before.schema))
      })
    },
  }
}

export function putChunk(
  instance: number,
  { stash, serial, ref }: Readonly<{ stash: string; serial: string; ref: RowsRef }>,
): Operation {
  return {
    text: `put chunk ${serial} of stash ${stash}: ${textOf(ref)}`,
    async run(world) {
      await world
        .team(instance)
        .stash(stash)
        .put(serial, inputOf(ref, world, instance) as RowsInput)
    },
    check(state, outcome, { now }) {
      const resolved = resolve(state, ref)
      if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
      expectValue(outcome)
      const known = state.stashes.get(stash) ?? { createdAt: now, chunks: new Map() }
      state.stashes.set(stash, known)
      for (const { chunk } of resolved.source) known.chunks.set(serial, { chunk, putAt: now })
    },
  }
}

export function deleteStash(instance: number, stash: string): Operation {
  return {
    text: `delete stash ${stash}`,
    run: (world) => world.team(instance).stash(stash).delete(),
    check(state, outcome) {
      expectValue(outcome)
      state.stashes.delete(stash)
    },
  }
}
