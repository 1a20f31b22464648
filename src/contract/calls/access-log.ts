// One line per answered request. It has nothing that grants access: no key, only its name, and no other header, no path
// and no query, because those of uploads and files do, and no text of an error, which may quote a value.
import type { Tell } from '../../base/hooks.js'
import type { AnsweredRequest, ContractRequest, ContractResponse } from '../http/message.js'
import type { Effect } from './call.js'

/** Where lines of a log go: `console`, a logger of pino, and others like them. */
export interface Logger {
  info(fields: AnsweredRequest, message: string): void
  warn(fields: AnsweredRequest, message: string): void
  error(fields: AnsweredRequest, message: string): void
}

const MESSAGE = 'request'

/** What is known of a request when it is answered. */
export type SeenRequest = Readonly<{
  operation: string
  team: string | undefined
  /** Only with a known key: its name, and for the hook `audit` what is changed. */
  change?: Readonly<{ keyId: string; effect: Effect }>
}>

/** Reports an answer to the log and to the adapter, if one of them wants to know. */
export function reportAnswer(
  { logger, tell }: Readonly<{ logger: Logger | undefined; tell: Tell }>,
  { onAnswered }: ContractRequest,
  seen: SeenRequest,
  response: ContractResponse,
  ms: number,
): void {
  if (logger === undefined && onAnswered === undefined) return
  const answered = describeAnswered(seen, response, ms)
  if (logger !== undefined) tell('logger', () => logAnswer(logger, answered))
  if (onAnswered !== undefined) tell('onAnswered', () => onAnswered(answered))
}

function describeAnswered(
  { operation, team, change }: SeenRequest,
  { status, body }: ContractResponse,
  ms: number,
): AnsweredRequest {
  const type = status < 400 || typeof body !== 'string' ? undefined : errorType(body)
  return {
    operation,
    ...(team !== undefined && { team }),
    ...(change !== undefined && { keyId: change.keyId }),
    status,
    ...(type !== undefined && { error: type }),
    ms: Math.round(ms * 1_000) / 1_000,
  }
}

/** Logs an answer: as a warning if it refuses, as an error if the server failed. */
function logAnswer(logger: Logger, fields: AnsweredRequest): unknown {
  const { status } = fields
  if (status >= 500) return logger.error(fields, MESSAGE)
  if (status >= 400) return logger.warn(fields, MESSAGE)
  return logger.info(fields, MESSAGE)
}

/** The type in the body of an error, as `renderError` writes it. */
function errorType(body: string): string | undefined {
  return /^\{"error":\{"type":"([a-z_]+)"/.exec(body)?.[1]
}
