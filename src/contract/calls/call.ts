import type { Caller } from '../auth/caller.js'
import type { CallTeam } from '../auth/limited-team.js'
import type { BodyFormat, ReceivedBody } from '../bodies/read-body.js'
import type { ContractResponse, HeaderList } from '../http/message.js'
import type { Query } from '../http/query.js'
import type { AnswerRoom } from '../memory/answer-memory.js'
import type { OpenFeed } from '../memory/open-feeds.js'
import type { ParquetEncoder } from './parquet-encoder.js'
import type { Repeatable } from './repeatable.js'

/** A request with a known key, path and method, as an operation receives it. */
export type Call = Readonly<{
  caller: Caller
  team: CallTeam
  query: Query
  headers: HeaderList
  /** See `ContractRequest`. */
  releasesPieces: boolean
  /** Maximum number of rows of one page. */
  pageRowsMax: number
  /** The apps that exist; undefined: every app ID is valid. */
  apps: ReadonlySet<string> | undefined
  /** undefined: exports as Parquet are refused. */
  parquet: ParquetEncoder | undefined
  /** @throws {Refusal} REQUEST_VALIDATION_ERROR if the URLs must be derived from the request and it names no host. */
  baseUrls: () => BaseUrls
  /** The arguments that make a repeat of an operation safe. @param key - The `Idempotency-Key` of the request. */
  repeatable: (key: string | undefined, body: ReceivedBody) => Promise<Repeatable>
  /** Opens a room for the memory of a response. The caller or the response must close the room. */
  openAnswerRoom: () => AnswerRoom
  /** Opens a feed of the key. The answer closes the feed. @throws {Refusal} RATE_LIMITED */
  openFeed: () => OpenFeed
  /** Looks the key up again. @throws the refusal that a new request would get */
  checkKey: () => Promise<void>
  /** The effect of the operation, for the hook `audit`. */
  effect: Effect
  /** Fetches a file from a URL, in a turn of the key. */
  fetching<T>(fetch: () => Promise<T>): Promise<T>
  /** Reads the body, calls `use` with it, and then releases its memory. */
  receive<T>(formats: readonly BodyFormat[], use: (body: ReceivedBody) => Promise<T>): Promise<T>
}>

/** The effect of an operation. The operation sets its members. */
export type Effect = {
  tableId?: string
  rowId?: string
  rows?: number
  version?: number
  /** true if the operation was only a check. */
  unchanged?: true
}

/** The base URLs of the contract and of files, without a trailing slash. */
export type BaseUrls = Readonly<{ api: string; files: string }>

/** @param parameters - The parameters of the path, in order. */
export type Operation = (call: Call, ...parameters: readonly string[]) => Promise<ContractResponse>

/** The body types of tabular operations. */
export const TABULAR: readonly BodyFormat[] = ['json', 'csv', 'tsv']
