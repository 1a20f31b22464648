// Operations of a history on the keys of tables. An operation that would break a key has no effect.
import type { ReadResult } from '../../../src/index.js'
import { fits } from './life-operations.js'
import { type DiskJudge, matchRows, refused, type SimOperation } from './operations.js'
import { isUnique, type KeyColumn, type ModelTable } from './oracle.js'

/** Gives a table a key, or, with null, takes it away. */
export function alterKey(world: DiskJudge, table: ModelTable, key: KeyColumn | null): SimOperation {
  return {
    text: `alter ${table.name} to be by ${key}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').alter({ key: key === null ? null : [key] }),
    apply: (state, outcome) => {
      const isBroken = state !== null && !isUnique(key, state.rows)
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return code === 'KEY_NOT_UNIQUE' && isBroken
        })
      }
      if (state === null || isBroken) return []
      const next = state.key === key ? state : { ...state, version: state.version + 1, key }
      return fits(outcome, ({ version }) => version === next.version) ? [next] : []
    },
  }
}

/** Reads a row by its key beside others. */
export function getBeside(
  world: DiskJudge,
  table: ModelTable,
  key: KeyColumn,
  value: string | number,
): SimOperation {
  return {
    text: `get ${table.name} by ${key} ${value}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').get({ [key]: value }),
    apply: (state, outcome) => {
      if (outcome.kind === 'unknown') return []
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return code === 'REQUEST_VALIDATION_ERROR' && state !== null && state.key !== key
        })
      }
      if (state?.key !== key) return []
      const found = outcome.value as ReadResult | null
      const row = state.rows.find((one) => one[key] === value)
      if (row === undefined || found === null) {
        return row === undefined && found === null ? [state] : []
      }
      const isIt = found.version === row.version && matchRows([row], [found.row]) !== null
      return isIt ? [state] : []
    },
  }
}
