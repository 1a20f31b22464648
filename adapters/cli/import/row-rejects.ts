// Writes rows that do not fit to a file, each with its reason. The rows that fit are imported. The library judges rows
// as the server does, by the schema that the table has or will have.
//
// Invariants:
// - From the same run, the same rows are removed, so that a row of a chunk can be found again.
// - The file gets its name when it is complete; a failed import leaves no file.
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { isStoreError, openMemory, type Store, type TableSchema } from '../../../src/index.js'
import { STORE_LIMITS } from '../../../src/internal.js'
import { findFields, REJECT_COLUMNS } from '../../base/intake.js'
import { isJson } from '../../base/records.js'
import { temporaryPath } from '../../directory/leftovers.js'
import { ProgramFailure } from '../command/program-failure.js'
import { OF_ROWS, textRowsOfChunk } from './check-in-store.js'
import { problemText } from './import-misfits.js'
import { messageWithoutPlace } from './import-places.js'
import { chunkOf, delimiterOfRun, type RowRun, textOfRecord, withRecords } from './import-source.js'

/** Why a row does not fit. `column`: the column of the first problem; empty if it concerns the whole row. */
type Reason = Readonly<{ column: string; problem: string }>

/** The reasons for the rejected records of a run, by the index of the record in the run. */
type Reasons = Map<number, Reason>

export type RejectsOptions = Readonly<{
  path: string
  /** The schema of the table. undefined: the schema is inferred, so nearly all values fit. */
  schema: TableSchema | undefined
  /** Whether lines with fewer fields than the header are rejected. */
  refusesShortLines: boolean
}>

export class RowRejects {
  count = 0
  readonly path: string
  readonly #options: RejectsOptions
  readonly #store: Store
  readonly #temporary: string
  readonly #file: FileHandle
  readonly #bounds: number[] = []
  #header: string | undefined

