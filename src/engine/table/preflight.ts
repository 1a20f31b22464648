// Checks the request of a create, an add or an overwrite without a change: nothing is put, and no commit is made.
// Segments of a body are built, as that is how rows are read, then looked at and dropped.
import { type Deferred, deferred, isDataError } from '../../base/data-error.js'
import { TimeSlices } from '../../base/time-slices.js'
import { decodeFooter, decodeFrame, footerRange } from '../../format/segment-reader.js'
import type { Column, TableSchema } from '../../schema/column-kind.js'
import { isColumnId } from '../../schema/table-schema.js'
import type { PreflightReport, TablePreflightReport } from '../api/preflight-types.js'
import type { OnSchemaError, RowsInput, Stash } from '../api/row-types.js'
import { toPublicVersion } from '../context/public-versions.js'
import { type IndexedSchema, indexSchema } from '../context/schema-cache.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import {
  ChunkProblems,
  PROBLEMS_MAX,
  type ProblemRules,
  type RowTexts,
} from '../ingest/find-problems.js'
import { prepareRows } from '../ingest/prepare-rows.js'
import { type Problems, problemsOfRows, rulesOf } from '../ingest/problems-of-rows.js'
import { type OperationRows, RowsReader } from '../ingest/rows-reader.js'
import { policyOf } from '../ingest/schema-of-rows.js'
import type { FinishedSegment, SegmentTarget } from '../ingest/segment-sink.js'
import { TeamStash } from '../ingest/stash.js'
import { readHead } from '../read/generations.js'
import { checkIfMatch } from './if-match.js'

type GivenRows = RowsInput | Stash

/** @param schema - undefined: it is inferred from the rows. */
export async function preflightCreate(
  team: TeamContext,
  rows: GivenRows,
  schema: TableSchema | undefined,
  onSchemaError: OnSchemaError,
): Promise<PreflightReport> {
  const reader = new RowsReader(team, 'preflight', rows)
  const base = schema === undefined ? null : indexSchema(schema)
  const body = await readBody(team, rows, base, onSchemaError)
  const source = body?.source ?? (await team.partition.read((view) => reader.read(view)))
  return report(team, source, body, base, onSchemaError)
}

type TableRequest = Readonly<{
  rows: GivenRows
  ifMatch: number | bigint | undefined
  /** undefined: the table keeps its schema. */
  readSchema: (() => TableSchema) | undefined
  onSchemaError: OnSchemaError
}>

/** Its errors come in the order of those of an overwrite. */
export async function preflightTable(
  place: TablePlace,
  { rows, ifMatch, readSchema, onSchemaError }: TableRequest,
): Promise<TablePreflightReport> {
  const { team, table, tableId } = place
  const { head, current } = await team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    const { schemaNumber } = head.generation
    return { head, current: await team.schemas.get(table, schemaNumber, (key) => view.get(key)) }
  })
  const { version } = toPublicVersion(team, head)
  const check = (): void => checkIfMatch('table', ifMatch, version)
  const schema = readSchema && deferred(readSchema)
  const reader = new RowsReader(team, 'preflight', rows)
  const base = schemaOr(current, schema)
  const body = await readBody(team, rows, base, onSchemaError).catch((failure: unknown) => {
    if (isDataError(failure)) check()
    throw failure
  })
  if (schema !== undefined) checkSchema(schema, check)
  const source = body?.source ?? (await team.partition.read((view) => reader.read(view)))
  check()
  return { ...(await report(team, source, body, base, onSchemaError)), version }
}

/** The given schema; the current one if it has an error, which is reported after those of the rows. */
function schemaOr(
  current: IndexedSchema,
  schema: Deferred<TableSchema> | undefined,
): IndexedSchema {
  if (schema === undefined) return current
  try {
    return indexSchema(schema())
  } catch (failure) {
    if (isDataError(failure)) return current
    throw failure
  }
}

function checkSchema(schema: Deferred<TableSchema>, checkVersion: () => void): void {
  try {
    schema()
  } catch (failure) {
    checkVersion()
    throw failure
  }
}

/** Rows that are not in a stash, after they were read. */
type CheckedBody = Readonly<{ source: OperationRows; found: Problems }>

/** null: the rows are in a stash. */
async function readBody(
  team: TeamContext,
  rows: GivenRows,
  base: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): Promise<CheckedBody | null> {
  if (rows instanceof TeamStash) return null
  const slices = new TimeSlices(team.options.clock)
  const rules = rulesBeforeRows(team, base, onSchemaError)
  let problems = new ChunkProblems(rules, slices)
  const target: SegmentTarget = {
    begin: () => {
      problems = new ChunkProblems(rules, slices)
    },
    async take(segment) {
      await problems.addSegment(segment.ref, segment.columns, () => textsOf(segment))
      return segment.ref
    },
  }
  const compression = { short: 'none', other: 'none' } as const
  const plain = { ...team, options: { ...team.options, compression } }
  const { chunk } = await prepareRows(plain, rows as RowsInput, false, target)
  team.ids.release(chunk.segments.map(({ object }) => object))
  const source = { chunks: [{ chunk }], inline: null, check: null }
  return { source, found: problems.end(chunk) }
}

/**
 * The rules before the schema is inferred: which values fit no type, and which texts are no column IDs, does not depend
 * on the types.
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

async function* textsOf({ ref, bytes }: FinishedSegment): RowTexts {
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
  base: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): Promise<PreflightReport> {
  const policy = policyOf(team, source, base, onSchemaError)
  const slices = new TimeSlices(team.options.clock)
  const found = body?.found ?? (await problemsOfRows(team, source, rulesOf(policy), slices))
  const rows = source.chunks.reduce((sum, { chunk }) => sum + chunk.rowCount, 0)
  const { schema } = policy.schema
  const problems = found.problems.slice(0, PROBLEMS_MAX)
  return { rows, schema, problems, problemCount: found.count }
}
