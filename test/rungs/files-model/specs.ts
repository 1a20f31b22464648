// Operations as fast-check draws them: numbers, which are bound to existing things when the operation's turn comes.
import fc from 'fast-check'
import {
  anyCells,
  anyRows,
  bindCells,
  bindRows,
  type CellSpec,
  FileChoices,
  type RowsSpec,
} from './cells.js'
import {
  deleteFile,
  fetchFile,
  type PutFault,
  putFile,
  type SourceKind,
} from './file-operations.js'
import type { Operation } from './operation.js'
import type { ModelTable, Oracle } from './oracle.js'
import {
  addMisfits,
  addRows,
  createTable,
  deleteRow,
  deleteStash,
  moveNames,
  type Origin,
  originOfRows,
  originOfStash,
  overwrite,
  putChunk,
  turnRows,
  updateRow,
} from './row-operations.js'
import { complete, createUpload, type ReceiveFault, receive } from './upload-operations.js'

type RowsFrom = Readonly<{ rows: RowsSpec } | { stash: string }>

export type Spec =
  | Readonly<{ kind: 'put'; fault: PutFault }>
  | Readonly<{ kind: 'fetch'; source: SourceKind }>
  | Readonly<{ kind: 'deleteFile'; at: number }>
  | Readonly<{ kind: 'createUpload'; hasLength: boolean; app: string | null }>
  | Readonly<{ kind: 'receive'; at: number; fault: ReceiveFault }>
  | Readonly<{ kind: 'complete'; at: number; isWrongApp: boolean }>
  | Readonly<{ kind: 'create'; from: RowsFrom }>
  | Readonly<{ kind: 'add'; table: number; from: RowsFrom }>
  | Readonly<{ kind: 'overwrite'; table: number; from: RowsFrom }>
  | Readonly<{ kind: 'turn'; table: number }>
  | Readonly<{ kind: 'misfits'; table: number; cells: CellSpec }>
  | Readonly<{ kind: 'update'; table: number; row: number; cells: CellSpec; isText: boolean }>
  | Readonly<{ kind: 'move'; table: number; row: number; to: number }>
  | Readonly<{ kind: 'deleteRow'; table: number; row: number }>
  | Readonly<{ kind: 'chunk'; stash: string; serial: string; rows: RowsSpec }>
  | Readonly<{ kind: 'deleteStash'; stash: string }>

export const TABLES_MAX = 3
const ROWS_MAX = 24

const anyIndex = fc.nat({ max: 5 })
const anyRecent = fc.constantFrom(0, 0, 0, 1, 2, 3)
const anyStash = fc.constantFrom('a', 'b')
const anySerial = fc.constantFrom('0', '1', '2')

const anyOrigin: fc.Arbitrary<RowsFrom> = fc.oneof(
  anyRows.map((rows) => ({ rows })),
  anyStash.map((stash) => ({ stash })),
)

function mostly<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(usual) },
    { weight: 3, arbitrary: fc.constantFrom(usual, ...others) },
  )
}

const anyFileSpec: { weight: number; arbitrary: fc.Arbitrary<Spec> }[] = [
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put'),
      fault: mostly<PutFault>('none', 'length', 'broken', 'large', 'unwelcome'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('fetch'),
      source: mostly<SourceKind>('good', 'blocked', 'broken', 'large'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('deleteFile'), at: anyIndex }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('createUpload'),
      hasLength: fc.boolean(),
      app: fc.constantFrom(null, null, 'app'),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant('receive'),
      at: anyRecent,
      fault: mostly<ReceiveFault>(
        'none',
        'unannounced',
        'short',
        'long',
        'type',
        'broken',
        'tampered',
        'large',
        'unwelcome',
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('complete'),
      at: anyRecent,
      isWrongApp: mostly(false, true),
    }),
  },
]

const anyRowSpec: { weight: number; arbitrary: fc.Arbitrary<Spec> }[] = [
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create'), from: anyOrigin }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('add'), table: anyIndex, from: anyOrigin }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('overwrite'), table: anyIndex, from: anyOrigin }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('turn'), table: anyIndex }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('misfits'), table: anyIndex, cells: anyCells }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('update'),
      table: anyIndex,
      row: anyIndex,
      cells: anyCells,
      isText: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('move'),
      table: anyIndex,
      row: anyIndex,
      to: anyIndex,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('deleteRow'), table: anyIndex, row: anyIndex }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('chunk'),
      stash: anyStash,
      serial: anySerial,
      rows: anyRows,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deleteStash'), stash: anyStash }) },
]

