// The parts of runs: operations not yet bound to the tables, rows and walks of a state.
import fc from 'fast-check'
import { seeded } from '../../support/seeded.js'
import type { ModelSchema } from './cell-rules.js'
import { whereOf } from './find-operations.js'
import {
  anyRows,
  anySampleRow,
  anyWideningRow,
  FORMS,
  type RowsSpec,
  type SampleRow,
} from './input.js'
import { JOB_USES, type JobUse } from './jobs.js'
import { alterKey, getByKey, keyValues } from './key-operations.js'
import { alterTable, deleteTable, ensureTable, renameTable } from './life-operations.js'
import {
  deleteRows,
  type MergeSpec,
  mergeRows,
  rowsAsText,
  rowsToMerge,
  updateRows,
} from './many-operations.js'
import type { Operation } from './operation.js'
import { currentOf, type ModelTable, type OnSchemaError, type State } from './oracle.js'
import {
  addRows,
  BROKEN_INPUTS,
  type BrokenInput,
  create,
  deleteStash,
  type IfMatch,
  type ModelKey,
  overwrite,
  putChunk,
  type RowsRef,
  type TableTarget,
} from './row-operations.js'
import {
  anyClaims,
  anyPickOfRacers,
  anyRow,
  type Claim,
  pick,
  pickRow,
  type RowPick,
} from './row-picks.js'
import {
  deleteRow,
  getRow,
  listTables,
  readBadPage,
  readPage,
  readSchema,
  readVersion,
  runMaintain,
  runMaintenanceInParts,
  scanAll,
  updateRow,
} from './table-operations.js'
import { transaction } from './transactions.js'

/** How a version is chosen when the operation is bound. */
const IF_MATCHES = ['none', 'none', 'equal', 'equal', 'low', 'high', 'huge'] as const
type IfMatchPick = (typeof IF_MATCHES)[number]

export type Spec = Readonly<{ instance: number; table: number }> &
  (
    | Readonly<{
        kind: 'create'
        name: string
        ref: SpecRef
        schema: ModelSchema | null
        onSchemaError: OnSchemaError
        key: ModelKey | null
        asJob: JobUse
        unique: KeyPick
      }>
    | Readonly<{ kind: 'add'; ref: SpecRef; onSchemaError: OnSchemaError; key: ModelKey | null }>
    | Readonly<{
        kind: 'overwrite'
        ref: SpecRef
        schema: ModelSchema | null
        ifMatch: IfMatchPick
        onSchemaError: OnSchemaError
        asJob: JobUse
      }>
    | Readonly<{ kind: 'put'; stash: string; serial: string; ref: SpecRef }>
    | Readonly<{ kind: 'drop'; stash: string }>
    | Readonly<{
        kind: 'update'
        row: RowPick
        cells: SampleRow
        asText: boolean
        ifMatch: IfMatchPick
        onSchemaError: OnSchemaError
      }>
    | Readonly<{ kind: 'delete'; row: RowPick }>
    | Readonly<{
        kind: 'updateMany'
        updates: readonly Readonly<{ row: RowPick; cells: SampleRow; ifMatch: IfMatchPick }>[]
        onSchemaError: OnSchemaError
      }>
    | Readonly<{ kind: 'deleteMany'; rows: readonly RowPick[]; where: number | null }>
    | Readonly<{
        kind: 'merge'
        lack: Pick<MergeSpec, 'missing' | 'unnamed'>
        key: number
        byOwn: boolean
        from: number
        rows: RowsSpec
        ifMatch: IfMatchPick
        dryRun: boolean
      }>
    | Readonly<{ kind: 'transaction'; parts: readonly Spec[] }>
    | Readonly<{ kind: 'rename'; name: string; ifMatch: IfMatchPick }>
    | Readonly<{ kind: 'deleteTable'; ifMatch: IfMatchPick }>
    | Readonly<{ kind: 'alter'; columns: readonly number[]; ifMatch: IfMatchPick }>
    | Readonly<{ kind: 'ensure'; name: string; schema: ModelSchema; unique: KeyPick }>
    | Readonly<{ kind: 'alterKey'; columns: KeyPick; ifMatch: IfMatchPick }>
    | Readonly<{ kind: 'getByKey'; row: RowPick; other: SampleRow; isOther: boolean }>
    | Readonly<{ kind: 'get'; row: RowPick; parsed: boolean }>
    | Readonly<{ kind: 'page'; walk: number | null; limit: number | null; parsed: boolean }>
    | Readonly<{ kind: 'badPage'; fault: 'limit' | 'garbage' | 'foreign'; limit: number }>
    | Readonly<{ kind: 'version' | 'schema' | 'tables' | 'scan' | 'garbageCollection' }>
  )

