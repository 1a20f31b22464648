// One line per answered request. It has nothing that grants access: no key and no other header, no path and no query,
// because those of uploads and files do, and no text of an error, which may quote a value.
import type { ContractResponse } from './message.js'

/** Where lines of a log go: `console`, a logger of pino, and others like them. Its methods must not throw. */
export interface Logger {
  info(fields: AnsweredRequest, message: string): void
  warn(fields: AnsweredRequest, message: string): void
  error(fields: AnsweredRequest, message: string): void
}

/** A request that was answered, for a log. */
export type AnsweredRequest = Readonly<{
  /** Method and route, such as `GET /tables/{tableID}/rows`; `none`: refused before its route was known. */
  operation: string
  /** The team of the key; absent for routes without a key, and for refused requests. */
  team?: string
  status: number
  /** The type of the error; absent if there was none. */
  error?: string
  /** Milliseconds from the request to its answer, before its body is sent. */
  ms: number
}>

const MESSAGE = 'request'

/** Logs an answer: as a warning if it refuses, as an error if the server failed. */
export function logAnswer(
  logger: Logger,
  { operation, team }: Readonly<{ operation: string; team: string | undefined }>,
  { status, body }: ContractResponse,
  ms: number,
): void {
  const type = status < 400 || typeof body !== 'string' ? undefined : errorType(body)
  const fields = {
    operation,
    ...(team !== undefined && { team }),
    status,
    ...(type !== undefined && { error: type }),
    ms: Math.round(ms * 1_000) / 1_000,
  }
  if (status >= 500) logger.error(fields, MESSAGE)
  else if (status >= 400) logger.warn(fields, MESSAGE)
  else logger.info(fields, MESSAGE)
}

/** Of the body of an error, as `renderError` makes it. */
function errorType(body: string): string | undefined {
  return /^\{"error":\{"type":"([a-z_]+)"/.exec(body)?.[1]
}
