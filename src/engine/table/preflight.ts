// Checks the request of a create, an add or an overwrite without a change: nothing is put or committed. The rows of a
// body are built into segments, as in the operation; then the segments are examined and dropped.
import { type Deferred, deferred, isDataError } from '../../base/data-error.js'
import type { StoredChunk } from '../../format/chunk-records.js'
import { decodeFooter, decodeFrame, footerRange } from '../../format/segment-reader.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { Column, TableSchema } from '../../schema/column-kind.js'
import { isColumnId } from '../../schema/table-schema.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { abortableRows } from '../import/abortable-rows.js'
import { withoutDialect } from '../import/dialect-rows.js'
import {
  ChunkProblems,
  PROBLEMS_MAX,
  type ProblemRules,
  type RowTexts,
} from '../import/find-problems.js'
import { prepareRows } from '../import/prepare-rows.js'
import { type Problems, problemsOfRows, rulesOf } from '../import/problems-of-rows.js'
import { knownColumnKinds, type OperationRows, RowsReader } from '../import/rows-reader.js'
import { planRowPolicy } from '../import/schema-of-rows.js'
import type { FinishedSegment, SegmentTarget } from '../import/segment-sink.js'
import { lineOfRow, linesOf, type SourceLines } from '../import/source-lines.js'
import { sharedColumns } from '../import/source-rows.js'
import { TeamStash } from '../import/stash.js'
import { isFromText } from '../import/stored-form.js'
import { chunksOf } from '../import/stream-rows.js'
import { checkSameForm, resolveKeptKeyColumns, resolveKeyColumns } from '../keys/key-columns.js'
import { withLines } from '../keys/key-conflict.js'
import { readKeyIndex } from '../keys/key-index.js'
import { readHead } from '../read/generations.js'
import type {
  PreflightProblem,
  PreflightReport,
  TablePreflightReport,
} from '../types/preflight-types.js'
import type { OnSchemaError, RowsInput, Stash } from '../types/row-types.js'
import { indexedOrNull } from './overwrite-rows.js'
import { BodyKeys, compareKeys } from './preflight-keys.js'

type GivenRows = RowsInput | Stash

type PreflightSettings = Readonly<{
  base: IndexedSchema | null
  onSchemaError: OnSchemaError
  key: ComparedKey | null
  /** Reads the rows, and knows whether the caller has aborted. */
  reader: RowsReader
  signal: AbortSignal | undefined
}>

/** The key to compare rows by. `beside`: the table that the rows would be added to; null: a new or emptied table. */
type ComparedKey = Readonly<{
  ids: readonly string[]
  beside: TablePlace | null
  /** Whether to compare with the keys of the table's rows. */
  compares: boolean
  /** Whether the table already has the key. */
  isKept: boolean
}>

type CreateRequest = Readonly<{
  rows: GivenRows
  /** undefined: the schema is inferred from the rows. */
  schema: TableSchema | undefined
  onSchemaError: OnSchemaError
  /** undefined: the table will have no key. */
  keyColumns: readonly string[] | undefined
  signal: AbortSignal | undefined
}>

export async function preflightCreate(
  team: TeamContext,
  { rows, schema, onSchemaError, keyColumns, signal }: CreateRequest,
): Promise<PreflightReport> {
  const base = schema === undefined ? null : indexSchema(schema)
  const key = keyColumns === undefined ? null : newKey(keyColumns)
  const reader = new RowsReader(team, 'preflight', rows, signal)
  const settings = { base, onSchemaError, key, reader, signal }
  const body = await readCheckedBody(team, rows, settings)
  const source = body?.source ?? (await team.partition.read((view) => reader.read(view)))
  return report(team, source, body, settings)
}

function newKey(ids: readonly string[]): ComparedKey {
  return { ids, beside: null, compares: false, isKept: false }
}