type Kinds = Spec['kind']

/** The columns of a key, chosen when the operation is bound; null: none. */
type KeyPick = readonly number[] | null

const PLAIN: ModelSchema = {
  columns: [
    { id: 'a', type: { kind: 'string' } },
    { id: 'n', displayName: 'Number', type: { kind: 'number' } },
    { id: 'b', type: { kind: 'boolean' } },
    { id: 'd', type: { kind: 'date' } },
    { id: 'l', type: { kind: 'array', items: { kind: 'number' } } },
    { id: '10', type: { kind: 'string' } },
    { id: '__proto__', type: { kind: 'string' } },
  ],
}

/** The same columns in another order and with wider types, and one missing. */
const OTHER: ModelSchema = {
  columns: [
    { id: '__proto__', type: { kind: 'string' } },
    { id: 'd', type: { kind: 'dateTime' } },
    { id: 'l', displayName: '', type: { kind: 'array', items: { kind: 'number' } } },
    { id: 'a', type: { kind: 'string' } },
    { id: 'n', type: { kind: 'number' } },
    { id: '10', type: { kind: 'string' } },
  ],
}

const onSchemaError: fc.Arbitrary<OnSchemaError> = fc.constantFrom(
  'abort',
  'abort',
  'abort',
  'dropColumns',
  'updateSchema',
)

/** Idempotency keys. A few digests represent all requests, so that repeats occur. */
const anyKey = fc.oneof(
  fc.constant(null),
  fc.record({
    text: fc.constantFrom('k', 'another key', 'a third'),
    digest: fc.constantFrom(7, 7, 7, 8),
  }),
)

const anySchema = fc.constantFrom(PLAIN, PLAIN, OTHER, null, null)

const STASHES = ['s', '00-long_Stash-id']
const SERIALS = ['0', '1', '2', '10', '01', '9007199254740993', '9007199254740992', 'a', 'B-1']

const anyStash = fc.constantFrom(...STASHES)
const anySerial = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SERIALS.slice(0, 5)) },
  { weight: 1, arbitrary: fc.constantFrom(...SERIALS) },
)
const anyBroken = fc.constantFrom(...(Object.keys(BROKEN_INPUTS) as BrokenInput[]))

/** Rows, and the rows of the bound state whose IDs they take. */
type SpecRef = RowsRef & Readonly<{ claims?: readonly Claim[] }>

function anyRef(hasLarge: boolean, fromStash: number): fc.Arbitrary<SpecRef> {
  return fc.oneof(
    { weight: 20, arbitrary: fc.record({ rows: anyRows(hasLarge), claims: anyClaims }) },
    { weight: fromStash, arbitrary: fc.record({ stash: anyStash }) },
    { weight: 1, arbitrary: fc.record({ broken: anyBroken }) },
  )
}

const anyWideningAdd = fc.record({
  kind: fc.constant('add'),
  ref: fc.record({
    rows: fc.record({
      form: fc.constantFrom(...FORMS),
      rows: fc.array(anyWideningRow, { minLength: 1, maxLength: 2 }),
      times: fc.constant(1),
      claims: fc.constant([]),
    }),
  }),
  onSchemaError: fc.constant('updateSchema'),
  key: fc.constant(null),
})

const anyJobUse: fc.Arbitrary<JobUse> = fc.constantFrom('none', 'none', ...JOB_USES)

const anyIfMatch = fc.constantFrom(...IF_MATCHES)

const anyMostlyUnbound: fc.Arbitrary<IfMatchPick> = fc.constantFrom(
  ...(['none', 'none', 'none', 'none', 'none', 'equal', 'high', 'low'] as const),
)

