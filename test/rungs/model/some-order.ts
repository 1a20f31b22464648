// Concurrent operations: some order of them, one after another, must explain their answers.
//
// The contract demands slightly less of a stash: an operation uses the chunks that were acknowledged before it began,
// and one put meanwhile is in or out as a whole. So reading a stash and changing a table are two steps. Between them
// chunks may be added to the stash, but none replaced, and the stash not deleted. A garbage collection takes two steps
// as well: it ends generations, and then stashes.
import { isDeepStrictEqual } from 'node:util'
import {
  Mismatch,
  type Operation,
  type OraclePlace,
  type Outcome,
  showOutcome,
} from './operation.js'
import { copyState, type Source, type State, stashSource } from './oracle.js'

type Step = Readonly<{ operation: number; kind: 'read' | 'begin' | 'act' }>

/**
 * The states after every order in which the answers are right.
 * @throws {Mismatch} if there is none
 */
export function checkInSomeOrder(
  before: readonly State[],
  operations: readonly Operation[],
  outcomes: readonly Outcome[],
  place: OraclePlace,
): readonly State[] {
  const states: State[] = []
  const problems: string[] = []
  for (const start of before) {
    for (const order of ordersOf(operations)) {
      const state = copyState(start)
      const problem = checkOrder(state, order, operations, outcomes, place)
      if (problem !== null) problems.push(`${showOrder(order)}: ${problem}`)
      else if (!states.some((known) => isDeepStrictEqual(known, state))) states.push(state)
    }
  }
  if (states.length > 0) return states
  const told = operations.map(({ text }, i) => {
    const outcome = outcomes[i]
    return `${i}. ${text} gave ${outcome && showOutcome(outcome)}`
  })
  throw new Mismatch(`no order explains\n${told.join('\n')}\n${problems.join('\n')}`)
}

/** The contradiction in the answers in this order; null: none. Changes the state. */
function checkOrder(
  state: State,
  order: readonly Step[],
  operations: readonly Operation[],
  outcomes: readonly Outcome[],
  place: OraclePlace,
): string | null {
  const held = new Map<number, Source>()
  try {
    for (const { operation: index, kind } of order) {
      const [operation, outcome] = [operations[index], outcomes[index]]
      if (operation === undefined || outcome === undefined) continue
      if (kind === 'read') {
        held.set(index, stashSource(state, operation.stash ?? '') ?? [])
        continue
      }
      if (kind === 'begin') {
        operation.begin?.(state, place)
        continue
      }
      const chunks = held.get(index)
      if (chunks !== undefined && !stillHolds(state, operation, chunks)) {
        return 'the stash has changed'
      }
      operation.check(state, outcome, place, chunks?.length === 0 ? undefined : chunks)
    }
  } catch (failure) {
    if (failure instanceof Mismatch) return failure.message
    throw failure
  }
  return null
}

function stillHolds(state: State, { stash = '' }: Operation, chunks: Source): boolean {
  const now = new Set(stashSource(state, stash)?.map(({ chunk }) => chunk))
  return chunks.every(({ chunk }) => now.has(chunk))
}

function ordersOf(operations: readonly Operation[]): Step[][] {
  const steps = operations.map(({ stash, begin }, operation): Step[] => {
    const act: Step = { operation, kind: 'act' }
    if (begin !== undefined) return [{ operation, kind: 'begin' }, act]
    return stash === undefined ? [act] : [{ operation, kind: 'read' }, act]
  })
  return interleavings(steps)
}

/** All orders of the steps that keep the order within each list. */
function interleavings(lists: readonly (readonly Step[])[]): Step[][] {
  const left = lists.filter((steps) => steps.length > 0)
  if (left.length === 0) return [[]]
  return left.flatMap((steps) => {
    const [first, ...rest] = steps
    const others = left.map((other) => (other === steps ? rest : other))
    return first === undefined ? [] : interleavings(others).map((order) => [first, ...order])
  })
}

function showOrder(order: readonly Step[]): string {
  const verbs = { read: ' reads', begin: ' begins', act: '' }
  return `in the order ${order.map(({ operation, kind }) => operation + verbs[kind]).join(', ')}`
}
