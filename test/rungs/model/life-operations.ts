// Operations on the life of a table: its name, and its end.
import { expectEqual, expectFailure, expectValue, type Operation } from './operation.js'
import { currentOf } from './oracle.js'
import { type IfMatch, onTable, type TableTarget, tableOf } from './row-operations.js'

type Change = Readonly<{ ifMatch: IfMatch }>

export function renameTable(
  target: TableTarget,
  { name, ifMatch }: Change & Readonly<{ name: string }>,
): Operation {
  return {
    text: `rename to ${name} ifMatch ${ifMatch}`,
    run: (world) => tableOf(world, target).rename(name, { ifMatch }),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        if (table.name !== name) table.version++
        table.name = name
        expectEqual('the result', expectValue(outcome), { version: table.version })
      })
    },
  }
}

export function deleteTable(target: TableTarget, { ifMatch }: Change): Operation {
  return {
    text: `delete the table ifMatch ${ifMatch}`,
    run: (world) => tableOf(world, target).delete({ ifMatch }),
    check(state, outcome, { now }) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        expectEqual('the result', expectValue(outcome), undefined)
        currentOf(table).retired = { at: now, lastVersion: table.version }
        state.tables = state.tables.filter((other) => other !== table)
        state.walks = state.walks.filter(({ tableId }) => tableId !== table.id)
        state.dead.push(table)
      })
    },
  }
}

function isPast(ifMatch: IfMatch, { version }: Readonly<{ version: number }>): boolean {
  return ifMatch !== undefined && BigInt(version) > BigInt(ifMatch)
}
