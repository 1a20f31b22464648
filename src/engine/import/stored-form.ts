// Checks stored rows against a schema. A chunk is judged by its column summaries alone. It is read only if it has a
// misfit, to name the first one. It is rewritten only if some cells are not stored in the form of their columns.
import { type Awaitable, isSync } from '../../base/awaitable.js'
import { StoreError } from '../../base/store-error.js'
import type { Steps } from '../../base/time-slices.js'
import { NO_ROW, type StoredChunk } from '../../format/chunk-records.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import { convertToken, readSpans, renderKey } from '../../format/row-text.js'
import type { Column, ColumnType } from '../../schema/column-kind.js'
import { type ColumnSummary, SEEN } from '../../schema/column-summary.js'
import { compactToken } from '../../schema/scan-json.js'
import {
  describeMisfit,
  describeRule,
  fitsInSteps,
  needsTextForm,
  newSummary,
  summarizeTokenInSteps,
  summaryFits,
} from '../../schema/summarize.js'
import { isNumberToken } from '../../schema/value-rules.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { newMarkedFiles } from '../commit/file-markers.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import type { OnSchemaError } from '../types/row-types.js'
import type { RowBatch } from './chunk-builder.js'
import { workOfRow } from './columns-of-chunk.js'
import { invalidValue, unknownColumn } from './row-object.js'
import { storeSegment } from './segment-sink.js'

/** The rules for rows. */
export type RowPolicy = Readonly<{
  schema: IndexedSchema
  formatChecks: boolean
  /**
   * Whether the schema was inferred from, or widened for, these rows. Then every value fits, except values that no type
   * holds (objects, numbers beyond a double).
   */
  inferred: boolean
  /** Whether misfits are left out rather than refused. */
  drops: boolean
}>

/** The work that a chunk needs before its segments can be linked. */
export type Verdict = 'link' | 'convert' | 'rewrite' | 'misfit'

/** Judges a chunk, or a batch of rows, by the summaries of its columns. */
export function decideColumns(policy: RowPolicy, columns: StoredChunk['columns']): Verdict {
  let verdict: Verdict = 'link'
  for (const { summary, firstRow } of columns) {
    const type = policy.schema.columns.get(summary.id)?.type
    if (type === undefined ? firstRow !== NO_ROW : !columnFits(policy, type, summary)) {
      if (!policy.drops) return 'misfit'
      verdict = 'rewrite'
    } else if (type !== undefined) {
      if (needsRewrite(type, summary)) verdict = 'rewrite'
      else if (verdict === 'link' && needsTextForm(type, summary)) verdict = 'convert'
    }
  }
  return verdict
}

/**
 * Whether an operation refuses rows with these columns, whatever rows follow them.
 * @param schema - The schema of the table; null: it is inferred from the rows.
 */
export function areRefused(
  { options: { formatChecks } }: StoreContext,
  columns: StoredChunk['columns'],
  schema: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): boolean {
  if (onSchemaError === 'dropColumns') return false
  if (schema === null || onSchemaError === 'updateSchema') {
    return columns.some(({ summary }) => (summary.seen & (SEEN.object | SEEN.misfit)) !== 0)
  }
  const policy = { schema, formatChecks, inferred: false, drops: false }
  return decideColumns(policy, columns) === 'misfit'
}

/** The part of a policy that checks single values. */
export type ValueRules = Pick<RowPolicy, 'formatChecks' | 'inferred'>

/** Whether all values of a column fit it, by their summary. */
export function columnFits(policy: ValueRules, type: ColumnType, summary: ColumnSummary): boolean {
  if (policy.inferred) return (summary.seen & (SEEN.object | SEEN.misfit)) === 0
  return summaryFits(type, summary, policy.formatChecks)
}

/** Whether some cell must be dropped, or stored in another form, before it can be served. */
function needsRewrite(type: ColumnType, summary: ColumnSummary): boolean {
  const { seen } = summary
  const isPlain = type.kind === 'string' || type.kind === 'markdown'
  if (seen & SEEN.emptyText && !isPlain) return true // In columns of all other kinds, `""` is an empty cell.
  // An element that was taken as text stays text, even if the column becomes `string` later.
  if (type.kind === 'array' && needsTextForm(type, summary)) return true
  const storedText = (seen & SEEN.fromText) !== 0 && (seen & SEEN.storedText) !== 0
  return storedText && takesTokens(type)
}