const anyMostlyLive: fc.Arbitrary<RowPick> = fc.oneof(
  {
    weight: 15,
    arbitrary: fc.record({ kind: fc.constant('live' as const), index: fc.nat({ max: 30 }) }),
  },
  { weight: 1, arbitrary: anyRow },
)

/** Columns by number, each at most once. With several columns, few rows have equal values. */
const anyKeyPick: fc.Arbitrary<KeyPick> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.constantFrom([0], [1], [0]) },
  { weight: 3, arbitrary: fc.constantFrom([0, 1], [1, 0]) },
  { weight: 1, arbitrary: fc.uniqueArray(fc.nat({ max: 6 }), { minLength: 1, maxLength: 2 }) },
)

/** The operations of a transaction, most of which are possible. */
const anyParts: fc.Arbitrary<Spec[]> = fc.array(
  withPlace(
    fc.oneof(
      fc.record({
        kind: fc.constant('add'),
        ref: fc.record({ rows: anyRows(false) }),
        onSchemaError: fc.constantFrom('dropColumns', 'updateSchema', 'abort'),
        key: fc.constant(null),
      }),
      fc.record({
        kind: fc.constant('update'),
        row: anyMostlyLive,
        cells: anySampleRow,
        asText: fc.constant(false),
        ifMatch: anyMostlyUnbound,
        onSchemaError,
      }),
      fc.record({ kind: fc.constant('delete'), row: anyMostlyLive }),
      fc.record({
        kind: fc.constant('updateMany'),
        updates: fc.array(
          fc.record({ row: anyMostlyLive, cells: anySampleRow, ifMatch: anyMostlyUnbound }),
          { minLength: 1, maxLength: 3 },
        ),
        onSchemaError,
      }),
      fc.record({
        kind: fc.constant('deleteMany'),
        rows: fc.array(anyRow, { maxLength: 3 }),
        where: fc.constant(null),
      }),
      fc.record({ kind: fc.constantFrom('scan', 'version', 'schema') }),
      fc.record({
        kind: fc.constant('getByKey'),
        row: anyMostlyLive,
        other: anySampleRow,
        isOther: fc.constant(false),
      }),
    ),
  ),
  { minLength: 1, maxLength: 4, size: 'max' },
)

