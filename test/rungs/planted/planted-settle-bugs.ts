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
    file: 'settle-pages.ts',
    find: 'checks: [...checks, ...chunks.checks]',
    replace: 'checks: chunks.checks',
  },
  {
    name: 'a settle deletes the old objects before its commit',
    file: 'settle-pages.ts',
    find: 'const puts = await Promise.allSettled(',
    replace:
      'await this.#context.objects.delete(all.map(({ ref }) => storedIn(ref)))\n const puts = await Promise.allSettled(',
  },
  {
    name: 'a settle swaps an entry whose segment was replaced meanwhile',
    file: 'settle-pages.ts',
    find: 'entry?.segment?.object !== swap.found.ref.object',
    replace: '!entry?.segment',
  },
  {
    name: 'a settle says of each frame but the first that it begins a row later',
    file: 'repack-segment.ts',
    find: '.u32(firstRow)',
    replace: '.u32(firstRow + Math.min(at, 1))',
  },
  {
    name: 'a settle loses the row IDs that an overwrite preserved',
    file: 'repack-segment.ts',
    find: 'const kept = sections.map(',
    replace: 'const kept = sections.filter(([number]) => number !== SECTION.claims).map(',
  },
  {
    name: 'a settle loses the versions of rows that were changed',
    file: 'repack-segment.ts',
    find: 'const kept = sections.map(',
    replace: 'const kept = sections.filter(([number]) => number !== SECTION.rowVersions).map(',
  },
  {
    name: 'a settle loses the files that rows name',
    file: 'repack-segment.ts',
    find: 'const kept = sections.map(',
    replace: 'const kept = sections.filter(([number]) => number !== SECTION.files).map(',
  },
  {
    name: 'a settle rewrites each segment of an object by itself, because of which the old object stays',
    file: 'settle-groups.ts',
    find: 'const object = storedIn(ref)',
    replace: 'const object = ref.object',
  },
  {
    name: 'a settle rewrites segments of an object that stays for others',
    file: 'settle-pages.ts',
    find: 'last.length > 1',
    replace: 'last.length > 2',
  },
  {
    name: 'a settle says nothing of a damaged segment',
    file: 'settle-pages.ts',
    find: 'this.#of.noteDamaged(found.ref, failure)',
    replace: 'this.#leave(group)',
  },
  {
    name: 'a settle keeps a lent buffer for each small segment',
    file: 'settle-pages.ts',
    find: 'if (built.bytes.length > SMALL_SEGMENT_BYTES_MAX)',
    replace: 'if (built.bytes.length > 0)',
  },
  {
    name: 'a settle of small segments makes an object of each',
    file: 'settle-pages.ts',
    find: 'return putSharing({ ...this.#context, segmentPuts: this.#segmentPuts }, next, built)',
    replace:
      'return putSharing({ ...this.#context, segmentPuts: new SegmentPuts(this.#context) }, next, built)',
  },
]
