// Bugs of merges that the test with the oracle of plain lists, or the test of merges beside others, must find; see
// planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export type PlantedMergeBug = PlantedBug & Readonly<{ test: 'oracle' | 'beside' }>

export const PLANTED_BUGS: readonly PlantedMergeBug[] = [
  {
    test: 'oracle',
    name: 'keys are compared by their texts',
    file: 'row-fingerprint.ts',
    find: 'const canonical = utf8(canonicalToken(sliceText(this.#bytes, start, end)))',
    replace: 'const canonical = utf8(sliceText(this.#bytes, start, end))',
  },
  {
    test: 'oracle',
    name: 'a row whose values are the same in another form is written',
    file: 'row-values.ts',
    find: 'return canonicalToken(left) === canonicalToken(right)',
    replace: 'return false',
  },
  {
    test: 'oracle',
    name: 'an upsert leaves a cell that the input names and a row lacks',
    file: 'merged-row.ts',
    find: 'if (rules.inputColumns.has(id) && !after.has(id)) changes.set(id, null)',
    replace: '',
  },
  {
    test: 'oracle',
    name: 'an extent that is written anew shows its old row records',
    file: 'rewrite-extent.ts',
    find: 'if (this.#changed > before || wasRemoved) this.#overlaid.push(slot)',
    replace: '',
  },
  {
    test: 'oracle',
    name: 'an extent that is written anew gives unchanged rows the new version',
    file: 'rewrite-extent.ts',
    find: `copy()
      this.#versions.push(version)`,
    replace: `copy()
      this.#versions.push(this.#version ?? version)`,
  },
  {
    test: 'oracle',
    name: 'a row with an empty key cell stays when all others are replaced',
    file: 'table-join.ts',
    find: 'if (pass === 0) joined.partners[at] = NO_PARTNER const hasKey = fingerprints.read(from, end, batch.count) < 0',
    replace:
      'const hasKey = fingerprints.read(from, end, batch.count) < 0; if (pass === 0 && hasKey) joined.partners[at] = NO_PARTNER',
  },
  {
    test: 'beside',
    name: 'a draft counts although others have changed the table since',
    file: 'merge-rows.ts',
    find: "if (draft === null || !isSameHead(draft.head, head)) return { result: 'rows' }",
    replace: "if (draft === null) return { result: 'rows' }",
  },
  {
    test: 'beside',
    name: 'an extent is not joined again after a row of it was updated twice',
    file: 'table-rows.ts',
    find: 'this.#newest = Math.max(this.#newest, version)',
    replace: '',
  },
  {
    test: 'oracle',
    name: 'rows in order are the same if they begin with the same bytes',
    file: 'same-rows.ts',
    find: 'return sameRanges(left.texts, from, right.texts, from + shift, bytes)',
    replace: 'return sameRanges(left.texts, from, right.texts, from + shift, Math.min(bytes, 9))',
  },
  {
    test: 'oracle',
    name: 'rows of the table count as in order although a key is smaller than the one before',
    file: 'ordered-join.ts',
    find: 'if (this.#key.compare(this.#last) <= 0) return UNORDERED',
    replace: '',
  },
  {
    test: 'oracle',
    name: 'keys with escapes are put into an order',
    file: 'ordered-key.ts',
    find: 'cells.isEscaped[column] !== 0',
    replace: 'false',
  },
  {
    test: 'beside',
    name: 'a changed row that is not in the same form is taken over as a whole',
    file: 'merged-row.ts',
    find: 'return changed.length === different.length ?',
    replace: 'return changed.length > 0 ?',
  },
  {
    test: 'oracle',
    name: 'a row record over rows in order comes behind them',
    file: 'table-rows.ts',
    find: 'if (extent.records.size === 0 && foldedSegment(extent.entry) === null) {',
    replace: 'if (foldedSegment(extent.entry) === null) {',
  },
  {
    test: 'beside',
    name: 'the rows of the input behind those of the table are not looked at',
    file: 'ordered-join.ts',
    find: 'if (this.#extents.length > 0) await this.#input.passAll()',
    replace: '',
  },
  {
    test: 'beside',
    name: 'what a merge refuses under the schema of before counts',
    file: 'merge-rows.ts',
    find: 'const moved = isStoreError(failure) ? await this.#movedBy(null) : null',
    replace: 'const moved = isStoreError(failure) ? null : await this.#movedBy(null)',
  },
]
