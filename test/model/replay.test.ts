// Goal: two engines on one key-value store behave as the model `objects`, in any order of their steps.
// Method: traces of the model's simulator are replayed step by step. Each call of a port happens when the trace says
// so, commits have the outcome that it states, and the stored state is compared after each step. `npm test` replays 30
// of the kept traces; README.md tells how to replay all, or new ones.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runsAll } from '../support/what-runs.js'
import { Replay } from './replay.js'
import { timersOfEngines } from './stepped-engine.js'
import { type ModelTrace, readTraces } from './trace.js'

const KEPT = join(import.meta.dirname, 'traces.jsonl.gz')

/** Number of kept traces to replay. */
const SOME = runsAll ? 200 : 30

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  vi.stubGlobal('setInterval', timersOfEngines(setInterval))
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

/** All traces of a file that was named; otherwise some of the kept ones, chosen by a seed. */
function chosenOf(traces: readonly ModelTrace[]): readonly (readonly [number, ModelTrace])[] {
  const numbered = traces.map((trace, i) => [i, trace] as const)
  if (process.env['ROWSTASH_TRACES'] !== undefined) return numbered
  const parts = Math.ceil(traces.length / SOME)
  const chosen = runsAll ? Math.floor(Math.random() * parts) : 0
  const seed = Number(process.env['ROWSTASH_SEED'] ?? chosen)
  console.log(`replay: seed ${seed}`)
  return numbered.filter(([i]) => i % parts === seed % parts)
}

test('engines do what the model says', { timeout: 1_800_000 }, async () => {
  const traces = await readTraces(process.env['ROWSTASH_TRACES'] ?? KEPT)
  const chosen = chosenOf(traces)
  let steps = 0
  for (const [i, trace] of chosen) {
    try {
      await (await Replay.open()).run(trace)
    } catch (failure) {
      throw new Error(`Trace ${i}: ${String(failure)}`, { cause: failure })
    }
    steps += trace.length
  }
  console.log(`replay: ${chosen.length} of ${traces.length} traces, ${steps} steps`)

  expect(steps).toBeGreaterThan(10 * chosen.length)
})
