// Faults of single requests to a test server, and which request meets which.

/** What happens to a request. */
export type RequestFault =
  | Readonly<{
      /** Answers with this status; the store does not see the request. */
      status: number
      /** The type of the error in the answer. Default: `injected`. */
      type?: string
      /** Headers of the answer, such as `retry-after`. Default: none. */
      headers?: Readonly<Record<string, string>>
    }>
  /** Waits so many milliseconds before the request is handled. */
  | Readonly<{ delayMs: number }>
  /**
   * Cuts the connection: `request` before the request is handled, `answer` after it, when the answer is known and what it
   * changed is durable.
   */
  | Readonly<{ cut: 'request' | 'answer' }>
  /**
   * Ends the server as `kill -9` does (`of: 'process'`) or a power cut (`of: 'machine'`), and starts it again on what it
   * left. `before commit`: segments and files of the request are on disk, and no record names them. `after commit`: the
   * change is durable, and the client gets no answer.
   */
  | Readonly<{
      /** When it ends, in the course of the request. */
      crash: 'before commit' | 'after commit'
      /** What ends. Default: `process`. */
      of?: 'process' | 'machine'
    }>

/** Which requests meet a fault. */
export type FaultRule = Readonly<{
  /** What the requests meet. */
  fault: RequestFault
  /** The method of the requests, in upper case. Default: any. */
  method?: string
  /** A path without the query, or a pattern of it. Default: any. */
  path?: string | RegExp
  /** How many requests that fit come before the first that meets it. Default: 0. Range: 0 to 2^53 - 1. */
  after?: number
  /** How many requests meet it. Default: 1. Range: 1 to 2^53 - 1. */
  times?: number
}>

/** The rules of a server, in the order in which they were given: the first that fits decides. */
export class RequestFaults {
  #rules: { rule: FaultRule; seen: number }[] = []

  /** @returns what removes the rule */
  add(rule: FaultRule): () => void {
    const added = { rule, seen: 0 }
    this.#rules.push(added)
    return () => {
      this.#rules = this.#rules.filter((other) => other !== added)
    }
  }

  /** What the next request meets. */
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
  return typeof path === 'string' ? path === givenPath : path.test(givenPath)
}