function partsOf(hasLarge: boolean): Record<Kinds, fc.Arbitrary<object>> {
  const ref = anyRef(hasLarge, 20)
  return {
    create: fc.record({
      kind: fc.constant('create'),
      name: fc.constantFrom('t', 'Ü "t"'),
      ref,
      schema: anySchema,
      onSchemaError,
      key: anyKey,
      asJob: anyJobUse,
      unique: anyKeyPick,
    }),
    add: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.record({ kind: fc.constant('add'), ref, onSchemaError, key: anyKey }),
      },
      { weight: 1, arbitrary: anyWideningAdd },
    ),
    overwrite: fc.record({
      kind: fc.constant('overwrite'),
      ref,
      schema: anySchema,
      ifMatch: anyIfMatch,
      onSchemaError,
      asJob: anyJobUse,
    }),
    put: fc.record({
      kind: fc.constant('put'),
      stash: anyStash,
      serial: anySerial,
      ref: anyRef(hasLarge, 0),
    }),
    drop: fc.record({ kind: fc.constant('drop'), stash: anyStash }),
    update: fc.record({
      kind: fc.constant('update'),
      row: anyRow,
      cells: anySampleRow,
      asText: fc.boolean(),
      ifMatch: anyIfMatch,
      onSchemaError,
    }),
    delete: fc.record({ kind: fc.constant('delete'), row: anyRow }),
    updateMany: fc.record({
      kind: fc.constant('updateMany'),
      updates: fc.array(
        fc.record({ row: anyMostlyLive, cells: anySampleRow, ifMatch: anyMostlyUnbound }),
        { minLength: 1, maxLength: 4 },
      ),
      onSchemaError,
    }),
    deleteMany: fc.record({
      kind: fc.constant('deleteMany'),
      rows: fc.array(anyRow, { maxLength: 5 }),
      where: fc.oneof(fc.constant(null), fc.nat({ max: 1_000 })),
    }),
    merge: fc.record({
      kind: fc.constant('merge'),
      lack: fc.constantFrom<Pick<MergeSpec, 'missing' | 'unnamed'>>(
        { missing: 'keep', unnamed: 'keep' },
        { missing: 'keep', unnamed: 'empty' },
        { missing: 'delete', unnamed: 'keep' },
      ),
      key: fc.nat({ max: 6 }),
      byOwn: fc.constantFrom(true, true, true, false),
      from: fc.nat({ max: 12 }),
      rows: anyRows(false),
      ifMatch: anyMostlyUnbound,
      dryRun: fc.constantFrom(false, false, false, true),
    }),
    transaction: fc.record({ kind: fc.constant('transaction'), parts: anyParts }),
    rename: fc.record({
      kind: fc.constant('rename'),
      name: fc.constantFrom('t', 'another', 'Ü "t"'),
      ifMatch: anyIfMatch,
    }),
    deleteTable: fc.record({ kind: fc.constant('deleteTable'), ifMatch: anyIfMatch }),
    alter: fc.record({
      kind: fc.constant('alter'),
      columns: fc.uniqueArray(fc.nat({ max: 7 }), { minLength: 1, maxLength: 6 }),
      ifMatch: anyIfMatch,
    }),
    ensure: fc.record({
      kind: fc.constant('ensure'),
      name: fc.constantFrom('t', 't', 'another', 'Ü "t"'),
      schema: fc.constantFrom(PLAIN, OTHER),
      unique: fc.oneof(
        { weight: 2, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: anyKeyPick },
      ),
    }),
    alterKey: fc.record({
      kind: fc.constant('alterKey'),
      columns: anyKeyPick,
      ifMatch: anyMostlyUnbound,
    }),
    getByKey: fc.record({
      kind: fc.constant('getByKey'),
      row: anyMostlyLive,
      other: anySampleRow,
      isOther: fc.constantFrom(false, false, true),
    }),
    get: fc.record({ kind: fc.constant('get'), row: anyRow, parsed: fc.boolean() }),
    page: fc.record({
      kind: fc.constant('page'),
      walk: fc.oneof(fc.constant(null), fc.nat({ max: 5 }), fc.nat({ max: 5 })),
      limit: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 9 })),
      parsed: fc.boolean(),
    }),
    badPage: fc.record({
      kind: fc.constant('badPage'),
      fault: fc.constantFrom('limit', 'garbage', 'foreign'),
      limit: fc.constantFrom(0, -1, 1.5, Number.NaN),
    }),
    version: fc.record({ kind: fc.constant('version') }),
    schema: fc.record({ kind: fc.constant('schema') }),
    tables: fc.record({ kind: fc.constant('tables') }),
    scan: fc.record({ kind: fc.constant('scan') }),
    garbageCollection: fc.record({ kind: fc.constant('garbageCollection') }),
  }
}

const WEIGHTS: Readonly<Record<Kinds, number>> = {
  create: 4,
  add: 12,
  overwrite: 7,
  put: 9,
  drop: 1,
  update: 12,
  delete: 8,
  updateMany: 4,
  deleteMany: 4,
  merge: 6,
  transaction: 5,
  rename: 1,
  deleteTable: 2,
  alter: 4,
  ensure: 4,
  alterKey: 6,
  getByKey: 6,
  get: 5,
  page: 16,
  badPage: 1,
  version: 1,
  schema: 1,
  tables: 1,
  scan: 2,
  garbageCollection: 4,
}

/** The kinds that may run concurrently. A scan may not: it reads several views, so no single moment explains it. */
const RACING: Partial<Readonly<Record<Kinds, number>>> = {
  create: 2,
  add: 10,
  overwrite: 7,
  put: 9,
  drop: 2,
  update: 12,
  delete: 12,
  updateMany: 4,
  deleteMany: 4,
  merge: 5,
  transaction: 4,
  rename: 1,
  deleteTable: 2,
  alter: 2,
  alterKey: 3,
  getByKey: 4,
  get: 4,
  page: 8,
  version: 2,
  garbageCollection: 4,
}

function withPlace(part: fc.Arbitrary<object>): fc.Arbitrary<Spec> {
  const place = fc.record({ instance: fc.nat({ max: 5 }), table: fc.nat({ max: 3 }) })
  return fc.tuple(place, part).map(([at, spec]) => ({ ...at, ...spec }) as Spec)
}

