// The jobs and the output of a process of the lock suite: one line of JSON each.

export type ActorJob = Readonly<{
  directory: string
  table: string
  /** The prefix of the names of its holders and rows. */
  name: string
  seed: number
  steps: number
}>

/** Times are milliseconds of the machine's monotonic clock. */
export type ActorLine = Readonly<{ at: number }> &
  (
    | Readonly<{ say: 'opened' | 'locked'; holder: string; tookMs: number }>
    /** It is about to close the store, or to be killed. */
    | Readonly<{ say: 'ends'; holder: string }>
    | Readonly<{ say: 'acknowledged'; text: string }>
    | Readonly<{ say: 'failed'; what: string }>
    | Readonly<{ say: 'done' }>
  )

export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
