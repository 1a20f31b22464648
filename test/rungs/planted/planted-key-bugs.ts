// Bugs in keys of tables that `test/store/keys.test.ts` must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

/** `test`: the one that finds it; none: `keys.test.ts`. */
export type PlantedKeyBug = PlantedBug & Readonly<{ test?: 'changed-keys' }>

export const PLANTED_BUGS: readonly PlantedKeyBug[] = [
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
    name: 'a read by a key answers the row at an entry, whatever key it has now',
    file: 'unique/find-by-key.ts',
    find: 'if (row === null || !hasValues(row.text, key.columns, wanted)) {',
    replace: 'if (row === null) {',
  },
  {
    name: 'rows that come one by one are not compared with each other',
    file: 'unique/changed-keys.ts',
    find: 'if (twin !== undefined) throw await this.#conflict(row.text, twin.position, position)',
    replace: 'if (twin !== undefined) continue',
  },
  {
    name: 'many rows are not compared with each other',
    file: 'unique/changed-keys.ts',
    find: 'const twice = await this.#context.slices.begin().run(run.firstTwice())',
    replace: 'const twice = -1',
  },
  {
    // Only a unit test finds it: no operation of today links more rows than get entries and gives others a key beside them.
    test: 'changed-keys',
    name: 'many rows are not compared with those that change beside them',
    file: 'unique/changed-keys.ts',
    find: 'const at = hash === null ? -1 : run.find(hash)',
    replace: 'const at = hash === null ? -1 : Math.min(-1, run.find(hash))',
  },
  {
    name: 'a key that a row gives to another is taken from both',
    file: 'unique/changed-keys.ts',
    find: 'for (const hash of gone) if (!fresh.has(toHex(hash))) deletes.push(keyEntryKey(to, hash))',
    replace: `const given = new Set(gone.map(toHex))
    for (const hash of gone) deletes.push(keyEntryKey(to, hash))
    puts.splice(0, puts.length, ...puts.filter(([key]) => key[0] !== KEY_SPACE.keyEntry || !given.has(toHex(key.slice(-16)))))`,
  },
  {
    name: 'a row that comes alone is not compared with many that came at once',
    file: 'unique/key-index.ts',
    find: 'if (bytes !== null) found.push(...positionsInBucket(bytes, hash))',
    replace: '',
  },
  {
    name: 'a key is given to a table whose rows do not have it alone',
    file: 'table/table-key.ts',
    find: 'const twice = await team.slices.begin().run(keys.firstTwice())',
    replace: 'const twice = keys.count - keys.count - 1',
  },
  {
    name: 'a column of a key changes from numbers to texts',
    file: 'unique/key-columns.ts',
    find: 'if (isTextKind(old) === isTextKind(kind)) continue',
    replace: 'if (isTextKind(old) === isTextKind(kind) || id !== "") continue',
  },
  {
    name: 'the index of overwritten rows is never swept',
    file: 'sweep-keys.ts',
    find: 'if (!sameValue(used, place.index)) unused.push(place)',
    replace: '',
  },
]