type TableRequest = Readonly<{
  rows: GivenRows
  ifMatch: number | bigint | undefined
  /** undefined: the table keeps its schema. */
  readSchema: (() => TableSchema) | undefined
  onSchemaError: OnSchemaError
  /** Whether the rows would be added to those of the table, or replace them. */
  operation: 'add' | 'overwrite'
  comparesTable: boolean
  signal: AbortSignal | undefined
}>

/** Checks an add or an overwrite. Of several errors, it throws the one that an overwrite would throw. */
export async function preflightTable(
  place: TablePlace,
  { rows, ifMatch, readSchema, onSchemaError, operation, comparesTable, signal }: TableRequest,
): Promise<TablePreflightReport> {
  const { team, table, tableId } = place
  const { head, current, ids } = await team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    const { schemaNumber, keyIndex } = head.generation
    const read: ReadRecord = (key) => view.get(key)
    const index = keyIndex === null ? null : await readKeyIndex(table, keyIndex, read)
    const current = await team.schemas.get(table, schemaNumber, read)
    return { head, current, ids: index?.record.columns ?? null }
  })
  const { version } = toPublicVersion(team, head)
  const check = (): void => checkIfMatch('table', ifMatch, version)
  const schema = readSchema && deferred(readSchema)
  const reader = new RowsReader(team, 'preflight', rows, signal)
  const base = schemaOr(current, schema)
  const beside = operation === 'add' ? place : null
  const key = ids === null ? null : { ids, beside, compares: comparesTable, isKept: true }
  const settings = { base, onSchemaError, key, reader, signal }
  const body = await readCheckedBody(team, rows, settings).catch((failure: unknown) => {
    if (isDataError(failure)) check()
    throw failure
  })
  if (schema !== undefined) checkSchema(schema, check)
  const source = body?.source ?? (await team.partition.read((view) => reader.read(view)))
  check()
  return { ...(await report(team, source, body, settings)), version }
}

/** The given schema; the current one if the given one has an error, which is reported after errors of the rows. */
function schemaOr(
  current: IndexedSchema,
  schema: Deferred<TableSchema> | undefined,
): IndexedSchema {
  return (schema && indexedOrNull(schema)) ?? current
}

function checkSchema(schema: Deferred<TableSchema>, checkVersion: () => void): void {
  try {
    schema()
  } catch (failure) {
    checkVersion()
    throw failure
  }
}

/** The rows of a body after they were read. */
type CheckedBody = Readonly<{
  source: OperationRows
  found: Problems
  keys: BodyKeys | null
  lineOf: (row: number) => number | undefined
}>

/** The rows of the body, read and checked; null: the rows are in a stash. */
async function readCheckedBody(
  team: TeamContext,
  rows: GivenRows,
  { base, onSchemaError, key, reader, signal }: PreflightSettings,
): Promise<CheckedBody | null> {
  reader.checkGoesOn()
  if (rows instanceof TeamStash) return null
  const slices = team.slices.begin()
  const rules = rulesBeforeRows(team, base, onSchemaError)
  const compression = { short: 'none', other: 'none' } as const
  const plain = { ...team, options: { ...team.options, compression } }
  const drops = onSchemaError === 'dropColumns'
  let problems = new ChunkProblems(rules, slices)
  let keys = key && new BodyKeys(key.ids)
  const target: SegmentTarget = {
    begin: () => {
      problems = new ChunkProblems(rules, slices)
      keys = key && new BodyKeys(key.ids)
    },
    async take(segment) {
      reader.checkGoesOn()
      const { ref, columns } = segment
      await problems.addSegment(ref, columns, () => textsOfSegment(segment))
      await keys?.addSegment(textsOfSegment(segment), isFromText(columns), slices)
      return ref
    },
  }
  const said = withoutDialect(team, rows as RowsInput, async () =>
    knownColumnKinds(base, onSchemaError),
  )
  const lines = linesOf(said)
  const given = abortableRows('preflight', said, signal)
  const texts = chunksOf(given)
  const chunks: { serial?: string; chunk: StoredChunk }[] = []
  const listed: PreflightProblem[] = []
  const allKeys = key && new BodyKeys(key.ids)
  let count = 0
  for await (const text of texts ?? [given]) {
    reader.checkGoesOn()
    const { chunk } = await prepareRows(plain, text, { drops, target }).catch(
      (failure: unknown) => {
        throw lines?.located(failure) ?? failure
      },
    )
    team.ids.release(chunk.segments.map(({ object }) => object))
    const columns = sharedColumns(chunks.at(-1)?.chunk.columns, chunk)
    const serial = texts === null ? undefined : String(chunks.length)
    const kept = { ...chunk, columns, segments: [] }
    chunks.push({ ...(serial !== undefined && { serial }), chunk: kept })
    const found = problems.end(chunk, serial)
    count += found.count
    if (listed.length < PROBLEMS_MAX)
      listed.push(...found.problems.map((one) => placedIn(one, lines)))
    if (keys !== null) allKeys?.append(keys)
  }
  const source = { chunks, inline: null, check: null }
  const lineOf = (row: number) => lineOfRow(lines, chunks, row)
  return { source, found: { problems: listed, count }, keys: allKeys, lineOf }
}

