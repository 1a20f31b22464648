// Operations that bring rows in: create, add, overwrite, and the stash.
import type {
  ChangeResult,
  CreateResult,
  RowsInput,
  SchemaInput,
  Stash,
  Table,
} from '../../../src/index.js'
import type { ModelSchema } from './cell-rules.js'
import { type RowsSpec, toChunk, toInput } from './input.js'
import { type JobUse, runJob } from './jobs.js'
import { isRefusedByKey, namedInput, namedRows } from './key-rules.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  type MadeIds,
  Mismatch,
  type Operation,
  type OraclePlace,
  type Outcome,
} from './operation.js'
import {
  changeSchema,
  currentOf,
  type Failure,
  judgeOf,
  judgeSource,
  type ModelGeneration,
  type ModelRepeat,
  type ModelRow,
  type ModelTable,
  type OnSchemaError,
  type Source,
  type State,
  stashSource,
} from './oracle.js'
import type { World } from './world.js'

/** Bodies that are refused for every table. */
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
  const { form, rows, times, claims } = ref.rows
  const shown = form === 'csv' || form === 'tsv' ? 'field' : 'json'
  const texts = rows.map(
    (row) => `{${row.map(([id, cell]) => `${id}: ${cell[shown]}`).join(', ')}}`,
  )
  const kept = claims.length === 0 ? '' : ` with the IDs ${claims.join(', ')}`
  return `${form} ${times > 1 ? `${times} times ` : ''}[${texts.join(', ')}]${kept}`
}

/** Failures of the body itself precede failures of its data, and the check of the table's version lies between. */
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

/** Reads the row IDs at once, and records which of them are new. */
export function noteRowIds<T extends Pick<ChangeResult, 'rowIds'>>(
  world: World,
  made: T,
): T & { ids: MadeIds } {
  const given = [...made.rowIds]
  expectEqual('rowIds.length', made.rowIds.length, given.length)
  const ends = [made.rowIds.at(0), made.rowIds.at(-1), made.rowIds.at(given.length)]
  expectEqual('the IDs at both ends', ends, [given[0], given.at(-1), undefined])
  const ids = given.map((id) => {
    if (!/^[\w-]{22}$/.test(id)) throw new Mismatch(`${id} is not a row ID`)
    world.newRowIds.push(id)
    return { id, isNew: !world.rowIds.has(id) }
  })
  return { ...made, ids }
}

/** The ID with which each row was sent, and the one that it keeps; null: none. */
type Claims = Readonly<{ sent: readonly (string | null)[]; kept: readonly (string | null)[] }>

/**
 * @param others - The existing rows beside them.
 * @param claims - A row that keeps no ID must get a new one.
 */
export function newRows(
  ids: MadeIds,
  rows: readonly ModelRow['cells'][],
  version: number,
  { others = [], claims }: { others?: ModelRow[]; claims?: Claims } = {},
): ModelRow[] {
  expectEqual('the number of row IDs', ids.length, rows.length)
  const all = new Set([...others, ...ids].map(({ id }) => id))
  expectEqual('the number of different row IDs', all.size, others.length + ids.length)
  return rows.map((cells, i) => {
    const { id = '', isNew = false } = ids[i] ?? {}
    const kept = claims?.kept[i] ?? null
    if (kept !== null && id !== kept) throw new Mismatch(`row ${i} must keep ${kept}, not ${id}`)
    if (kept === null && !isNew) throw new Mismatch(`row ${i} has the ID ${id}, which came before`)
    if (kept === null && id === claims?.sent[i]) throw new Mismatch(`row ${i} made up its ID ${id}`)
    return { id, cells, version, gone: false }
  })
}

/** The claims of existing rows. Of several claims of one row, the first is accepted. */
function acceptedClaims(
  claims: readonly (string | null)[],
  { rows }: ModelGeneration,
): (string | null)[] {
  const live = new Set(rows.filter(({ gone }) => !gone).map(({ id }) => id))
  return claims.map((claim) => (claim !== null && live.delete(claim) ? claim : null))
}

export function newGeneration(rows: ModelRow[], schema: ModelSchema): ModelGeneration {
  return { rows, schema, retired: null, dropped: false }
}

type RowsRequest = Readonly<{ ref: RowsRef; onSchemaError: OnSchemaError }>

/** An idempotency key, and each byte of the digest of its request. */
export type ModelKey = Readonly<{ text: string; digest: number }>

