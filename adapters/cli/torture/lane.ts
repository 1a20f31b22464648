// A lane of `rowstash torture`: a sequence of operations on one table and the files of one team.
//
// Invariant: seed, lane, number and previous state determine an operation. So the state after any number of operations
// can be computed without the store.
import { createHash } from 'node:crypto'

export type LaneRow = Readonly<{ key: string; value: string }>

/** The expected state of a lane. */
export type LaneState = Readonly<{
  /** The values of its rows, by key. */
  rows: Map<string, string>
  /** The contents of its files, by name. */
  files: Map<string, string>
}>

export type LaneOperation =
  | Readonly<{ kind: 'add' | 'merge' | 'overwrite'; rows: readonly LaneRow[] }>
  | Readonly<{ kind: 'update'; rows: readonly [LaneRow] }>
  | Readonly<{ kind: 'delete'; keys: readonly string[] }>
  | Readonly<{ kind: 'file'; name: string; content: string }>

/** Cumulative percentages of the kinds of operations. The remaining operations are overwrites. */
const KINDS = { add: 35, update: 65, merge: 80, delete: 90, file: 97 } as const
/** Every operation whose number is a multiple of this is an overwrite: the rows do not depend on earlier ones. */
const OVERWRITTEN_EACH = 500
const ROWS_ADDED_MAX = 40
const ROWS_OVERWRITTEN_MAX = 1_500
const KEYS_MAX = 20
const VALUE_CHARS_MAX = 300
const FILE_CHARS_MAX = 200_000

/**
 * The state of a lane after `count` operations.
 * @param checked - After the operation with this number, all files were deleted; at most `count`.
 */
export function stateAfter(seed: number, lane: number, count: number, checked: number): LaneState {
  const state: LaneState = { rows: new Map(), files: new Map() }
  const first = checked - (checked % OVERWRITTEN_EACH)
  for (let number = Math.max(1, first); number <= count; number++) {
    applyOperation(state, drawOperation(seed, lane, number, state))
    if (number === checked) state.files.clear()
  }
  return state
}

/** The operation with a number, from 1, on a lane with these rows. */
export function drawOperation(
  seed: number,
  lane: number,
  number: number,
  { rows }: LaneState,
): LaneOperation {
  const name = `${seed}-${lane}-${number}`
  const [kind = 0, count = 0, first = 0, length = 0] = new Uint32Array(
    Uint8Array.from(createHash('sha256').update(name).digest()).buffer,
  )
  const drawn = kind % 100
  const fresh = (max: number): LaneRow[] =>
    Array.from({ length: 1 + (count % max) }, (_, at) => {
      return { key: `${number}-${at}`, value: textOf(name, (length + at) % VALUE_CHARS_MAX) }
    })
  const known = keysFrom(rows, first, 1 + (count % KEYS_MAX))
  const changed = known.map((key) => ({ key, value: textOf(name, length % VALUE_CHARS_MAX) }))
  const [row] = changed
  if (number % OVERWRITTEN_EACH === 0)
    return { kind: 'overwrite', rows: fresh(ROWS_OVERWRITTEN_MAX) }
  if (row === undefined || drawn < KINDS.add) return { kind: 'add', rows: fresh(ROWS_ADDED_MAX) }
  if (drawn < KINDS.update) return { kind: 'update', rows: [row] }
  if (drawn < KINDS.merge) return { kind: 'merge', rows: [...changed, ...fresh(KEYS_MAX)] }
  if (drawn < KINDS.delete) return { kind: 'delete', keys: known }
  if (drawn < KINDS.file) {
    return { kind: 'file', name: `${number}.txt`, content: textOf(name, length % FILE_CHARS_MAX) }
  }
  return { kind: 'overwrite', rows: fresh(ROWS_OVERWRITTEN_MAX) }
}

/** Applies an operation to a state. */
export function applyOperation({ rows, files }: LaneState, operation: LaneOperation): void {
  if (operation.kind === 'file') {
    files.set(operation.name, operation.content)
    return
  }
  if (operation.kind === 'delete') {
    for (const key of operation.keys) rows.delete(key)
    return
  }
  if (operation.kind === 'overwrite') rows.clear()
  for (const { key, value } of operation.rows) rows.set(key, value)
}

/** Up to `count` consecutive keys, from a drawn position. */
function keysFrom(rows: LaneState['rows'], drawn: number, count: number): string[] {
  const start = rows.size === 0 ? 0 : drawn % rows.size
  const keys: string[] = []
  let at = 0
  for (const key of rows.keys()) {
    if (at++ < start) continue
    keys.push(key)
    if (keys.length === count) break
  }
  return keys
}

/** A text of about `chars` characters that names its origin. */
function textOf(name: string, chars: number): string {
  const part = `${name} äß`
  return part.repeat(1 + Math.floor(chars / part.length))
}