/** One arbitrary for each kind, with its weight. */
export function anySpecs(): { weight: number; arbitrary: fc.Arbitrary<Spec> }[] {
  const parts = partsOf(true)
  return Object.entries(WEIGHTS).map(([kind, weight]) => {
    return { weight, arbitrary: withPlace(parts[kind as Kinds]) }
  })
}

function oneOfKinds(weights: typeof RACING): fc.Arbitrary<Spec> {
  const parts = partsOf(false)
  const kinds = Object.entries(weights).map(([kind, weight]) => ({
    weight,
    arbitrary: withPlace(parts[kind as Kinds]),
  }))
  return fc.oneof(...kinds)
}

/** Any two or three operations. */
export const anyFew: fc.Arbitrary<Spec[]> = fc.array(oneOfKinds(RACING), {
  minLength: 2,
  maxLength: 3,
})

/** One operation that runs twice in one store, and another in another store. */
const anyTwins = fc
  .tuple(oneOfKinds({ delete: 3, update: 2, add: 1, overwrite: 1 }), oneOfKinds(RACING))
  .map(([twin, other]) => [twin, twin, { ...other, instance: twin.instance + 1 }])

/** A garbage collection with a compaction, during changes of the rows that it compacts. */
const anyCompactions = fc
  .tuple(
    withPlace(fc.constant({ kind: 'garbageCollection' })),
    fc.array(oneOfKinds({ update: 4, delete: 2, add: 1, overwrite: 1 }), {
      minLength: 1,
      maxLength: 2,
    }),
  )
  .map(([maintain, changes]) => [maintain, ...changes])

/** Mostly operations that create objects. */
export const anyChangeOfMaintenance = oneOfKinds({
  put: 4,
  add: 4,
  overwrite: 3,
  create: 1,
  update: 2,
})

/** Changes of few rows of any tables. */
export const anyChangesOfCompaction: fc.Arbitrary<Spec[]> = fc.array(
  fc.tuple(oneOfKinds({ update: 3, delete: 1 }), anyPickOfRacers).map(([spec, row]) => {
    return { ...spec, ...('row' in spec && { row }) }
  }),
  { minLength: 2, maxLength: 6, size: 'max' },
)

/** Specs that race for the same table and row. */
export const anyRacers: fc.Arbitrary<Spec[]> = fc
  .tuple(fc.nat({ max: 3 }), anyPickOfRacers, fc.oneof(anyFew, anyTwins, anyCompactions))
  .map(([table, row, specs]) => {
    return specs.map((spec) => ({ ...spec, table, ...('row' in spec && { row }) }))
  })

const NO_TABLE = '00000000-0000-4000-8000-000000000000'
function withClaims(ref: SpecRef, state: State, table: ModelTable | undefined): RowsRef {
  if (!('rows' in ref)) return ref
  const count = ref.rows.rows.length * ref.rows.times
  const claims = (ref.claims ?? []).slice(0, count).map((row) => {
    return row === null ? null : pickRow(state, table, row)
  })
  return { rows: { ...ref.rows, claims } }
}

function pickVersion(version: number, kind: IfMatchPick): IfMatch {
  return {
    none: undefined,
    equal: version,
    low: Math.max(0, version - 1),
    high: version + 1,
    huge: 10n ** 300n,
  }[kind]
}

function versionOfRow(table: ModelTable | undefined, rowId: string): number {
  const row = table && currentOf(table).rows.find(({ id }) => id === rowId)
  return row?.version ?? 1
}

type Beside = Readonly<{
  /** Number of stores. */
  instances: number
  /** Whether nothing else runs during the operation. */
  isAlone: boolean
  keyed: boolean
}>

function jobUseOf(
  { asJob, ref, key }: Readonly<{ asJob: JobUse; ref: SpecRef; key: ModelKey | null }>,
  { instances, isAlone }: Pick<Beside, 'instances' | 'isAlone'>,
): JobUse {
  // A job reads its rows at its start, before its key is looked up: broken rows are refused first.
  if (key !== null && !('stash' in ref)) return 'none'
  return asJob === 'restart' && (instances > 1 || !isAlone) ? 'job' : asJob
}

