// The rows of an operation, from a body or a stash, made linkable: they are checked against a policy in O(chunks),
// misfits are reported, and chunks that need another form are rewritten.

import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { shiftPlace } from '../../base/data-error.js'
import { invariant } from '../../base/invariant.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { ITEM_WORK } from '../../base/time-slices.js'
import type { ChunkColumn, StoredChunk } from '../../format/chunk-records.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import { stashHeadKey } from '../../format/keys.js'
import type { ColumnKinds } from '../../intake/conversions.js'
import type { KvCheck, KvView } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { newMarkedFiles } from '../commit/file-markers.js'
import { versionBase } from '../context/public-versions.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import type { OnSchemaError, RowsInput, Stash, TextRows } from '../types/row-types.js'
import { abortableRows } from './abortable-rows.js'
import type { RowBatch } from './chunk-builder.js'
import { withoutDialect } from './dialect-rows.js'
import { prepareRows } from './prepare-rows.js'
import { planRowPolicy } from './schema-of-rows.js'
import { SEGMENTS_MAX, tooManySegments } from './segment-sink.js'
import { lineOfRow, linesOf, type SourceLines } from './source-lines.js'
import { readSource, SourceRows, sharedColumns } from './source-rows.js'
import { TeamStash, tooManyChunks } from './stash.js'
import { readStash, type SerialChunk } from './stash-records.js'
import {
  areRefused,
  batchToStoredForm,
  chunkToStoredForm,
  decideColumns,
  findMisfit,
  type RowPolicy,
  rowsOfChunk,
  type Verdict,
} from './stored-form.js'
import { chunksOf, findRowStream } from './stream-rows.js'

/** The kinds of the columns of a schema; undefined: the kinds are inferred from the rows. */
export function knownColumnKinds(
  schema: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): ColumnKinds | undefined {
  if (schema === null) return undefined
  const kinds = new Map(schema.schema.columns.map(({ id, type }) => [id, type.kind]))
  return { kinds, areFixed: onSchemaError !== 'updateSchema' }
}

/** The work of a chunk besides its rows: its records, an object to read, a hash. */
export const CHUNK_WORK = 4 * 1024

/** Rows as they were given, not yet judged. */
export type OperationRows = Readonly<{
  chunks: readonly Readonly<{ serial?: string; chunk: SerialChunk['chunk'] }>[]
  inline: RowBatch | null
  /** A check that passes while the stash has the same chunks. null: the rows are not in a stash. */
  check: KvCheck | null
}>

/** The rows of an operation: from a caller, or from a source that the store reads itself. */
export type GivenRows = RowsInput | Stash | SourceRows

/** What the rows of an operation must fit. */
export type ExpectedRows = Readonly<{
  /** null: the schema is inferred from the rows. */
  readSchema: () => Awaitable<IndexedSchema | null>
  onSchemaError: OnSchemaError
}>

/** The rows of an operation. A body is read once. A stash is read again for each attempt. */
export class RowsReader {
  readonly #team: TeamContext
  readonly #what: string
  readonly #signal: AbortSignal | undefined
  readonly #stash: TeamStash | null
  readonly #expected: ExpectedRows | undefined
  #schema: IndexedSchema | null | undefined
  #prepared: OperationRows | null = null
  readonly #objects: ObjectId[] = []
  /** Files that the operation's own segments name. Those of a stash were marked when they were put. */
  readonly #files = newMarkedFiles()
  /** The lines of rows that were rewritten. */
  #lines: SourceLines | undefined

  /**
   * @param what - The name of the operation, for the message when its caller aborts it.
   * @param rows - A stash must be of the same team.
   * @param expected - What the rows must fit. The reading of an iterable or a stream then ends after a misfit. Default:
   *   all rows are read.
   */
  constructor(
    team: TeamContext,
    what: string,
    rows: GivenRows,
    signal?: AbortSignal,
    expected?: ExpectedRows,
  ) {
    this.#expected = expected
    this.#team = team
    this.#what = what
    this.#signal = signal
    this.#stash = rows instanceof TeamStash ? rows : null
    if (this.#stash !== null && !this.#stash.belongsTo(team)) {
      throw new StoreError('REQUEST_VALIDATION_ERROR', 'The stash belongs to another team or store')
    }
  }

