// Bugs that the tests of finding rows must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a filter does not have the values that were written with escapes',
    file: 'value-hash.ts',
    find: 'if (!isEscaped) return hashOfText(bytes, from + 1, to - 1)',
    replace: 'if (from >= 0) return hashOfText(bytes, from + 1, to - 1)',
  },
  {
    name: 'a filter has only the first element of an array',
    file: 'noted-column.ts',
    find: 'this.#addText(bytes, view, at, end, isEscaped)',
    replace: 'return this.#addText(bytes, view, at, end, isEscaped)',
  },
  {
    name: 'a frame is searched although a text may stand there with escapes',
    file: 'row-matcher.ts',
    find: 'if (byteSearch.indexOf(texts, ESCAPE) >= 0) return null',
    replace: '',
  },
  {
    name: 'a segment that is left out takes the row records over it along',
    file: 'find-walk.ts',
    find: '? takeRecords(reading)',
    replace: '? null',
  },
  {
    name: 'a segment whose rows are converted is judged by what it has stored',
    file: 'find-rows.ts',
    find: 'ref === null || converts ||',
    replace: 'ref === null ||',
  },
  {
    name: 'the greatest value of a segment is taken for less than all others',
    file: 'may-match.ts',
    find: "case 'gte':\n        return difference >= 0",
    replace: "case 'gte':\n        return difference > 0",
  },
  {
    name: 'numbers of different scales are compared by their digits',
    file: 'decimal.ts',
    find: 'const size = point < to ? whole / (POWERS[to - point] ?? Number.NaN) : whole',
    replace: 'const size = point + 1 < to ? whole / (POWERS[to - point] ?? Number.NaN) : whole',
  },
  {
    name: 'a page that is full goes on behind the row that did not fit',
    file: 'find-walk.ts',
    find: 'if (found.take(extent, { frame, first: row, limit: row + 1, slot: at }) === 0) return at\n    if (found.isFull)',
    replace:
      'if (found.take(extent, { frame, first: row, limit: row + 1, slot: at }) === 0) return at + 1\n    if (found.isFull)',
  },
]
