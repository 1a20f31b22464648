import { escapeControls } from '../base/shown-text.js'

/**
 * Where the rows of a request begin in the input of an import, and which row of the input failed. All numbers count
 * from 0.
 */
export type ChunkPlace = Readonly<{
  /** The number of the chunk in the input. */
  chunk: number
  /** The number, in the chunk, of the first row of the request. */
  row: number
  /**
   * The number of the failing row in the whole input. Absent: the message names no row, or the caller cut the chunks.
   * Blank lines of CSV count as rows.
   */
  inputRow?: number
}>

/** The problems of rows in `updateRows` or `deleteRows`. */
export type RowProblems = Readonly<{
  /**
   * At most 100 problems, in the order of the rows: the index of the row in the call, the error type and the message.
   */
  problems: readonly Readonly<{ row: number; type: string; column?: string; message: string }>[]
  /** How many rows have problems. */
  problemCount: number
}>

/** Node's codes for a connection that broke after it was made. */
const BROKEN = /^(?:ECONNRESET|EPIPE|UND_ERR_(?:SOCKET|HEADERS_TIMEOUT|BODY_TIMEOUT|ABORTED))$/

/** Node's name of the error for an answer that is not HTTP. */
const NO_HTTP = 'HTTPParserError'

/**
 * A request that the server rejected, or a server that could not be reached.
 * @example
 * import { ClientError } from 'rowstash/client'
 *
 * const failure = await client.table('no-such-table').page().catch((reason) => reason)
 * console.log(failure instanceof ClientError && failure.type, failure.status) // table_not_found 404
 */
export class ClientError extends Error {
  /** Always `ClientError`. */
  override readonly name = 'ClientError'
  /**
   * HTTP status of the answer; 0: there was no answer. With 0, `type` is empty unless the client itself rejected the
   * call.
   */
  readonly status: number
  /**
   * Type of the error in the answer, such as `table_not_found`, or a type of the client: `argument_invalid`,
   * `stash_differs` or `row_not_found`. With a status below 300 it is `answer_cut` if the answer broke off, or
   * `answer_invalid` if the answer is not one of the API. It is empty if the answer has no type, and, with the status
   * 0, if no server answered.
   */
  readonly type: string
  /** For an import: the place of the failure. undefined: the failure concerns no chunk, or an unknown chunk. */
  readonly place: ChunkPlace | undefined
  /** For an import: the places of all rows that the message names, in its order, such as two rows with the same key. */
  readonly places: readonly ChunkPlace[]
  /** For `updateRows` and `deleteRows`: the problems of rows. undefined: the server named none. */
  readonly problems: RowProblems['problems'] | undefined
  /** How many rows have problems; undefined: the server named none. */
  readonly problemCount: number | undefined

  constructor(
    message: string,
    status: number,
    type = '',
    cause?: unknown,
    places: readonly ChunkPlace[] = [],
    { problems, problemCount }: Partial<RowProblems> = {},
  ) {
    // Control characters are escaped: most messages come from a server, which could otherwise forge a line of a log.
    super(escapeControls(message), cause === undefined ? {} : { cause })
    this.status = status
    this.type = type
    this.place = places[0]
    this.places = places
    this.problems = problems
    this.problemCount = problemCount
  }

  /** The value for `JSON.stringify`: name, message, status, type, places and problems, but neither cause nor stack. */
  toJSON(): object {
    return { ...this, message: this.message }
  }

  /** Whether certainly no server took the request: none listens at the address, or it speaks no HTTP. */
  get isUnsent(): boolean {
    if (this.status !== 0) return false
    const { cause } = Object(this.cause) as { cause?: unknown }
    const { code, name } = Object(cause) as { code?: unknown; name?: unknown }
    if (name === NO_HTTP) return true // This error has no code in Node 24 and later.
    return typeof code === 'string' && !BROKEN.test(code)
  }
}

/** A copy of the failure with the places of its rows. */
export function placed(
  { message, status, type, cause }: ClientError,
  places: readonly ChunkPlace[],
  placedMessage = message,
): ClientError {
  return new ClientError(placedMessage, status, type, cause, places)
}

/** The failure for an argument that cannot be sent. */
export function invalidCall(problem: string, place?: ChunkPlace): ClientError {
  return new ClientError(problem, 0, 'argument_invalid', undefined, place && [place])
}

/** The failure of the last attempt, with the number of attempts and their total time. */
export function givenUp(failure: ClientError, tries: number, ms: number, advice = ''): ClientError {
  const { message, status, type, cause, places } = failure
  const problem = `${message} (gave up after ${tries} tries in ${(ms / 1_000).toFixed(1)} s${advice})`
  return new ClientError(problem, status, type, cause, places)
}