/** Whether CSV text in a column of this type may have to be stored as a token other than a string. */
function takesTokens({ kind }: ColumnType): boolean {
  return kind === 'number' || kind === 'boolean' || kind === 'array' || kind === 'duration'
}

/** The texts of rows in the form of the schema's columns, without misfits. */
function* rowsToStoredForm(
  policy: RowPolicy,
  texts: readonly string[],
  fromText: boolean,
): Steps<readonly string[]> {
  const conformed: string[] = []
  for (const text of texts) {
    conformed.push(yield* rowToStoredForm(policy, text, fromText))
    yield workOfRow(text.length)
  }
  return conformed
}

function* rowToStoredForm(policy: RowPolicy, text: string, fromText: boolean): Steps<string> {
  const cells: string[] = []
  for (const { id, valueStart, end } of readSpans(text)) {
    const token = text.slice(valueStart, end)
    const column = policy.schema.columns.get(id)
    if (column === undefined) continue
    if (policy.drops && !(yield* cellFits(policy, column, token, fromText))) continue
    const stored = toStoredToken(token, column.type, fromText)
    if (stored !== null) cells.push(`${renderKey(id)}:${stored}`)
  }
  return cells.join(',')
}

export function toStoredToken(token: string, type: ColumnType, fromText: boolean): string | null {
  if (token === '""' && type.kind !== 'string' && type.kind !== 'markdown') return null
  if (fromText && token.startsWith('"') && takesTokens(type)) {
    return tokenOfText(fieldOf(token), type)
  }
  return convertToken(token, type)
}

/** The token to store for CSV text in a column that may store tokens other than strings. */
function tokenOfText(text: string, { kind }: ColumnType): string {
  if (kind === 'array') return compactToken(text.trim())
  if (kind === 'boolean') return text.toLowerCase()
  const trimmed = text.trim()
  return isNumberToken(trimmed) ? compactToken(trimmed) : JSON.stringify(text)
}

/** Rewrites a chunk so that its segments can be linked. `files`: the files that its rows name. */
export async function chunkToStoredForm(
  context: TeamContext,
  chunk: StoredChunk,
  policy: RowPolicy,
): Promise<Readonly<{ chunk: StoredChunk; files: FileIds }>> {
  const files = newMarkedFiles()
  const segments: SegmentRef[] = []
  const slices = context.slices.begin()
  try {
    for (const ref of chunk.segments) {
      const { columns } = await context.segments.footer(ref)
      const fromText = isFromText(columns)
      const texts: string[] = []
      for await (const stored of context.segments.rowTexts(ref, 0, ref.rowCount)) {
        for (const text of await slices.run(rowsToStoredForm(policy, stored, fromText)))
          texts.push(text)
      }
      const summaries = await slices.run(summarizeRows(texts, columns))
      const batch = { texts, columns: summaries, claims: [] }
      segments.push(await storeSegment(context, batch, files))
    }
  } catch (failure) {
    context.ids.release(segments.map(({ object }) => object))
    throw failure
  }
  return { chunk: { ...chunk, segments, namesFiles: !files.isEmpty }, files }
}

/** Makes the summaries of rewritten rows: the flags of the old summaries may be wrong for them. */
export function* summarizeRows(
  texts: readonly string[],
  before: readonly ColumnSummary[],
): Steps<ColumnSummary[]> {
  const columns = new Map(before.map(({ id }) => [id, newSummary(id)]))
  for (const text of texts) {
    for (const { id, valueStart, end } of readSpans(text)) {
      const summary = columns.get(id)
      if (summary !== undefined) yield* summarizeTokenInSteps(summary, text.slice(valueStart, end))
    }
    yield workOfRow(text.length)
  }
  return [...columns.values()]
}

/** Like `chunkToStoredForm`, for inline rows, which become row records. */
export function batchToStoredForm(
  { slices }: StoreContext,
  { texts, columns }: RowBatch,
  policy: RowPolicy,
): Awaitable<readonly string[]> {
  return slices.begin().run(rowsToStoredForm(policy, texts, isFromText(columns)))
}

export function isFromText(columns: readonly ColumnSummary[]): boolean {
  return columns.some(({ seen }) => (seen & SEEN.fromText) !== 0)
}

/** The rows to search for a misfit, in order. */
export type SearchedRows = AsyncIterable<
  Readonly<{ columns: readonly ColumnSummary[]; texts: readonly string[] }>
>

