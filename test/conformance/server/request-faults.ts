// Faults of single requests to a test server, and the rules that assign them.
import { shown, typeName } from '../../../src/base/options.js'
import {
  CRASHES,
  checkArguments,
  checkInteger,
  checkWord,
  invalidArgument,
} from '../argument-checks.js'

/** A fault of a request. */
export type RequestFault =
  | Readonly<{
      /** Answers with this status, without passing the request to the store. Range: 200 to 599. */
      status: number
      /** The type of the error in the answer. Default: `injected`. */
      type?: string
      /** Headers of the answer, such as `retry-after`. Default: none. */
      headers?: Readonly<Record<string, string>>
    }>
  /** Waits this many milliseconds before the request is handled. Range: 0 to 2^31 - 1. */
  | Readonly<{ delayMs: number }>
  /**
   * Cuts the connection. `request`: before the request is handled. `answer`: afterwards, when the answer is known and
   * its changes are durable.
   */
  | Readonly<{ cut: 'request' | 'answer' }>
  /**
   * Ends the server like `kill -9` (`of: 'process'`) or like a power cut (`of: 'machine'`), and starts it again on the
   * remaining data. `before commit`: segments and files of the request are on disk, and no record names them. `after
   * commit`: the change is durable, and the client gets no answer.
   */
  | Readonly<{
      /** When the server ends, during the request. */
      crash: 'before commit' | 'after commit'
      /** What ends. Default: `process`. */
      of?: 'process' | 'machine'
    }>

/** Which requests get a fault. */
export type FaultRule = Readonly<{
  /** The fault of the requests. */
  fault: RequestFault
  /** The method of the requests, such as `GET`. Default: any. */
  method?: string
  /** A path without the query, or a pattern for it. Default: any. */
  path?: string | RegExp
  /** How many requests that fit precede the first with the fault. Default: 0. Range: 0 to 2^53 - 1. */
  after?: number
  /** How many requests get the fault. Default: 1. Range: 1 to 2^53 - 1. */
  times?: number
}>

/** The rules of a server, in the order in which they were added. The first that fits decides. */
export class RequestFaults {
  #rules: { rule: FaultRule; seen: number }[] = []

  /** @returns removes the rule. @throws {StoreError} REQUEST_VALIDATION_ERROR */
  add(rule: FaultRule): () => void {
    checkRule(rule)
    const added = { rule, seen: 0 }
    this.#rules.push(added)
    return () => {
      this.#rules = this.#rules.filter((other) => other !== added)
    }
  }

  /** The fault of the next request. */
  of(method: string, path: string): RequestFault | undefined {
    for (const known of this.#rules) {
      const { rule } = known
      if (!fits(rule, method, path)) continue
      const { after = 0, times = 1 } = rule
      const number = known.seen++
      if (number >= after && number < after + times) return rule.fault
    }
    return undefined
  }
}

function fits({ method, path }: FaultRule, givenMethod: string, givenPath: string): boolean {
  if (method !== undefined && method !== givenMethod) return false
  if (path === undefined) return true
  // A search begins at the start, even for a pattern with the flag g.
  return typeof path === 'string' ? path === givenPath : givenPath.search(path) >= 0
}

/** The methods that clients of the contract send, including browsers. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const DELAY_MS_MAX = 2 ** 31 - 1

/** The members of a fault, by the member that names its kind. */
const FAULT_MEMBERS = {
  status: ['status', 'type', 'headers'],
  delayMs: ['delayMs'],
  cut: ['cut'],
  crash: ['crash', 'of'],
} as const

function checkRule(rule: FaultRule): void {
  checkArguments('fail', rule, ['fault', 'method', 'path', 'after', 'times'])
  const { fault, method, path, after, times }: Partial<FaultRule> = rule
  if (method !== undefined) checkWord('method', method, METHODS)
  const isPath = typeof path === 'string' && path.startsWith('/') && !path.includes('?')
  if (path !== undefined && !isPath && !(path instanceof RegExp)) {
    const rule = 'must begin with a slash and have no query, or be a RegExp'
    throw invalidArgument(`path ${rule}, not ${shown(path)}`)
  }
  checkInteger('after', after, 0, Number.MAX_SAFE_INTEGER)
  checkInteger('times', times, 1, Number.MAX_SAFE_INTEGER)
  checkFault(fault)
}

function checkFault(fault: unknown): void {
  checkArguments('fault', fault, Object.values(FAULT_MEMBERS).flat())
  const given = fault as Readonly<Record<string, unknown>>
  const kinds = Object.keys(FAULT_MEMBERS) as (keyof typeof FAULT_MEMBERS)[]
  const [kind, ...more] = kinds.filter((name) => given[name] !== undefined)
  if (kind === undefined || more.length > 0) {
    throw invalidArgument(
      `fault must have one of ${kinds.join(', ')}; it has ${more.length + (kind ? 1 : 0)}`,
    )
  }
  checkArguments(`fault with "${kind}"`, fault, FAULT_MEMBERS[kind])
  const { status, type, headers, delayMs, cut, crash, of } = given
  if (kind === 'status') checkAnswer(status, type, headers)
  if (kind === 'delayMs') checkInteger('delayMs', delayMs, 0, DELAY_MS_MAX)
  if (kind === 'cut') checkWord('cut', cut, ['request', 'answer'])
  if (kind === 'crash') checkWord('crash', crash, ['before commit', 'after commit'])
  if (of !== undefined) checkWord('of', of, CRASHES)
}

function checkAnswer(status: unknown, type: unknown, headers: unknown = {}): void {
  checkInteger('status', status, 200, 599)
  if (type !== undefined && typeof type !== 'string') {
    throw invalidArgument(`type must be a string, not ${typeName(type)}`)
  }
  checkArguments('headers', headers, Object.keys(Object(headers)))
  for (const [name, value] of Object.entries(Object(headers))) {
    if (typeof value === 'string') continue
    throw invalidArgument(`The header ${shown(name)} must be a string, not ${typeName(value)}`)
  }
}