  /** @throws {StoreError} ABORTED */
  checkGoesOn(): void {
    checkNotAborted(this.#what, this.#signal)
  }

  /** Reads a body; does nothing for a stash. */
  async prepare(given: GivenRows): Promise<void> {
    if (this.#stash !== null) return
    if (given instanceof SourceRows) return this.#prepareSource(given)
    const plain = withoutDialect(this.#team, given as RowsInput, this.#kindsOf)
    const rows = abortableRows(this.#what, plain, this.#signal)
    const stream = findRowStream(rows)
    if (stream !== null) {
      const pieces = this.#team.lifecycle.whileOpen(stream.pieces)
      return this.#prepareSource(new SourceRows({ ...stream, pieces, lines: linesOf(plain) }))
    }
    const chunks = chunksOf(rows)
    if (chunks !== null) return this.#prepareChunks(chunks)
    const { chunk, inline, files, isCut } = await prepareRows(this.#team, rows, {
      mayInline: true,
      drops: this.#expected?.onSchemaError === 'dropColumns',
      areRefused: this.#expected && this.#areRefused,
    })
    this.#files.addAll(files)
    for (const { object } of chunk.segments) this.#objects.push(object)
    this.#prepared = { chunks: [{ chunk }], inline, check: null }
    if (isCut) await this.#refuse(this.#prepared)
  }

  /** The kinds of the known columns. */
  #kindsOf = async (): Promise<ColumnKinds | undefined> => {
    if (this.#expected === undefined) return undefined
    return knownColumnKinds(await this.#schemaOf(this.#expected), this.#expected.onSchemaError)
  }

  async #schemaOf({ readSchema }: ExpectedRows): Promise<IndexedSchema | null> {
    if (this.#schema === undefined) this.#schema = await readSchema()
    return this.#schema
  }

  #areRefused = async (columns: StoredChunk['columns']): Promise<boolean> => {
    if (this.#expected === undefined) return false
    const schema = await this.#schemaOf(this.#expected)
    return areRefused(this.#team, columns, schema, this.#expected.onSchemaError)
  }

  /** Refuses rows whose reading ended early: they must not be linked. @throws the error of the first misfit */
  async #refuse(read: OperationRows): Promise<never> {
    const onSchemaError = this.#expected?.onSchemaError ?? 'abort'
    const policy = await planRowPolicy(this.#team, read, this.#schema ?? null, onSchemaError)
    await this.toStoredForm(read, policy)
    invariant(false, 'rows that are refused have a misfit')
  }

  async #prepareSource(rows: SourceRows): Promise<void> {
    this.#lines = rows.lines
    const chunks: { chunk: SerialChunk['chunk'] }[] = []
    let isCut = false
    await readSource(this.#team, rows, async (chunk, files) => {
      chunks.push({ chunk })
      isCut = await this.#take(chunk, files)
      return !isCut
    })
    await this.#end(chunks, isCut)
  }

  async #prepareChunks(texts: AsyncIterable<TextRows>): Promise<void> {
    const chunks: { serial: string; chunk: SerialChunk['chunk'] }[] = []
    let isCut = false
    for await (const text of this.#team.lifecycle.whileOpen(texts)) {
      const { chunk, files } = await prepareRows(this.#team, text)
      const columns = sharedColumns(chunks.at(-1)?.chunk.columns, chunk)
      chunks.push({ serial: String(chunks.length), chunk: { ...chunk, columns } })
      isCut = await this.#take(chunk, files)
      if (isCut) break
    }
    await this.#end(chunks, isCut)
  }

  /** @returns whether the rows are refused, so that no more are read */
  #take({ segments, columns }: StoredChunk, files: FileIds): Promise<boolean> {
    this.#files.addAll(files)
    for (const { object } of segments) this.#objects.push(object)
    this.checkGoesOn() // The check comes after the objects of the chunk are noted, so that they are released.
    if (this.#objects.length > SEGMENTS_MAX) throw tooManySegments()
    return this.#areRefused(columns)
  }

  async #end(chunks: OperationRows['chunks'], isCut: boolean): Promise<void> {
    this.#prepared = { chunks, inline: null, check: null }
    if (isCut) await this.#refuse(this.#prepared)
  }

  /** The rows of a body that was read; null: they are in a stash. */
  get bodyRows(): OperationRows | null {
    return this.#prepared
  }

  /** The line of a row of a body. */
  lineOf(row: number): number | undefined {
    return lineOfRow(this.#lines, this.#prepared?.chunks ?? [], row)
  }

  /** The rows in this view. @throws {StoreError} STASH_NOT_FOUND, REQUEST_VALIDATION_ERROR */
  read(view: KvView): Awaitable<OperationRows> {
    return this.#prepared ?? this.#readStash(view)
  }

  async #readStash(view: KvView): Promise<OperationRows> {
    const stashId = this.#stash?.id ?? ''
    const { options } = this.#team
    const { chunks, check } = await readStash(
      view,
      stashId,
      versionBase(this.#team),
      this.#stash?.staged,
    )
    const { stashChunksMax } = options
    if (chunks.length > stashChunksMax) throw tooManyChunks(stashId, stashChunksMax)
    const isWhole = this.#stash?.isWhole() === true
    return {
      chunks: isWhole ? chunks.map(({ chunk }) => ({ chunk })) : chunks,
      inline: null,
      check,
    }
  }

  /** Makes rows linkable. The objects that this writes are pending until `released`. */
  async toStoredForm(source: OperationRows, policy: RowPolicy): Promise<LinkableRows> {
    if (source.inline !== null) return inlineToStoredForm(this.#team, source, source.inline, policy)
    const segments: LinkableSegment[] = []
    const slices = this.#team.slices.begin()
    for (const { chunk, verdict } of await this.#decideAll(source, policy)) {
      this.checkGoesOn()
      if (slices.spend(CHUNK_WORK)) await slices.pause()
      const linked = verdict === 'rewrite' ? await this.#rewrite(chunk, policy) : chunk
      const form = { needsQuoting: verdict === 'convert', namesFiles: linked.namesFiles }
      for (const ref of linked.segments) segments.push({ ref, ...form })
    }
    return { segments, files: this.#files }
  }

  /** Judges all chunks before any is rewritten. @throws the error of the first misfit */
  async #decideAll(
    source: OperationRows,
    policy: RowPolicy,
  ): Promise<{ chunk: SerialChunk['chunk']; verdict: Verdict }[]> {
    const verdicts: { chunk: SerialChunk['chunk']; verdict: Verdict }[] = []
    let judged: { columns: readonly ChunkColumn[]; verdict: Verdict } | undefined
    const slices = this.#team.slices.begin()
    let rows = 0 // Rows of the previous chunks. Chunks without a serial are parts of one input.
    for (const { chunk, serial } of source.chunks) {
      const { columns } = chunk
      if (judged?.columns !== columns) {
        judged = { columns, verdict: decideColumns(policy, columns) }
        if (slices.spend(ITEM_WORK * columns.length)) await slices.pause()
      }
      const { verdict } = judged
      if (verdict === 'misfit') {
        const searched = rowsOfChunk(this.#team, chunk)
        const misfit = await findMisfit(this.#team, policy, chunk, searched, serial)
        if (serial !== undefined) throw misfit
        const placed = shiftPlace(misfit, { rows, lines: 0 })
        throw this.#lines?.located(placed) ?? placed
      }
      rows += chunk.rowCount
      verdicts.push({ chunk, verdict })
    }
    return verdicts
  }

  async #rewrite(chunk: SerialChunk['chunk'], policy: RowPolicy): Promise<SerialChunk['chunk']> {
    const conformed = await chunkToStoredForm(this.#team, chunk, policy)
    for (const { object } of conformed.chunk.segments) this.#objects.push(object)
    this.#files.addAll(conformed.files)
    return conformed.chunk
  }

  /** Adds an object to the objects of the operation, which are pending until `released`. */
  add(written: Readonly<{ object: ObjectId }> | null | undefined): void {
    if (written) this.#objects.push(written.object)
  }

  /** The new objects of the operation so far. */
  get objects(): readonly ObjectId[] {
    return this.#objects
  }

  /** Ends the operation. A commit names its objects, or garbage collection deletes them. */
  released<T>(result: T): T {
    this.#team.ids.release(this.#objects)
    return result
  }

  /** Ends the operation after a failure. */
  releaseAfter(failure: unknown): void {
    this.#team.ids.releaseAfter(failure, this.#objects)
  }
}

/** The keys of the records that `RowsReader.read` and `sourceHolds` read, besides the chunks of a stash. */
export function recordsOfSource(rows: GivenRows): readonly Bytes[] {
  return rows instanceof TeamStash ? [stashHeadKey(rows.id)] : []
}

/** Whether a plan may still link the rows that were read: they are not in a stash, or their stash has not changed. */
export function sourceHolds(
  { check }: OperationRows,
  read: (key: Bytes) => Awaitable<Bytes | null>,
): Awaitable<boolean> {
  if (check === null) return true
  return chain(read(check.key), (now) => {
    return now !== null && check.equals !== null && sameBytes(now, check.equals)
  })
}

async function inlineToStoredForm(
  context: StoreContext,
  source: OperationRows,
  batch: RowBatch,
  policy: RowPolicy,
): Promise<LinkableRows> {
  const chunk = source.chunks[0]?.chunk
  if (chunk === undefined || decideColumns(policy, chunk.columns) !== 'misfit') {
    return { texts: await batchToStoredForm(context, batch, policy) }
  }
  async function* rows(): AsyncGenerator<RowBatch> {
    yield batch
  }
  throw await findMisfit(context, policy, chunk, rows(), undefined)
}

/** Rows that fit their schema and only have to be linked. */
export type LinkableRows =
  | Readonly<{
      segments: readonly LinkableSegment[]
      /** Files that the operation's own segments name. */
      files: FileIds
    }>
  | Readonly<{ texts: readonly string[] }>

/** `needsQuoting`: some stored numbers or booleans must be served as text. */
export type LinkableSegment = Readonly<{
  ref: SegmentRef
  needsQuoting: boolean
  namesFiles: boolean
}>
