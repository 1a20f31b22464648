// Transactions: operations on tables of a team that are committed together, or not at all.
import type { Transaction } from '../../../src/index.js'
import {
  expectValue,
  Mismatch,
  type Operation,
  type OraclePlace,
  type Outcome,
} from './operation.js'
import { copyState, type State } from './oracle.js'
import type { World } from './world.js'

/** An operation of a transaction, and its table. */
export type Part = Readonly<{ operation: Operation; tableId: string }>

/** The outcomes of all parts, or of those up to the first that failed. */
type Outcomes = readonly Outcome[]

export function transaction(instance: number, parts: readonly Part[]): Operation {
  return {
    text: `a transaction of (${parts.map(({ operation }) => operation.text).join('; ')})`,
    run: (world) => runParts(world, instance, parts),
    check(state, outcome, place) {
      const outcomes = expectValue(outcome) as Outcomes
      const after = copyState(state)
      for (const [i, part] of parts.entries()) {
        const own = outcomes[i]
        if (own === undefined) throw new Mismatch(`part ${i} did not run`)
        checkPart(state, after, part, own, place)
        if ('failure' in own) return
      }
      Object.assign(state, after)
    },
  }
}

async function runParts(world: World, instance: number, parts: readonly Part[]): Promise<Outcomes> {
  let outcomes: Outcome[] = []
  let newRowIds: string[] = []
  let isFailed = false
  try {
    await world.team(instance).transaction(async (t) => {
      outcomes = []
      newRowIds = []
      isFailed = false
      const inside = insideOf(world, t, newRowIds)
      for (const { operation } of parts) {
        try {
          outcomes.push({ value: await operation.run(inside) })
        } catch (failure) {
          outcomes.push({ failure })
          isFailed = true
          throw failure
        }
      }
    })
  } catch (failure) {
    if (!isFailed) throw failure
    return outcomes
  }
  world.newRowIds.push(...newRowIds) // The IDs of a transaction that fails may be used again.
  return outcomes
}

/** The world for the parts of a transaction. */
function insideOf(world: World, t: Transaction, newRowIds: string[]): World {
  return Object.create(world, {
    team: { value: () => t },
    newRowIds: { value: newRowIds },
  }) as World
}

/** All changes of a table make one version. A later part that changes nothing returns this version too. */
function checkPart(
  before: State,
  after: State,
  { operation, tableId }: Part,
  outcome: Outcome,
  place: OraclePlace,
): void {
  const { version } = before.tables.find(({ id }) => id === tableId) ?? { version: 0 }
  const attempt = (base: number): State => {
    const state = copyState(after)
    for (const table of state.tables) if (table.id === tableId) table.version = base
    operation.check(state, outcome, place)
    return state
  }
  const versionNow = after.tables.find(({ id }) => id === tableId)?.version ?? 0
  if (versionNow === version) {
    Object.assign(after, attempt(version))
    return
  }
  try {
    const same = attempt(versionNow)
    if (versionOf(same, tableId) === versionNow) {
      Object.assign(after, same)
      return
    }
  } catch (failure) {
    if (!(failure instanceof Mismatch)) throw failure
  }
  const changed = attempt(version)
  if (versionOf(changed, tableId) === versionNow) Object.assign(after, changed)
  else throw new Mismatch(`it answers version ${version} after a change of the transaction`)
}

function versionOf({ tables }: State, tableId: string): number {
  return tables.find(({ id }) => id === tableId)?.version ?? 0
}