export async function* rowsOfChunk(context: StoreContext, chunk: StoredChunk): SearchedRows {
  for (const ref of chunk.segments) {
    const { columns } = await context.segments.footer(ref)
    for await (const texts of context.segments.rowTexts(ref, 0, ref.rowCount))
      yield { columns, texts }
  }
}

/**
 * The error of the first misfit of a chunk, by row, then by column in the order of the row.
 * @param serial - The serial of a chunk of a stash.
 */
export async function findMisfit(
  context: StoreContext,
  policy: RowPolicy,
  chunk: StoredChunk,
  rows: SearchedRows,
  serial: string | undefined,
): Promise<StoreError> {
  const unknown = firstUnknownColumn(policy, chunk)
  const known = policy.schema.columns
  const place = (row: number): { row: number; chunk?: string; line?: number } => ({
    row,
    ...(serial === undefined ? {} : { chunk: serial }),
    ...(chunk.firstLine === 0 ? {} : { line: chunk.firstLine + row }),
  })
  const slices = context.slices.begin()
  let row = 0
  for await (const { columns, texts } of rows) {
    const fromText = isFromText(columns)
    for (const text of texts) {
      const misfit = slices.run(rowMisfit(policy, text, fromText, place(row)))
      const error = isSync(misfit) ? misfit : await misfit
      const ahead = unknown?.firstRow === row ? unknownColumn(unknown.id, known, place(row)) : null
      const first = pickEarlierError(chunk, error, ahead)
      if (first !== null) return first
      row++
      if (slices.spend(workOfRow(text.length))) await slices.pause()
    }
  }
  if (unknown !== null) return unknownColumn(unknown.id, known, place(unknown.firstRow))
  return new StoreError('DATA_CORRUPT', 'The column summary of a chunk does not match its values')
}

/** The error with the earlier column, of two errors of a row. */
function pickEarlierError(
  { columns }: StoredChunk,
  left: StoreError | null,
  right: StoreError | null,
): StoreError | null {
  if (left === null || right === null) return left ?? right
  const ids = columns.map(({ summary }) => summary.id)
  return ids.indexOf(right.column ?? '') < ids.indexOf(left.column ?? '') ? right : left
}

function* rowMisfit(
  policy: RowPolicy,
  text: string,
  fromText: boolean,
  place: { row: number; chunk?: string; line?: number },
): Steps<StoreError | null> {
  for (const { id, valueStart, end } of readSpans(text)) {
    const column = policy.schema.columns.get(id)
    if (column === undefined) return unknownColumn(id, policy.schema.columns, place)
    const token = text.slice(valueStart, end)
    if (!(yield* cellFits(policy, column, token, fromText))) {
      const value = fromText ? fieldOf(token) : token
      const rule = brokenRule(policy, column, token, fromText)
      return invalidValue(id, { ...place, value, rule, isField: fromText })
    }
  }
  return null
}

/** Whether one stored cell fits its column, by the rules of the format that it came in. */
export function* cellFits(
  policy: ValueRules,
  { id, type }: Column,
  token: string,
  fromText: boolean,
): Steps<boolean> {
  if (policy.inferred) {
    const summary = { ...newSummary(id), ...NO_KINDS } // Only values that no type holds are misfits here.
    if (!fromText) yield* summarizeTokenInSteps(summary, token)
    return columnFits(policy, type, summary)
  }
  return yield* fitsInSteps(type, fromText ? fieldOf(token) : token, policy.formatChecks, fromText)
}

const NO_KINDS = { scalarMask: 0, elementMask: 0 }

/** The rule that a misfit breaks. */
export function brokenRule(
  { inferred }: ValueRules,
  { type }: Column,
  token: string,
  fromText: boolean,
): string {
  return inferred ? describeMisfit(token) : describeRule(type, fromText)
}

/** The CSV text that a stored token came from. */
export function fieldOf(token: string): string {
  return token.startsWith('"') ? String(JSON.parse(token)) : token
}

/** The first column that the table lacks. A column with only empty cells is in no row's text, only in the summaries. */
function firstUnknownColumn(
  policy: RowPolicy,
  chunk: StoredChunk,
): { id: string; firstRow: number } | null {
  let first: { id: string; firstRow: number } | null = null
  for (const { summary, firstRow } of chunk.columns) {
    if (policy.schema.columns.has(summary.id) || firstRow === NO_ROW) continue
    if (first === null || firstRow < first.firstRow) first = { id: summary.id, firstRow }
  }
  return first
}
