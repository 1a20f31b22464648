import { expect, test } from 'vitest'
import { spaceWarning } from '../../../adapters/cli/server/space-warning.js'

const LIMITS = { teamRowBytesMax: 1, stashBytesMax: 1, teamFileBytesMax: 1 }

test('several teams without limits get a warning with each limit that is off', () => {
  expect(spaceWarning(['a', 'b'], {}, 'the disk')).toBe(
    'Several teams share the disk, and one of them can fill it for all: limit each with ' +
      '--limit teamRowBytesMax=BYTES, --limit stashBytesMax=BYTES, --limit teamFileBytesMax=BYTES',
  )
  const { teamFileBytesMax: _, ...others } = LIMITS
  expect(spaceWarning(['a', 'b'], others, 'the disk')).toMatch(
    /: limit each with --limit teamFileBytesMax=BYTES$/,
  )
})

test('one team, or teams with limits, get no warning', () => {
  expect(spaceWarning(['a', 'a'], {}, 'the disk')).toBeUndefined()
  expect(spaceWarning([], {}, 'the disk')).toBeUndefined()
  expect(spaceWarning(['a', 'b'], LIMITS, 'the disk')).toBeUndefined()
})