type Repeatable = Readonly<{ key: ModelKey | null }>

function keyOptions(key: ModelKey | null): object {
  if (key === null) return {}
  return { idempotencyKey: key.text, requestDigest: new Uint8Array(32).fill(key.digest) }
}

function keyText(key: ModelKey | null): string {
  return key === null ? '' : `with key ${key.text} of request ${key.digest} `
}

/**
 * Whether the key was used before. Then the result must be that of the first operation, or a refusal if the requests
 * differ.
 * @param added - The table that gets rows; null: one is created.
 */
function isRepeat(
  { repeats }: State,
  key: ModelKey | null,
  added: string | null,
  outcome: Outcome,
  { now, limits }: OraclePlace,
): boolean {
  const first = key === null ? undefined : repeats.get(key.text)
  if (key === null || first === undefined || now - first.at >= limits.idempotencyTtlMs) return false
  if (key.digest !== first.digest || added !== first.added) {
    expectFailure(outcome, { code: 'IDEMPOTENCY_KEY_REUSED' })
    return true
  }
  const { tableId = first.tableId, version, ids } = expectValue(outcome) as Made
  const { at, digest } = first
  const found = { at, digest, added, tableId, version, ids: ids.map(({ id }) => id) }
  expectEqual('the result of a repeat', found, first)
  return true
}

function jobText(asJob: JobUse): string {
  return { none: '', job: 'as a job: ', restart: 'as a job, beside a restart: ' }[asJob]
}

type Made = Readonly<{ tableId?: string; version: number; ids: MadeIds }>

function noteFirst(
  { repeats }: State,
  key: ModelKey | null,
  { at, added, tableId, version, ids }: Omit<ModelRepeat, 'ids' | 'digest'> & Pick<Made, 'ids'>,
): void {
  if (key === null) return
  const { text, digest } = key
  repeats.set(text, { at, digest, added, tableId, version, ids: ids.map(({ id }) => id) })
}

