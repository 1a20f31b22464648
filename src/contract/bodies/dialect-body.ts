// A body of rows, the dialect that its media type and query state or ask to detect, and the report on how it was read
// (CONTRACT.md, section 4).
import { isBlank } from '../../base/record-cutter.js'
import { isJson } from '../../base/source-format.js'
import type { TextRows } from '../../engine/types/row-types.js'
import type { IntakeReport } from '../../intake/intake.js'
import { invalidRequest } from '../http/refusal.js'
import { checkQueryDialect, type QueryDialect } from '../http/rows-query.js'
import type { ReceivedBody } from './read-body.js'

export class DialectBody {
  readonly #said: QueryDialect | undefined
  #isSaid = false
  #report: IntakeReport | undefined

  /**
   * @param said - The dialect in the query; undefined: the query has none.
   */
  constructor(said: QueryDialect | undefined) {
    this.#said = said
  }

  /**
   * The rows of a body that consists of rows; undefined: the body is JSON, and no dialect is stated.
   * @throws {Refusal} REQUEST_VALIDATION_ERROR if the stated dialect is for another format
   */
  rowsOf({ format, bytes, typed }: ReceivedBody): TextRows | undefined {
    const { at, nested, dialect, ...said } = this.#said ?? {}
    const [other] = Object.keys({ ...said, ...(dialect && { dialect }) })
    if (isJson(format) && other !== undefined) throw foreignParameter(`csv.${other}`, 'CSV and TSV')
    const ofJson = at !== undefined ? 'json.at' : 'json.nested'
    if (!isJson(format) && (at ?? nested) !== undefined) throw foreignParameter(ofJson, 'JSON')
    this.#isSaid = this.#said !== undefined || Object.keys(typed).length > 0
    if (this.#isSaid && isBlank(bytes)) throw invalidRequest('body', 'it is empty')
    const onReport = (report: IntakeReport): void => {
      this.#report = report
    }
    if (format === 'json') {
      return (at ?? nested) === undefined ? undefined : { json: bytes, at, nested, onReport }
    }
    const rows = format === 'csv' ? { csv: bytes } : { tsv: bytes }
    if (!this.#isSaid) return rows
    const ofFormat = format === 'tsv' ? { delimiter: '\t' } : {}
    const whole = checkQueryDialect({ ...ofFormat, ...typed, ...said })
    return { ...rows, ...whole, ...(dialect && { dialect }), onReport }
  }

  /** Whether a dialect is stated. */
  get isSaid(): boolean {
    return this.#isSaid
  }

  /** The report, if there is one. */
  get report(): IntakeReport | undefined {
    return this.#report
  }
}

function foreignParameter(name: string, formats: string): Error {
  return invalidRequest('query', `${name} is only for ${formats} bodies`)
}
