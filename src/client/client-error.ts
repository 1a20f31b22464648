import { escapeControls } from '../base/shown-text.js'

/**
 * Where the rows of a request begin in the input: the number of the chunk, and a row of it; all numbers count from 0.
 */
export type ChunkPlace = Readonly<{
  /** The number of the chunk in the input. */
  chunk: number
  /** The number of the row in the chunk. */
  row: number
  /**
   * The number of the row that is meant, in the whole input. Absent: no row is named, or the input are `chunks` of the
   * caller. Blank lines of CSV are rows, as for the server.
   */
  inputRow?: number
}>

/** What is wrong with rows of `updateRows` or `deleteRows`. */
export type RowProblems = Readonly<{
  /** One for each row, in their order, at most 100: the index in the call, and the type and the message of the error. */
  problems: readonly Readonly<{ row: number; type: string; column?: string; message: string }>[]
  /** How many rows have problems. */
  problemCount: number
}>

/** What breaks a connection that was there, by the codes of Node. */
const BROKEN = /^(?:ECONNRESET|EPIPE|UND_ERR_(?:SOCKET|HEADERS_TIMEOUT|BODY_TIMEOUT|ABORTED))$/

/** What Node names the failure of an answer that is not HTTP. */
const NO_HTTP = 'HTTPParserError'

/**
 * What a server of the contract refused, or that it could not be reached.
 * @example
 * import { ClientError } from 'rowstash/client'
 *
 * const failure = await client.table('no-such-table').page().catch((reason) => reason)
 * console.log(failure instanceof ClientError && failure.type, failure.status) // table_not_found 404
 */
export class ClientError extends Error {
  /** Always `ClientError`. */
  override readonly name = 'ClientError'
  /** Status of the answer; 0: there was none. Then `type` tells whether the client refused the call itself. */
  readonly status: number
  /**
   * Type of the error in the answer, such as `table_not_found`, or one that the client found: `argument_invalid`,
   * `stash_differs`, `row_not_found`; with a status below 300, `answer_cut`: the answer broke off, or
   * `answer_invalid`: it is not one of the API. Empty: there was none; with the status 0, no server answered.
   */
  readonly type: string
  /**
   * Of an import, where the rows begin that the failure is about; undefined: it is about no chunk, or it is not known.
   */
  readonly place: ChunkPlace | undefined
  /** Likewise of all rows that the message names, in its order, such as two with one key. */
  readonly places: readonly ChunkPlace[]
  /** Of `updateRows` and `deleteRows`, what is wrong with rows; undefined: the server named none. */
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
    // Most messages are texts of a server, which could forge a line of a log.
    super(escapeControls(message), cause === undefined ? {} : { cause })
    this.status = status
    this.type = type
    this.place = places[0]
    this.places = places
    this.problems = problems
    this.problemCount = problemCount
  }

  /** What `JSON.stringify` writes: name, message, status, type, places and problems, but neither cause nor stack. */
  toJSON(): object {
    return { ...this, message: this.message }
  }

  /** Whether it is known that no server took the request: there is none at the address, or it speaks no HTTP. */
  get isUnsent(): boolean {
    if (this.status !== 0) return false
    const { cause } = Object(this.cause) as { cause?: unknown }
    const { code, name } = Object(cause) as { code?: unknown; name?: unknown }
    if (name === NO_HTTP) return true // Without a code from Node 24 on.
    return typeof code === 'string' && !BROKEN.test(code)
  }
}

/** The same failure, which names the rows that it is about. */
export function placed(
  { message, status, type, cause }: ClientError,
  places: readonly ChunkPlace[],
  placedMessage = message,
): ClientError {
  return new ClientError(placedMessage, status, type, cause, places)
}

/** The failure of a call whose argument cannot be sent. */
export function invalidCall(problem: string, place?: ChunkPlace): ClientError {
  return new ClientError(problem, 0, 'argument_invalid', undefined, place && [place])
}

/** The failure of the last of several attempts, which tells how many there were, and for how long. */
export function givenUp(failure: ClientError, tries: number, ms: number, advice = ''): ClientError {
  const { message, status, type, cause, places } = failure
  const problem = `${message} (gave up after ${tries} tries in ${(ms / 1_000).toFixed(1)} s${advice})`
  return new ClientError(problem, status, type, cause, places)
}
