import { expect, test } from 'vitest'
import { readText } from '../support/source-files.js'
import { PLANTED_BUGS } from './planted-bugs.js'

test.each(PLANTED_BUGS)('it can be planted that $name', ({ file, find, replace }) => {
  expect(readText(file).split(find)).toHaveLength(2)
  expect(replace).not.toBe(find)
})
