// The state of a run: the states that explain every answer so far, and the check of one more answer.
import type fc from 'fast-check'
import { Mismatch, type Operation, type OraclePlace, outcomeOf } from './operation.js'
import { emptyState, type State } from './oracle.js'
import type { World } from './world.js'

/**
 * The model of fast-check in a run: the states that explain every answer so far. After a race there may be several,
 * until a later answer decides.
 */
export class Model {
  states: readonly State[] = [emptyState()]

  /** One of the states, for choosing tables and rows. */
  get state(): State {
    const [state] = this.states
    if (state === undefined) throw new Error('a model has a state')
    return state
  }
}

export type RunCommand = fc.AsyncCommand<Model, World>

/** Most tables of a run. */
export const TABLES_MAX = 4

export function placeOf({ clock, profile }: World): OraclePlace {
  return { now: clock.now(), limits: profile.options }
}

/** Runs an operation and compares its outcome with the oracle. */
export async function runAlone(operation: Operation, model: Model, world: World): Promise<void> {
  const outcome = await outcomeOf(operation, world)
  world.noteEnd()
  const place = placeOf(world)
  const problems: string[] = []
  model.states = model.states.filter((state) => {
    try {
      operation.check(state, outcome, place)
      return true
    } catch (failure) {
      if (!(failure instanceof Mismatch)) throw failure
      problems.push(failure.message)
      return false
    }
  })
  if (model.states.length === 0) throw new Mismatch(`${operation.text}: ${problems[0]}`)
}