  /** @throws {ProgramFailure} if the file cannot be made */
  static async open(options: RejectsOptions): Promise<RowRejects> {
    const { path } = options
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() === false) {
      throw new ProgramFailure('failed', `${path} is not a file (--rejects)`)
    }
    const temporary = temporaryPath(path)
    const file = await open(temporary, 'wx').catch((failure: Error) => {
      throw new ProgramFailure('failed', `The file ${path} cannot be written: ${failure.message}`)
    })
    const store = await openMemory({ columnsMax: STORE_LIMITS.columnsMax.max, maintenance: false })
    return new RowRejects(options, store, temporary, file)
  }

  private constructor(options: RejectsOptions, store: Store, temporary: string, file: FileHandle) {
    this.path = options.path
    this.#options = options
    this.#store = store
    this.#temporary = temporary
    this.#file = file
  }

  get refusesShortLines(): boolean {
    return this.#options.refusesShortLines
  }

  /** The rows of a run that fit. Writes the rows that do not fit to the file. */
  async take(run: RowRun): Promise<RowRun> {
    const reasons = await this.#judge(run)
    for (const record of [...reasons.keys()].sort((left, right) => left - right)) {
      await this.#write(run, record, reasons.get(record))
    }
    return fittingOf(run, reasons)
  }

  /** The rows of a run that fit, without writing: the rows that do not fit were written by `take`. */
  async again(run: RowRun): Promise<RowRun> {
    return fittingOf(run, await this.#judge(run))
  }

  /** Gives the file its name. */
  async finish(): Promise<void> {
    await this.#file.sync()
    await this.#file.close()
    await rename(this.#temporary, this.path)
  }

  /** Removes an unfinished file. */
  async close(): Promise<void> {
    await this.#store.close()
    await this.#file.close()
    await rm(this.#temporary, { force: true })
  }

  async #judge(run: RowRun): Promise<Reasons> {
    const reasons = this.#countFields(run)
    const parts = [[...run.starts.keys()].filter((record) => !reasons.has(record))]
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (part.length > 0) parts.push(...(await this.#judgePart(run, part, reasons)))
    }
    return reasons
  }

  /** @returns the parts that remain to be judged, with fewer records than the given part */
  async #judgePart(run: RowRun, part: readonly number[], reasons: Reasons): Promise<number[][]> {
    const rows = textRowsOfChunk(chunkOf(withRecords(run, part)))
    const { schema } = this.#options
    try {
      const report = await this.#store.team('rejects').preflight({ name: 'rows', schema, rows })
      const { problems, problemCount } = report
      for (const { row, column, ...problem } of problems) {
        const isUnknown = problem.value === undefined
        // A column that the table lacks is reported once. In JSON all records that name it are rejected, in CSV none.
        const refused = !isUnknown ? part.slice(row, row + 1) : recordsNaming(run, part, column)
        const text = problemText({ column, ...problem })
        for (const record of refused) {
          const found = reasons.get(record)
          const first = found === undefined ? '' : `${found.problem}; `
          reasons.set(record, { column: found?.column ?? column, problem: first + text })
        }
      }
      const last = problems.at(-1)?.row
      return problemCount > problems.length && last !== undefined ? [part.slice(last + 1)] : []
    } catch (failure) {
      if (!isStoreError(failure) || !OF_ROWS.test(failure.code)) throw failure
      const { row } = failure
      const record = row === undefined ? undefined : part[row]
      if (row === undefined || record === undefined) return [] // The server rejects it, and says why.
      reasons.set(record, { column: '', problem: messageWithoutPlace(failure.message) })
      return [part.slice(0, row), part.slice(row + 1)]
    }
  }

  /** Records of csv and tsv with too many fields. Records with too few are included if `refusesShortLines` is set. */
  #countFields(run: RowRun): Reasons {
    const reasons: Reasons = new Map()
    if (isJson(run.format)) return reasons
    const { header, bytes, starts, ends } = run
    const delimiter = delimiterOfRun(run)
    const columns = findFields(header, 0, header.length, delimiter, this.#bounds)
    for (const [record, start] of starts.entries()) {
      const fields = findFields(bytes, start, ends[record] ?? 0, delimiter, this.#bounds)
      const isShort = this.#options.refusesShortLines && columns > 1 && fields < columns
      if (fields <= columns && !isShort) continue
      reasons.set(record, { column: '', problem: `${fields} fields for ${columns} columns` })
    }
    return reasons
  }

  async #write(run: RowRun, record: number, reason: Reason | undefined): Promise<void> {
    const { column = '', problem = '' } = reason ?? {}
    const { path, line } = run.placeOf(run.offsets[record] ?? 0)
    const text = textOfRecord(run, record)
    this.count++
    if (isJson(run.format)) {
      const about = JSON.stringify({ file: path, line, column, problem }).slice(0, -1)
      await this.#file.write(`${about},"row":${jsonOnOneLine(text)}}\n`)
      return
    }
    const delimiter = String.fromCharCode(delimiterOfRun(run))
    const header = `${[...REJECT_COLUMNS, Buffer.from(run.header).toString()].join(delimiter)}`
    if (this.#header === undefined) await this.#file.write(header)
    this.#header ??= header
    if (header !== this.#header) {
      const problem = `${path}: row ${line} does not fit; ${this.path} cannot take it, as its rows have another header`
      throw new ProgramFailure(
        'failed',
        `${problem}: import files with different headers one by one`,
      )
    }
    const cells = [path, String(line), column, problem].map(quoted)
    const ended = /[\r\n]$/.test(text) ? text : `${text}\n`
    await this.#file.write(`${[...cells, ended].join(delimiter)}`)
  }
}

function fittingOf(run: RowRun, reasons: Reasons): RowRun {
  if (reasons.size === 0) return run
  return withRecords(
    run,
    [...run.starts.keys()].filter((record) => !reasons.has(record)),
  )
}

/** The records of JSON that name a column. */
function recordsNaming(run: RowRun, part: readonly number[], column: string): readonly number[] {
  if (!isJson(run.format)) return []
  return part.filter((record) => {
    const row: unknown = JSON.parse(textOfRecord(run, record))
    return Object.hasOwn(Object(row), column)
  })
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

/** A text of JSON without line breaks: they occur only between tokens. Text that is not JSON becomes a string. */
function jsonOnOneLine(text: string): string {
  try {
    JSON.parse(text)
    return text.replace(/[\r\n]+/g, ' ')
  } catch {
    return JSON.stringify(text)
  }
}