export function bind(spec: Spec, state: State, { instances, isAlone, keyed }: Beside): Operation {
  const instance = spec.instance % instances
  const table = pick(state.tables, spec.table)
  const target: TableTarget = { instance, tableId: table?.id ?? NO_TABLE }
  switch (spec.kind) {
    case 'create': {
      const unique = pickKey(spec.schema ?? PLAIN, spec.unique, keyed)
      return create(instance, {
        ...spec,
        ref: withClaims(spec.ref, state, table),
        asJob: unique === null ? jobUseOf(spec, { instances, isAlone }) : 'none',
        unique,
      })
    }
    case 'add':
      return addRows(target, { ...spec, ref: withClaims(spec.ref, state, table) })
    case 'overwrite': {
      const ifMatch = pickVersion(table?.version ?? 1, spec.ifMatch)
      const ref = withClaims(spec.ref, state, table)
      const asJob = jobUseOf({ ...spec, key: null }, { instances, isAlone })
      return overwrite(target, { ...spec, ref, ifMatch, asJob })
    }
    case 'put':
      return putChunk(instance, { ...spec, ref: withClaims(spec.ref, state, table) })
    case 'drop':
      return deleteStash(instance, spec.stash)
    case 'update': {
      const rowId = pickRow(state, table, spec.row)
      const ifMatch = pickVersion(versionOfRow(table, rowId), spec.ifMatch)
      return updateRow(target, rowId, { ...spec, ifMatch })
    }
    case 'delete':
      return deleteRow(target, pickRow(state, table, spec.row))
    case 'updateMany':
      return bindUpdates(spec, state, target)
    case 'deleteMany':
      return bindDeletes(spec, state, target, isAlone)
    case 'merge':
      return bindMerge(spec, table, target)
    case 'transaction':
      return transaction(
        instance,
        spec.parts.map((part) => {
          const operation = bind(part, state, { instances, isAlone: false, keyed })
          return { operation, tableId: pick(state.tables, part.table)?.id ?? NO_TABLE }
        }),
      )
    case 'rename': {
      const ifMatch = pickVersion(table?.version ?? 1, spec.ifMatch)
      return renameTable(target, { ...spec, ifMatch })
    }
    case 'alter': {
      const schema = alteredSchema(table && currentOf(table).schema, spec.columns)
      return alterTable(target, { schema, ifMatch: pickVersion(table?.version ?? 1, spec.ifMatch) })
    }
    case 'ensure':
      return ensureTable(instance, { ...spec, key: pickKey(spec.schema, spec.unique, false) })
    case 'deleteTable':
      return deleteTable(target, { ifMatch: pickVersion(table?.version ?? 1, spec.ifMatch) })
    case 'alterKey': {
      const schema = table === undefined ? PLAIN : currentOf(table).schema
      const key = pickKey(schema, spec.columns, keyed)
      return alterKey(target, { key, ifMatch: pickVersion(table?.version ?? 1, spec.ifMatch) })
    }
    case 'getByKey':
      return bindGetByKey(spec, state, target)
    case 'get':
      return getRow(target, pickRow(state, table, spec.row), spec.parsed)
    case 'page':
      return bindPage(spec, state, target)
    case 'badPage':
      return bindBadPage(spec, state, target)
    case 'version':
      return readVersion(target)
    case 'schema':
      return readSchema(target)
    case 'tables':
      return listTables(instance)
    case 'scan':
      return scanAll(target)
    case 'garbageCollection':
      return isAlone ? runMaintain(instance) : runMaintenanceInParts(instance)
  }
}

type OfKind<K extends Kinds> = Extract<Spec, { kind: K }>

/** Existing columns of a schema, in the order of `PLAIN`. */
function pickKey(
  { columns }: ModelSchema,
  picks: KeyPick,
  keyed: boolean,
): readonly string[] | null {
  const wanted = picks ?? (keyed ? [0, 1] : null)
  if (wanted === null || columns.length === 0) return null
  const known = PLAIN.columns.map(({ id }) => id)
  const ids = columns
    .map(({ id }) => id)
    .sort((one, two) => known.indexOf(one) - known.indexOf(two))
  return [...new Set(wanted.map((one) => pick(ids, one) ?? ''))]
}

