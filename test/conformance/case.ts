/** One rule of a port. It fails by rejecting, and works under any test runner. */
export type ConformanceCase = Readonly<{
  /** The rule, as a sentence. */
  name: string
  /**
   * Why the implementation need not keep the rule: it lacks a capability, which this text names. A runner should mark
   * the case as skipped. `run` checks that the capability is absent.
   */
  skip?: string
  /** Resolves if the rule holds, and rejects with the violation. */
  run(): Promise<void>
}>