export const anySpec: fc.Arbitrary<Spec> = fc.oneof(...anyFileSpec, ...anyRowSpec)

/** Operations that add names of files, and remove them. */
export const anyNaming: fc.Arbitrary<Spec> = fc.oneof(...anyRowSpec)

/** null: the thing that the operation works on does not exist. */
export function bind(spec: Spec, oracle: Oracle, now: number): Operation | null {
  switch (spec.kind) {
    case 'put':
      return putFile(oracle, spec.fault)
    case 'fetch':
      return fetchFile(oracle, spec.source)
    case 'deleteFile': {
      const id = pick([...oracle.files.keys(), ...oracle.gone.slice(-1)], spec.at)
      return id === undefined ? null : deleteFile(id)
    }
    case 'createUpload':
      return createUpload(oracle, spec)
    case 'receive': {
      const upload = pick(recent(oracle), spec.at)
      return upload === undefined ? null : receive(oracle, upload, spec.fault)
    }
    case 'complete': {
      const upload = pick(recent(oracle), spec.at)
      if (upload === undefined) return null
      return complete(upload, spec.isWrongApp ? 'another' : upload.app)
    }
    case 'chunk': {
      const rows = bindRows(spec.rows, oracle, now)
      return putChunk(oracle, spec.stash, spec.serial, rows)
    }
    case 'deleteStash':
      return deleteStash(oracle, spec.stash)
    default:
      return bindRowSpec(spec, oracle, now)
  }
}

type RowSpec = Exclude<
  Spec,
  {
    kind:
      | 'put'
      | 'fetch'
      | 'deleteFile'
      | 'createUpload'
      | 'receive'
      | 'complete'
      | 'chunk'
      | 'deleteStash'
  }
>

function bindRowSpec(spec: RowSpec, oracle: Oracle, now: number): Operation | null {
  if (spec.kind === 'create') {
    const origin = oracle.tables.length < TABLES_MAX ? originOf(spec.from, oracle, now) : null
    return origin && createTable(oracle, origin)
  }
  const table = pick(oracle.tables, spec.table)
  if (table === undefined) {
    return 'from' in spec ? bindRowSpec({ ...spec, kind: 'create' }, oracle, now) : null
  }
  if (spec.kind === 'turn') return turnRows(table)
  if (spec.kind === 'misfits') return addMisfits(table, spec.cells, oracle, now)
  if (spec.kind === 'add' || spec.kind === 'overwrite') {
    const origin = originOf(spec.from, oracle, now)
    if (origin === null) return null
    if (spec.kind === 'overwrite') return overwrite(table, origin)
    return table.rows.length + origin.rows.length > ROWS_MAX ? null : addRows(table, origin)
  }
  return bindRowChange(spec, table, oracle, now)
}

function bindRowChange(
  spec: Extract<RowSpec, { row: number }>,
  table: ModelTable,
  oracle: Oracle,
  now: number,
): Operation | null {
  const count = table.rows.length
  if (count === 0) return null
  const row = spec.row % count
  if (spec.kind === 'deleteRow') return deleteRow(table, row)
  if (spec.kind === 'update') {
    const cells = bindCells(spec.cells, 0, new FileChoices(oracle, now))
    return updateRow(table, row, cells, spec.isText)
  }
  const to = spec.to % count
  return to === row ? null : moveNames(table, row, to)
}

function originOf(from: RowsFrom, oracle: Oracle, now: number): Origin | null {
  if ('rows' in from) return originOfRows(from.rows, oracle, now)
  const stash = oracle.stashes.get(from.stash)
  if (stash === undefined || !oracle.isSureStash(stash)) return null
  return originOfStash(from.stash, stash)
}

/** How many of the newest uploads are used. */
const UPLOADS_USED = 4

/** The newest first. */
function recent({ uploads }: Oracle): Oracle['uploads'] {
  return uploads
    .slice(-UPLOADS_USED)
    .reverse()
    .filter(({ target }) => target !== null)
}

function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[at % Math.max(1, list.length)]
}
