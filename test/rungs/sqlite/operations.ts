// Operations as data: all choices are made before anything is done, so a list of them can be shortened.
import type { Seeded } from '../../support/seeded.js'
import { anyBody, anyChanges, type Body, type Cells } from './bodies.js'

export type Rows = Readonly<{ stash: string }> | Readonly<{ body: Body }>

/** The difference to the current version; null: no precondition. */
type IfMatch = number | null

/** Tables and rows are named by numbers: which of all that exist, or ever existed. */
export type Operation =
  | Readonly<{ do: 'create'; rows: Rows }>
  | Readonly<{ do: 'add'; table: number; rows: Rows }>
  | Readonly<{ do: 'overwrite'; table: number; rows: Rows; ifMatch: IfMatch }>
  | Readonly<{
      do: 'update'
      table: number
      row: number
      cells: Cells
      asText: boolean
      ifMatch: IfMatch
    }>
  | Readonly<{ do: 'delete'; table: number; row: number }>
  | Readonly<{ do: 'put'; stash: string; serial: number; body: Body }>
  | Readonly<{ do: 'drop stash'; stash: string }>
  | Readonly<{ do: 'walk'; table: number; limit: number }>
  | Readonly<{ do: 'get'; table: number; row: number }>
  | Readonly<{ do: 'garbageCollection' }>
  | Readonly<{ do: 'reopen' }>

export const OPERATIONS_MAX = 50

export function anyOperations(random: Seeded): Operation[] {
  return Array.from({ length: 1 + random.below(OPERATIONS_MAX) }, () => anyOperation(random))
}

/** Operations name tables below this number, some of which do not exist. */
const TABLES_MORE = 7

const WEIGHTS: readonly (readonly [weight: number, kind: Operation['do']])[] = [
  [3, 'create'],
  [8, 'add'],
  [4, 'overwrite'],
  [9, 'update'],
  [6, 'delete'],
  [8, 'put'],
  [1, 'drop stash'],
  [3, 'walk'],
  [3, 'get'],
  [2, 'garbageCollection'],
  [2, 'reopen'],
]
const KINDS = WEIGHTS.flatMap(([weight, kind]) => Array.from({ length: weight }, () => kind))

function anyOperation(random: Seeded): Operation {
  const kind = random.pick(KINDS)
  const table = random.below(TABLES_MORE)
  const row = random.below(100)
  const ifMatch = random.pick([null, null, 0, 0, -1, 5])
  switch (kind) {
    case 'create':
      return { do: kind, rows: anyRows(random) }
    case 'add':
      return { do: kind, table, rows: anyRows(random) }
    case 'overwrite':
      return { do: kind, table, rows: anyRows(random), ifMatch }
    case 'update':
      return { do: kind, table, row, cells: anyChanges(random), asText: random.once(2), ifMatch }
    case 'put':
      return { do: kind, stash: anyStash(random), serial: random.below(12), body: anyBody(random) }
    case 'drop stash':
      return { do: kind, stash: anyStash(random) }
    case 'walk':
      return { do: kind, table, limit: random.pick([1, 2, 3, 7, 100]) }
    case 'delete':
    case 'get':
      return { do: kind, table, row }
    default:
      return { do: kind }
  }
}

function anyStash(random: Seeded): string {
  return random.pick(['left', 'right'])
}

function anyRows(random: Seeded): Rows {
  return random.once(2) ? { stash: anyStash(random) } : { body: anyBody(random) }
}
