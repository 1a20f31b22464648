// Traces of the model `objects`, written by `run.mjs`: each is a JSON array of steps. A step is its kind, its process,
// its choice, and the part of the state that has changed.
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'

/**
 * An incarnation: its number, whether it has ended, whether it holds all objects, its pins, and its settled objects.
 */
export type ModelRecord = readonly [
  inc: number,
  ended: boolean,
  holds: boolean,
  pin: number,
  free: readonly number[],
]

/** The part of the model's state that an engine shows. */
export type ModelState = Readonly<{
  stored: readonly number[]
  /** By object: its incarnation. */
  owner: readonly number[]
  cur: number
  retired: readonly number[]
  chunks: readonly number[]
  used: readonly number[]
  records: readonly ModelRecord[]
  writers: readonly number[]
  refused: readonly number[]
  /** By process: the place and kind of its operation, its object, and whether all that it reads exists. */
  op: readonly (readonly [at: string, kind: string, object: number, isWhole: boolean])[]
  sweep: readonly string[]
}>

export type ModelStep = Readonly<{
  kind: string
  process: number
  choice: number
  before: ModelState
  after: ModelState
}>

type PackedStep = [kind: string, process: number, choice: number, changes: Partial<ModelState>]

export type ModelTrace = readonly ModelStep[]

export async function readTraces(path: string): Promise<ModelTrace[]> {
  const bytes = await readFile(path)
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => unpack(JSON.parse(line) as PackedStep[]))
}

function unpack(steps: readonly PackedStep[]): ModelTrace {
  const [first, ...others] = steps
  if (first === undefined) throw new Error('A trace has a first state')
  let before = first[3] as ModelState
  return others.map(([kind, process, choice, changes]) => {
    const after = { ...before, ...changes }
    const step = { kind, process, choice, before, after }
    before = after
    return step
  })
}
