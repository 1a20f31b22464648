// Logs one line per answered request, without anything that grants access. It has the name of the key, but not the key
// or any other header. It has no path and no query, because those of uploads and files grant access. It has no error
// text, which may quote a value.
import type { Tell } from '../../base/hooks.js'
import type { AnsweredRequest, ContractRequest, ContractResponse } from '../http/message.js'
import type { Effect } from './call.js'

/** The target of a log: `console`, a pino logger, or the like. */
export interface Logger {
  info(fields: AnsweredRequest, message: string): void
  warn(fields: AnsweredRequest, message: string): void
  error(fields: AnsweredRequest, message: string): void
}

const MESSAGE = 'request'

/** The facts about a request when it is answered. */
export type SeenRequest = Readonly<{
  operation: string
  team: string | undefined
  /** The name of the key, and the effect for the hook `audit`; absent if the key is unknown. */
  change?: Readonly<{ keyId: string; effect: Effect }>
}>

/** Reports an answer to the log and to the adapter, if they want reports. */
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

/** Logs an answer: a refusal as a warning, a failure of the server as an error. */
function logAnswer(logger: Logger, fields: AnsweredRequest): unknown {
  const { status } = fields
  if (status >= 500) return logger.error(fields, MESSAGE)
  if (status >= 400) return logger.warn(fields, MESSAGE)
  return logger.info(fields, MESSAGE)
}

/** The type in an error body written by `renderError`. */
function errorType(body: string): string | undefined {
  return /^\{"error":\{"type":"([a-z_]+)"/.exec(body)?.[1]
}
