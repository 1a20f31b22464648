import { describe, expect, test } from 'vitest'
import { ROOT } from '../../support/project.js'
import { findCode, placeOf } from './plant.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { PLANTED_BUGS as PLANTED_CHANGE_BUGS } from './planted-change-bugs.js'
import { PLANTED_BUGS as PLANTED_CRASH_BUGS } from './planted-crash-bugs.js'
import { PLANTED_BUGS as PLANTED_DUTY_BUGS } from './planted-duty-bugs.js'
import { PLANTED_BUGS as PLANTED_FILE_BUGS } from './planted-file-bugs.js'
import { PLANTED_BUGS as PLANTED_FIND_BUGS } from './planted-find-bugs.js'
import { PLANTED_BUGS as PLANTED_HINT_BUGS } from './planted-hint-bugs.js'
import { PLANTED_BUGS as PLANTED_INCARNATION_BUGS } from './planted-incarnation-bugs.js'
import { PLANTED_BUGS as PLANTED_JOB_BUGS } from './planted-job-bugs.js'
import { PLANTED_BUGS as PLANTED_KEY_BUGS } from './planted-key-bugs.js'
import { PLANTED_BUGS as PLANTED_LADDER_BUGS } from './planted-ladder-bugs.js'
import { PLANTED_BUGS as PLANTED_LIFE_BUGS } from './planted-life-bugs.js'
import { PLANTED_BUGS as PLANTED_MERGE_BUGS } from './planted-merge-bugs.js'
import { PLANTED_BUGS as PLANTED_PLACE_BUGS } from './planted-place-bugs.js'
import { PLANTED_BUGS as PLANTED_POSTGRES_BUGS } from './planted-postgres-bugs.js'
import { PLANTED_BUGS as PLANTED_S3_BUGS } from './planted-s3-bugs.js'
import { PLANTED_BUGS as PLANTED_SETTLE_BUGS } from './planted-settle-bugs.js'
import { PLANTED_BUGS as PLANTED_SHARING_BUGS } from './planted-sharing-bugs.js'
import { PLANTED_BUGS as PLANTED_SIM_BUGS } from './planted-sim-bugs.js'
import { PLANTED_BUGS as PLANTED_SQLITE_BUGS } from './planted-sqlite-bugs.js'
import { PLANTED_BUGS as PLANTED_TRANSACTION_BUGS } from './planted-transaction-bugs.js'
import { PLANTED_BUGS as PLANTED_WIPE_BUGS } from './planted-wipe-bugs.js'

const BUGS = [
  ...PLANTED_BUGS,
  ...PLANTED_FILE_BUGS,
  ...PLANTED_CHANGE_BUGS,
  ...PLANTED_CRASH_BUGS,
  ...PLANTED_DUTY_BUGS,
  ...PLANTED_FIND_BUGS,
  ...PLANTED_HINT_BUGS,
  ...PLANTED_INCARNATION_BUGS,
  ...PLANTED_JOB_BUGS,
  ...PLANTED_KEY_BUGS,
  ...PLANTED_LADDER_BUGS,
  ...PLANTED_LIFE_BUGS,
  ...PLANTED_MERGE_BUGS,
  ...PLANTED_PLACE_BUGS,
  ...PLANTED_POSTGRES_BUGS,
  ...PLANTED_S3_BUGS,
  ...PLANTED_SETTLE_BUGS,
  ...PLANTED_SHARING_BUGS,
  ...PLANTED_SIM_BUGS,
  ...PLANTED_SQLITE_BUGS,
  ...PLANTED_TRANSACTION_BUGS,
  ...PLANTED_WIPE_BUGS,
]

test.each(BUGS)('it can be planted that $name', (bug) => {
  const { source, start, end } = placeOf(ROOT, bug)

  expect(source.slice(start, end)).not.toBe(bug.replace)
})

describe('a piece of code is found', () => {
  const source = `const a = [
    'x y', // Why.
    /* Odd. */ f(\`a // no comment\`),
  ]
  f( /["'] /,
    2)`

  test.each([
    ['over lines and comments', "['x y', f(`a // no comment`),]", 1],
    ['behind a regular expression with quotes', 'f(/["\'] /, 2)', 1],
    ['in each place', 'f(', 2],
    ['nowhere in a comment', 'Why', 0],
  ])('%s', (_, piece, count) => {
    expect(findCode(source, piece)).toHaveLength(count)
  })
})
