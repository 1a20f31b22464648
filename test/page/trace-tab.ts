// The tasks of a tab's main thread while a test works with it, traced by the browser.
import type { Page } from 'playwright-core'

type TraceEvent = Readonly<{
  name: string
  ph: string
  /** Microseconds; `tdur` is CPU time, which a busy machine does not increase. */
  ts: number
  dur?: number
  tdur?: number
  pid: number
  tid: number
  args?: Readonly<Record<string, unknown>>
}>

const CATEGORIES = 'disabled-by-default-devtools.timeline,devtools.timeline,toplevel,v8'
const TASKS_SHOWN = 5
const PARTS_SHOWN = 4

/** @returns the result of the work, and the longest tasks by CPU time, with the functions that took most of it */
export async function traced<T>(
  page: Page,
  work: () => Promise<T>,
): Promise<readonly [T, readonly string[]]> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]))
  })
  await session.send('Tracing.start', { categories: CATEGORIES, transferMode: 'ReportEvents' })
  const result = await work()
  const over = new Promise<void>((done) => session.once('Tracing.tracingComplete', () => done()))
  await session.send('Tracing.end')
  await over
  await session.detach()
  return [result, longestTasks(events)]
}

function longestTasks(events: readonly TraceEvent[]): readonly string[] {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const main = new Set(
    events.filter(({ args }) => args?.['name'] === 'CrRendererMain').map(threadOf),
  )
  const own = events.filter((event) => event.ph === 'X' && main.has(threadOf(event)))
  return own
    .filter(({ name }) => name === 'RunTask')
    .toSorted((one, other) => cpuOf(other) - cpuOf(one))
    .slice(0, TASKS_SHOWN)
    .map((task) => describeTask(task, own))
}

function cpuOf({ tdur, dur }: TraceEvent): number {
  return tdur ?? dur ?? 0
}

function describeTask(task: TraceEvent, events: readonly TraceEvent[]): string {
  const { ts, dur = 0, pid, tid } = task
  const inside = events.filter((event) => {
    const isOfThread = event.pid === pid && event.tid === tid && event.dur !== dur
    return isOfThread && event.ts >= ts && event.ts + (event.dur ?? 0) <= ts + dur
  })
  const parts = inside.toSorted((one, other) => cpuOf(other) - cpuOf(one)).slice(0, PARTS_SHOWN)
  const ms = (microseconds: number) => `${(microseconds / 1_000).toFixed(1)} ms`
  const shown = parts.map((part) => `${part.name} ${ms(cpuOf(part))}`).join(', ')
  return `${ms(cpuOf(task))} of the processor, ${ms(dur)} in all: ${shown}`
}
