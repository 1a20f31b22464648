// Bugs in keys of tables that `test/store/keys.test.ts` must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a key belongs to a row that was deleted',
    file: 'unique/changed-keys.ts',
    find: 'if (await this.#hasKey(other, hash)) throw await this.#conflict(text, other, position)',
    replace: 'throw await this.#conflict(text, other, position)',
  },
  {
    name: 'many rows are not compared with those that came one by one',
    file: 'unique/linked-keys.ts',
    find: 'for (const [key, record] of entries) await look(hashOfEntryKey(key), decodeKeyEntry(record))',
    replace:
      'for (const [key, record] of entries.slice(1_000)) await look(hashOfEntryKey(key), decodeKeyEntry(record))',
  },
  {
    name: 'a transaction does not look at keys',
    file: 'staged-changes.ts',
    find: 'const keyed = withKey(this.#team.keyed, place, plan)',
    replace: 'const keyed = plan',
  },
  {
    name: 'rows with an empty cell in the key are compared',
    file: 'key-hash.ts',
    find: 'if (cells.count < this.#columns.length) return null',
    replace: '',
  },
  {
    name: 'an overwrite takes the key away',
    file: 'unique/changed-keys.ts',
    find: 'next: { ...next, keyIndex: to.index }',
    replace: 'next: isNew ? next : { ...next, keyIndex: to.index }',
  },
  {
    name: 'a run that takes up an older one loses its entries',
    file: 'unique/linked-keys.ts',
    find: 'rows.addAll(await from.bucket(run, bucket))',
    replace: '',
  },
  {
    name: 'a change of a row leaves its old key behind as its own',
    file: 'unique/key-index.ts',
    find: 'return known !== null && sameBytes(known, hash) ? row : null',
    replace: 'return known === null ? null : row',
  },
  {
    name: 'the index of overwritten rows is never swept',
    file: 'sweep-keys.ts',
    find: 'if (!sameValue(used, place.index)) unused.push(place)',
    replace: '',
  },
]
