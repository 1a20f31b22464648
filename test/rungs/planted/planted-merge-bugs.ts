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
    find: 'if (pass === 0) partners[at] = NO_PARTNER',
    replace: 'if (pass === 0 && hasKey) partners[at] = NO_PARTNER',
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
]
