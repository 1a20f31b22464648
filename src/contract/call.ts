import type { Bytes } from '../base/bytes.js'
import type { Team } from '../engine/api/store-types.js'
import type { AnswerRoom } from './answer-memory.js'
import type { ContractResponse, HeaderList } from './message.js'
import type { Query } from './query.js'
import type { BodyFormat, ReceivedBody } from './read-body.js'

/** A request that passed key, path and method: what an operation works with. */
export type Call = Readonly<{
  team: Team
  query: Query
  headers: HeaderList
  /** Rows of one page at most. */
  pageRowsMax: number
  /** Apps that exist; undefined: every app ID is known. */
  apps: ReadonlySet<string> | undefined
  /** A name for the key of this request. */
  owner: () => Promise<string>
  /** @throws {Refusal} REQUEST_VALIDATION_ERROR if they follow from a request that names no host. */
  baseUrls: () => BaseUrls
  /** Stands for the request that an `Idempotency-Key` belongs to. */
  digest: (body: ReceivedBody) => Promise<Bytes>
  /** Memory for an answer. Whoever opens a room closes it, or lets the answer close it. */
  openAnswerRoom: () => AnswerRoom
  /** Reads the body, lets `use` work with it and then gives its memory back. */
  receive<T>(formats: readonly BodyFormat[], use: (body: ReceivedBody) => Promise<T>): Promise<T>
}>

/** Without a slash at the end. */
export type BaseUrls = Readonly<{ api: string; files: string }>

/** @param parameters - Of the path, in their order. */
export type Operation = (call: Call, ...parameters: readonly string[]) => Promise<ContractResponse>

/** The body types of tabular operations. */
export const TABULAR: readonly BodyFormat[] = ['json', 'csv', 'tsv']
