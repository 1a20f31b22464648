// Bugs of settles, which test/store/settle.test.ts must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a settle that swaps a segment of a chunk leaves the number of the stash',
    file: 'staged-chunks.ts',
    find: 'number: head.number + 1',
    replace: 'number: head.number',
  },
  {
    name: 'a settle does not check the chunk that it stores anew, nor its stash',
    file: 'staged-chunks.ts',
    find: 'plan.checks.push({ key: headKey, equals: headBytes }, ...chunks.checks)',
    replace: '',
  },
  {
    name: 'a settle makes a stash that has lost chunks pass for a whole one',
    file: 'staged-chunks.ts',
    find: '|| !isWhole(head, base)',
    replace: '',
  },
  {
    name: 'a settle leaves the old segments to chunks of stashes',
    file: 'staged-chunks.ts',
    find: 'chunks.puts.push([key, next])',
    replace: '',
  },
  {
    name: 'a settle puts another segment of the chunk in the place of one',
    file: 'staged-chunks.ts',
    find: 'before.object === segment.object',
    replace: 'before.rowCount === segment.rowCount',
  },
  {
    name: 'a settle does not check the extent page',
    file: 'settle-page.ts',
    find: 'checks: [{ key: this.#of.key, equals: page }, ...chunks.checks]',
    replace: 'checks: chunks.checks',
  },
]