/** The key of a row of the table, or a key that perhaps no row has. */
function bindGetByKey(
  { row, other, isOther }: OfKind<'getByKey'>,
  state: State,
  target: TableTarget,
): Operation {
  const table = state.tables.find(({ id }) => id === target.tableId)
  const { schema, rows } = table === undefined ? { schema: PLAIN, rows: [] } : currentOf(table)
  const key = table?.key ?? ['a']
  const rowId = pickRow(state, table, row)
  const live = rows.find(({ id, gone }) => id === rowId && !gone)
  const sent = other.map(([id, { json }]) => [id, json] as const)
  const cells = isOther || live === undefined ? sent : live.cells
  return getByKey(target, keyValues(key, cells, schema))
}

function bindUpdates(
  { updates, onSchemaError }: OfKind<'updateMany'>,
  state: State,
  target: TableTarget,
): Operation {
  const table = state.tables.find(({ id }) => id === target.tableId)
  const byId = new Map(
    updates.map(({ row, cells, ifMatch }) => {
      const rowId = pickRow(state, table, row)
      return [rowId, { rowId, cells, ifMatch: pickVersion(versionOfRow(table, rowId), ifMatch) }]
    }),
  )
  return updateRows(target, [...byId.values()], onSchemaError)
}

function bindDeletes(
  { rows, where }: OfKind<'deleteMany'>,
  state: State,
  target: TableTarget,
  isAlone: boolean,
): Operation {
  const table = state.tables.find(({ id }) => id === target.tableId)
  const all = table === undefined ? [] : rowsAsText(currentOf(table))
  const row = where === null ? undefined : pick(all, where)
  const schema = table && currentOf(table).schema
  // Concurrent operations might change the columns of a condition.
  if (!isAlone || where === null || row === undefined || !schema?.columns.length) {
    return deleteRows(target, { rowIds: rows.map((one) => pickRow(state, table, one)) })
  }
  return deleteRows(target, { where: whereOf(seeded(where), schema, row) })
}

function bindMerge(
  { key, byOwn, from, rows, lack, ...others }: OfKind<'merge'>,
  table: ModelTable | undefined,
  target: TableTarget,
): Operation {
  const generation = table && currentOf(table)
  const columns = generation?.schema.columns.filter(({ type }) => type.kind !== 'array') ?? []
  const own = byOwn ? (table?.key ?? null) : null
  const columnsOfKey = own ?? [pick(columns, key)?.id ?? 'a']
  const ifMatch = pickVersion(table?.version ?? 1, others.ifMatch)
  const given = rowsToMerge(generation, { key: columnsOfKey, from, rows })
  return mergeRows(target, { ...others, ...lack, key: columnsOfKey, rows: given, ifMatch })
}

/** Some of the existing columns, and others that were dropped or never existed. */
function alteredSchema(schema: ModelSchema | undefined, places: readonly number[]): ModelSchema {
  const now = schema?.columns ?? []
  const others = [...PLAIN.columns, ...OTHER.columns].filter(({ id }) => {
    return !now.some((column) => column.id === id)
  })
  const all = [...now, ...others]
  const columns = new Map(
    places.flatMap((place) => {
      const column = all[place % Math.max(1, all.length)]
      return column === undefined ? [] : [[column.id, column] as const]
    }),
  )
  return { columns: [...columns.values()] }
}

function bindPage(
  { walk, limit, parsed }: Extract<Spec, { kind: 'page' }>,
  state: State,
  target: TableTarget,
): Operation {
  const on = walk === null ? undefined : pick(state.walks, walk)
  const how = { limit: limit ?? undefined, parsed }
  if (on === undefined) return readPage(target, null, how)
  return readPage({ ...target, tableId: on.tableId }, on, how)
}

function bindBadPage(
  { fault, limit }: Extract<Spec, { kind: 'badPage' }>,
  state: State,
  target: TableTarget,
): Operation {
  if (fault === 'limit') return readBadPage(target, { limit }, 'REQUEST_VALIDATION_ERROR')
  const foreign = state.walks.find(({ tableId }) => tableId !== target.tableId)
  const continuation = fault === 'foreign' && foreign !== undefined ? foreign.token : 'AAAA'
  return readBadPage(target, { continuation }, 'CONTINUATION_INVALID')
}