export function create(
  instance: number,
  request: RowsRequest &
    Repeatable &
    Readonly<{
      name: string
      schema: ModelSchema | null
      asJob?: JobUse
      /** The key of the table; null: none. */
      unique?: readonly string[] | null
    }>,
): Operation {
  const { name, ref, schema, onSchemaError, key, asJob = 'none', unique = null } = request
  return {
    stash: stashOf(ref),
    text: `${jobText(asJob)}create "${name}" ${keyText(key)}${schema === null ? '' : 'with a schema '}${onSchemaError} from ${textOf(ref)}${unique === null ? '' : `, unique by ${unique.join()}`}`,
    async run(world) {
      const request = {
        name,
        onSchemaError,
        rows: inputOf(ref, world, instance),
        ...(schema && { schema: schema as SchemaInput }),
        ...keyOptions(key),
        ...(unique && { key: unique }),
      }
      const made =
        asJob === 'none'
          ? await world.team(instance).createTable(request)
          : await runJob(world, instance, { create: request }, asJob)
      return noteRowIds(world, made)
    },
    check(state, outcome, place, chunks) {
      if (asJob === 'restart') state.scans = []
      if (isRepeat(state, key, null, outcome, place)) return
      const resolved = resolve(state, ref, chunks)
      if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
      const judge = judgeOf(resolved.source, schema, onSchemaError)
      const judged = judgeSource(resolved.source, judge)
      if ('failure' in judged) return expectFailure(outcome, judged.failure)
      const keyed = { before: null, after: judge.schema, rows: namedInput(judged.rows) }
      if (isRefusedByKey(outcome, unique, keyed)) return
      const { tableId, version, ids } = expectValue(outcome) as CreateResult & { ids: MadeIds }
      expectEqual('the version', version, 1)
      const generations = [newGeneration(newRows(ids, judged.rows, 1), judge.schema)]
      state.tables.push({ id: tableId, name, version, key: unique, generations })
      noteFirst(state, key, { at: place.now, added: null, tableId, version, ids })
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

export function addRows(target: TableTarget, request: RowsRequest & Repeatable): Operation {
  const { ref, onSchemaError, key } = request
  return {
    stash: stashOf(ref),
    text: `add ${keyText(key)}${onSchemaError} ${textOf(ref)}`,
    async run(world) {
      const input = inputOf(ref, world, target.instance)
      const options = {
        onSchemaError,
        ...keyOptions(key),
      }
      return noteRowIds(world, await tableOf(world, target).addRows(input, options))
    },
    check(state, outcome, place, chunks) {
      onTable(state, target, outcome, (table) => {
        if (isRepeat(state, key, table.id, outcome, place)) return
        const resolved = resolve(state, ref, chunks)
        if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
        const generation = currentOf(table)
        const judge = judgeOf(resolved.source, generation.schema, onSchemaError)
        const judged = judgeSource(resolved.source, judge)
        if ('failure' in judged) return expectFailure(outcome, judged.failure)
        const rowsAfter = [...namedRows(generation.rows), ...namedInput(judged.rows)]
        const keyed = { before: generation.schema, after: judge.schema, rows: rowsAfter }
        if (judged.rows.length > 0 && isRefusedByKey(outcome, table.key, keyed)) return
        const { version, ids } = expectValue(outcome) as Made
        if (judged.rows.length > 0) {
          table.version++
          changeSchema(generation, judge.schema, table.version)
        }
        expectEqual('the version', version, table.version)
        const rows = newRows(ids, judged.rows, version, { others: generation.rows })
        for (const row of rows) generation.rows.push(row)
        if (rows.length === 0) return
        const at = place.now
        noteFirst(state, key, { at, added: table.id, tableId: table.id, version, ids })
      })
    },
  }
}

export type IfMatch = number | bigint | undefined

/** Whether a table or row has changed since the version on which a change of it depends. */
export function isPast(ifMatch: IfMatch, { version }: Readonly<{ version: number }>): boolean {
  return ifMatch !== undefined && BigInt(version) > BigInt(ifMatch)
}

export function overwrite(
  target: TableTarget,
  request: RowsRequest & Readonly<{ schema: ModelSchema | null; ifMatch: IfMatch; asJob?: JobUse }>,
): Operation {
  const { ref, schema, ifMatch, onSchemaError, asJob = 'none' } = request
  return {
    stash: stashOf(ref),
    text: `${jobText(asJob)}overwrite ${schema === null ? '' : 'with a schema '}ifMatch ${ifMatch} ${onSchemaError} from ${textOf(ref)}`,
    async run(world) {
      const { tableId, instance } = target
      const request = {
        onSchemaError,
        rows: inputOf(ref, world, instance),
        ...(schema && { schema: schema as SchemaInput }),
        ...(ifMatch !== undefined && { ifMatch }),
      }
      const made =
        asJob === 'none'
          ? await tableOf(world, target).overwrite(request)
          : await runJob(world, instance, { overwrite: { ...request, tableId } }, asJob)
      return noteRowIds(world, made)
    },
    check(state, outcome, { now }, chunks) {
      onTable(state, target, outcome, (table) => {
        if (asJob === 'restart') state.scans = []
        const resolved = resolve(state, ref, chunks)
        if ('failure' in resolved && !resolved.ofData) {
          return expectFailure(outcome, resolved.failure)
        }
        if (ifMatch !== undefined && BigInt(table.version) > BigInt(ifMatch)) {
          return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        }
        if ('failure' in resolved) return expectFailure(outcome, resolved.failure)
        const before = currentOf(table)
        const judge = judgeOf(resolved.source, schema ?? before.schema, onSchemaError)
        const judged = judgeSource(resolved.source, judge)
        if ('failure' in judged) return expectFailure(outcome, judged.failure)
        const keyed = { before: null, after: judge.schema, rows: namedInput(judged.rows) }
        if (isRefusedByKey(outcome, table.key, keyed)) return
        const { version, ids } = expectValue(outcome) as ChangeResult & { ids: MadeIds }
        const claims = { sent: judged.claims, kept: acceptedClaims(judged.claims, before) }
        before.retired = { at: now, lastVersion: table.version }
        table.version++
        expectEqual('the version', version, table.version)
        const rows = newRows(ids, judged.rows, version, { claims })
        table.generations.push(newGeneration(rows, judge.schema))
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
      const fresh = { createdAt: now, expiredAt: null, chunks: new Map() }
      const known = state.stashes.get(stash) ?? fresh
      if (known.expiredAt !== null) return expectFailure(outcome, { code: 'STASH_NOT_FOUND' })
      expectValue(outcome)
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
      expectEqual('whether it was there', expectValue(outcome), state.stashes.delete(stash))
    },
  }
}
