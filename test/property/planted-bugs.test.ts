import { expect, test } from 'vitest'
import { readText } from '../support/source-files.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { PLANTED_BUGS as PLANTED_CRASH_BUGS } from './planted-crash-bugs.js'
import { PLANTED_BUGS as PLANTED_FILE_BUGS } from './planted-file-bugs.js'
import { PLANTED_BUGS as PLANTED_LADDER_BUGS } from './planted-ladder-bugs.js'
import { PLANTED_BUGS as PLANTED_SIM_BUGS } from './planted-sim-bugs.js'
import { PLANTED_BUGS as PLANTED_SQLITE_BUGS } from './planted-sqlite-bugs.js'

const BUGS = [
  ...PLANTED_BUGS,
  ...PLANTED_FILE_BUGS,
  ...PLANTED_CRASH_BUGS,
  ...PLANTED_LADDER_BUGS,
  ...PLANTED_SIM_BUGS,
  ...PLANTED_SQLITE_BUGS,
]

test.each(BUGS)('it can be planted that $name', ({ file, find, replace }) => {
  expect(readText(file).split(find)).toHaveLength(2)
  expect(replace).not.toBe(find)
})
