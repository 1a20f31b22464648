// Reads the answer to a table operation that is only checked (`validate=only` in the contract, section 5).
import { ProgramFailure } from './program-failure.js'

export type CheckAnswer = Readonly<{
  rows: number
  /** The first 1,000. */
  problems: readonly Readonly<{
    serial?: string
    row: number
    column: string
    value?: string
    rule: string
  }>[]
  problemCount: number
}>

/** Bytes of an answer, at most: more than 1,000 problems and the schema of a table take. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

export class CheckReader {
  readonly #pieces: Uint8Array[] = []
  #bytes = 0

  read(piece: Uint8Array): void {
    this.#bytes += piece.length
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#pieces.push(piece)
  }

  /** @throws {ProgramFailure} if the server did something else than to check */
  answer(): CheckAnswer {
    try {
      const { data } = JSON.parse(Buffer.concat(this.#pieces).toString('utf8')) as {
        data?: CheckAnswer
      }
      if (data !== undefined && Array.isArray(data.problems)) return data
    } catch (failure) {
      if (!(failure instanceof SyntaxError || failure instanceof TypeError)) throw failure
    }
    throw new ProgramFailure('failed', 'The server did not answer with the result of a check')
  }
}
