// Bugs of the history of tables that test/store/history.test.ts must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the row before a change is the one before the last change of it',
    file: 'past-view.ts',
    find: 'if (known !== undefined && comparePositions(known, before.position) === 0) continue',
    replace: '',
  },
  {
    name: 'a row that was added since is seen in a table as of before',
    file: 'past-view.ts',
    find: 'if (comparePositions(position, end) >= 0) return ADDED_SINCE',
    replace: '',
  },
  {
    name: 'a row that one commit adds and removes is told as added',
    file: 'record-history.ts',
    find: 'removed: [...runsOf(removed), ...runsOf(neverSeen)],',
    replace: 'removed: runsOf(removed),',
  },
  {
    name: 'the sweep drops overwritten rows that the history needs',
    file: 'sweep-generations.ts',
    find: 'now - retirement.retiredAt <= options.historyRetentionMs',
    replace: 'now < 0',
  },
  {
    name: 'the sweep drops schemas that the history needs',
    file: 'sweep-generations.ts',
    find: 'return first !== null && compareBytes(key, first) >= 0',
    replace: 'return first === null && compareBytes(key, key) > 0',
  },
  {
    name: 'rows of records that a merge removes all at once were never there',
    file: 'record-history.ts',
    find: 'before.segment?.object === after.segment?.object && before.folded === after.folded',
    replace: 'before.segment?.object === after.segment?.object',
  },
  {
    name: 'a transaction has no history',
    file: 'transaction.ts',
    find: 'team.history === undefined ? [] :',
    replace: 'team.history !== undefined ? [] :',
  },
]