/** A problem, with the line of its row in the source. */
function placedIn(problem: PreflightProblem, lines: SourceLines | undefined): PreflightProblem {
  if (lines === undefined) return problem
  const { line: _, ...rest } = problem
  const line = lines.lineOf(problem.row)
  return { ...rest, ...(line !== undefined && { line }) }
}

/**
 * The rules that hold before the schema is inferred. They find the values that fit no type and the texts that are
 * invalid column IDs. Both are independent of the types of the columns.
 */
function rulesBeforeRows(
  { options: { formatChecks } }: TeamContext,
  base: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): ProblemRules {
  const known = (id: string): Column | undefined => base?.columns.get(id)
  const inferred = base === null || onSchemaError === 'updateSchema'
  if (!inferred) return { formatChecks, inferred, columnOf: known }
  const columnOf = (id: string): Column | undefined =>
    known(id) ?? (isColumnId(id) ? { id, type: { kind: 'string' } } : undefined)
  return { formatChecks, inferred, columnOf }
}

async function* textsOfSegment({ ref, bytes }: FinishedSegment): RowTexts {
  const { start, limit } = footerRange(ref)
  for (const place of decodeFooter(ref, bytes.subarray(start, limit)).frames) {
    const frame = await decodeFrame(
      ref,
      place,
      bytes.subarray(place.offset, place.offset + place.bytes),
    )
    yield frame.rowTexts(0, frame.rowCount)
  }
}

async function report(
  team: TeamContext,
  source: OperationRows,
  body: CheckedBody | null,
  { base, onSchemaError, key, reader }: PreflightSettings,
): Promise<PreflightReport> {
  const checkGoesOn = (): void => reader.checkGoesOn()
  const policy = await planRowPolicy(team, source, base, onSchemaError)
  const slices = team.slices.begin()
  const search = { slices, checkGoesOn }
  const found = body?.found ?? (await problemsOfRows(team, source, rulesOf(policy), search))
  const rows = source.chunks.reduce((sum, { chunk }) => sum + chunk.rowCount, 0)
  const { schema } = policy.schema
  const problems = found.problems.slice(0, PROBLEMS_MAX)
  // Keys are compared only then: otherwise the operation would fail with the first problem before it compares keys.
  if (key !== null && (found.count === 0 || policy.drops)) {
    const { ids, beside, compares, isKept } = key
    const columns = (isKept ? resolveKeptKeyColumns : resolveKeyColumns)(ids, policy.schema.columns)
    if (beside !== null && base !== null)
      checkSameForm(resolveKeyColumns(ids, base.columns), columns)
    const input = { columns, source, body: body?.keys ?? null, policy, slices, checkGoesOn }
    await compareKeys(team, input, compares ? beside : null).catch((failure: unknown) => {
      throw withLines(failure, (row) => body?.lineOf(row))
    })
  }
  checkGoesOn()
  return { rows, schema, problems, problemCount: found.count }
}
