// Checks an import into a directory: the library reads the rows and compares them with the table. Nothing is stored,
// except the rows of a merge while its effects are counted.
import {
  ClientError,
  type ImportCheck,
  type ImportTarget,
  type RowChunk,
  type SendOptions,
} from '../../../src/client/client.js'
import { isStoreError, type PreflightReport, type Team, type TextRows } from '../../../src/index.js'

/** The chunks of an import, twice. */
export type ChunksTwice = Readonly<{
  chunks: AsyncIterable<RowChunk>
  readAgain: () => AsyncIterable<RowChunk>
}>

type CheckOptions = Pick<SendOptions, 'onSchemaError' | 'signal' | 'onProgress'>

/**
 * Does what `Client.checkRows` does.
 * @throws {ClientError} if rows cannot be read or compared. Other errors of the library are thrown unchanged.
 */
export async function checkInStore(
  team: Team,
  { chunks, readAgain }: ChunksTwice,
  target: ImportTarget,
  { onSchemaError, signal, onProgress }: CheckOptions,
): Promise<ImportCheck> {
  const texts = new ChunkTexts()
  const options = { onSchemaError, signal }
  try {
    const read = texts.of(chunks, onProgress)
    const {
      rows: count,
      schema,
      problemCount,
      ...found
    } = await preflight(team, target, read, options)
    const problems = found.problems.map(({ serial, ...problem }) => {
      return {
        ...problem,
        ...(serial !== undefined && { place: { chunk: Number(serial), row: 0 } }),
      }
    })
    const check = { rows: count, schema, problemCount, problems }
    if (target.mode !== 'merge' || problemCount > 0) return check
    const { tableId, key, missing, unnamed } = target
    const rows = { chunks: texts.of(readAgain()) }
    const merge = { rows, key, missing, unnamed, dryRun: true, ...options }
    const counts = await team.table(tableId).merge(merge)
    const { added, changed, unchanged, removed } = counts
    return { ...check, merged: { added, changed, unchanged, removed } }
  } catch (failure) {
    throw texts.placed(failure)
  }
}

function preflight(
  team: Team,
  target: ImportTarget,
  chunks: AsyncIterable<TextRows>,
  options: Pick<CheckOptions, 'onSchemaError' | 'signal'>,
): Promise<PreflightReport> {
  const request = { rows: { chunks }, ...options }
  if (target.name !== undefined) {
    const { name, schema } = target
    return team.preflight({ name, schema, ...request })
  }
  const table = team.table(target.tableId)
  if (target.mode === 'add') return table.preflight({ ...request, operation: 'add' })
  return table.preflight({ ...request, schema: target.schema })
}

/** Codes of failures that concern rows. */
export const OF_ROWS = /^(?:REQUEST_VALIDATION_ERROR|KEY_NOT_UNIQUE|COLUMN_\w+)$/

/** The place of a row in a message. If the message names no chunk, the row is in the current chunk. */
const ROW = /\brow \d{1,15} \(counted from 0\)(?! of the input)(?: of chunk '(\d{1,15})')?/gi

/** Chunks as texts for the library, with the number of the chunk that it reads. */
class ChunkTexts {
  #reading: number | undefined

  async *of(
    chunks: AsyncIterable<RowChunk>,
    onProgress?: CheckOptions['onProgress'],
  ): AsyncGenerator<TextRows, void> {
    let [number, rows, bytes] = [0, 0, 0]
    for await (const chunk of chunks) {
      this.#reading = number++
      yield textRowsOfChunk(chunk)
      rows += chunk.rows
      bytes += chunk.bytes
      onProgress?.({ rows, bytes, chunks: number })
    }
    this.#reading = undefined
  }

  /** A failure of the library, with the chunks of its rows as a client reports them. */
  placed(failure: unknown): unknown {
    if (!isStoreError(failure) || !OF_ROWS.test(failure.code)) return failure
    const named = [...failure.message.matchAll(ROW)].map(([, chunk]) => chunk)
    const numbers = (named.length > 0 ? named : [undefined]).map((chunk) => {
      return chunk === undefined ? this.#reading : Number(chunk)
    })
    const places = numbers.flatMap((chunk) => (chunk === undefined ? [] : [{ chunk, row: 0 }]))
    return new ClientError(failure.message, 400, failure.code.toLowerCase(), failure, places)
  }
}

/** A chunk as text for the library. */
export function textRowsOfChunk(chunk: RowChunk): TextRows {
  const body = chunk.body(0, chunk.rows)
  if (chunk.type.startsWith('text/csv')) return { csv: body }
  return chunk.type.startsWith('text/') ? { tsv: body } : { json: body }
}
