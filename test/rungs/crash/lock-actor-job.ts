// What a process of the lock suite is told, and what it says: a line of JSON each.

export type ActorJob = Readonly<{
  directory: string
  table: string
  /** The first part of the names of its holders, and of its rows. */
  name: string
  seed: number
  steps: number
}>

/** Times are those of the machine's monotonic clock, in milliseconds. */
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
