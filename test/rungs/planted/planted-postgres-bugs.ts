// Bugs that the tests of records in PostgreSQL must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a connection to PostgreSQL that begins during a raise of the version base keeps the old one',
    file: 'commit-session.ts',
    find: "where name = 'version_base' for share",
    replace: "where name = 'version_base'",
  },
  {
    name: 'a record in PostgreSQL that a commit checks may change before the commit ends',
    file: 'commit-statement.ts',
    find: "lockedPart('shared', records, take(2), 'for share')",
    replace: "lockedPart('shared', records, take(2), '')",
  },
  {
    name: 'a commit to PostgreSQL is written although its session was ended',
    file: 'commit-statement.ts',
    find: 'where id = $2 and n >= 0 and',
    replace: 'where id = $2 and',
  },
  {
    name: 'a store in PostgreSQL that loses every race never gets its turn',
    file: 'record-holds.ts',
    find: 'isDue ||= count >= REFUSALS_MIN',
    replace: 'isDue ||= count < REFUSALS_MIN && count < 0',
  },
]
