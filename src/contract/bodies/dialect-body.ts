// A body of rows whose request says how it is written, or wants that detected: what the media type and the query say of
// it, and the report of what was read (CONTRACT.md, section 4).
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

  /** @param said - By the query; undefined: nothing. */
  constructor(said: QueryDialect | undefined) {
    this.#said = said
  }

  /**
   * The rows of a body that is nothing but rows; undefined: it is JSON of which nothing is said.
   * @throws {Refusal} REQUEST_VALIDATION_ERROR if what is said is of another format
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

  /** Whether anything is said of the rows. */
  get isSaid(): boolean {
    return this.#isSaid
  }

  /** The report, if one was made. */
  get report(): IntakeReport | undefined {
    return this.#report
  }
}

function foreignParameter(name: string, formats: string): Error {
  return invalidRequest('query', `${name} is of bodies of ${formats} only`)
}
