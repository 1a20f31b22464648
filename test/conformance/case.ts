/** One rule of a port. It fails by rejecting, and works under any test runner. */
export type ConformanceCase = Readonly<{
  /** The rule, as a sentence. */
  name: string
  run(): Promise<void>
}>
