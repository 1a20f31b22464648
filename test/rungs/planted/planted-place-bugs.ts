// Bugs that the tests of objects in PostgreSQL, or of moves, must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly (PlantedBug & Readonly<{ test: 'objects' | 'move' }>)[] = [
  {
    test: 'objects',
    name: 'a put to PostgreSQL that fails leaves its pieces',
    file: 'postgres-objects.ts',
    find: 'if (!isStoreError(failure)) await this.#discard(id, mark).catch(() => undefined)',
    replace: 'if (isStoreError(failure)) this.#failed.delete(id)',
  },
  {
    test: 'objects',
    name: 'a put to PostgreSQL whose answer was lost fails because its own object is there',
    file: 'postgres-objects.ts',
    find: "invariant(own > 0, 'an object id is put once')",
    replace: "invariant(own > 1, 'an object id is put once')",
  },
  {
    test: 'objects',
    name: 'an object in PostgreSQL shows before its last pieces',
    file: 'postgres-objects.ts',
    find: 'const size = batch.isLast ? bytes : UNFINISHED',
    replace: 'const size = batch.pieces.length > 0 ? bytes : UNFINISHED',
  },
  {
    test: 'objects',
    name: 'pieces of PostgreSQL that are missing are not told',
    file: 'object-window.ts',
    find: 'if (this.#missing !== 0) throw this.#lost()',
    replace: 'if (this.#missing < 0) throw this.#lost()',
  },
  {
    test: 'objects',
    name: 'a deletion in PostgreSQL leaves all pieces but the first ones',
    file: 'postgres-objects.ts',
    find: 'for (let found = piecesMax; found === piecesMax; ) {',
    replace: 'for (let found = piecesMax; found === piecesMax + 1; ) {',
  },
  {
    test: 'objects',
    name: 'a put to PostgreSQL writes pieces although its row is being deleted',
    file: 'object-tables.ts',
    find: 'where id = $1 and put = $2 and (bytes is null or bytes = $3::bigint) returning 1),',
    replace: 'where id = $1 and $2::bytea is not null returning 1),',
  },
  {
    test: 'objects',
    name: 'a put to PostgreSQL that is under way is taken for abandoned',
    file: 'object-tables.ts',
    find: "const ABANDONED = `interval '1 hour'`",
    replace: "const ABANDONED = `interval '0 hours'`",
  },
  {
    test: 'objects',
    name: 'a range in PostgreSQL begins at the beginning of its first piece',
    file: 'object-tables.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code that builds a statement
    find: 'case when q.n = ${first} then ${skip} else 0 end',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code that builds a statement
    replace: 'case when q.n = ${first} - 1 then ${skip} else 0 end',
  },
  {
    test: 'move',
    name: 'a store in PostgreSQL that is filled by half can be opened',
    file: 'cli-move.ts',
    find: 'await this.#mark(true)',
    replace: 'await this.#mark(false)',
  },
  {
    test: 'move',
    name: 'a move raises the version base of a store before it finds that it is one',
    file: 'cli-move.ts',
    find: 'const found = await openSharedPorts(this.#place, { warn })',
    replace: 'const found = await openSharedPorts(this.#place, { warn, versionBaseMin })',
  },
]
