// Bugs that the comparison with SQLite must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'an overwrite keeps the rows that were there',
    file: 'overwrite-rows.ts',
    find: 'const empty = emptyGeneration(random.bytes(8), firstExtent, schemaNumber)',
    replace: `const fresh = emptyGeneration(random.bytes(8), firstExtent, schemaNumber)
    const empty = { ...before, nonce: fresh.nonce, forward: null }`,
  },
  {
    name: 'the last row of a segment is not linked',
    file: 'append-rows.ts',
    find: 'return { nonce: nonces(), segment: ref, rowCount, version, ...form }',
    replace:
      'return { nonce: nonces(), segment: ref, rowCount: Math.max(1, rowCount - 1), version, ...form }',
  },
  {
    name: 'an add loses its last row',
    file: 'append-rows.ts',
    find: "return 'texts' in rows ? appendTexts(place, rows.texts) : appendSegments(place, rows)",
    replace: `return 'texts' in rows
    ? appendTexts(place, rows.texts.slice(0, -1))
    : appendSegments(place, rows)`,
  },
  {
    name: 'an update goes to the row before',
    file: 'row-update.ts',
    find: 'const puts = [[rowKey(table, position), record] as const, ...markers]',
    replace: `const slot = Math.max(0, position.slot - 1)
  const puts = [[rowKey(table, { ...position, slot }), record] as const, ...markers]`,
  },
  {
    name: 'an update with null leaves the cell',
    file: 'row-update.ts',
    find: 'cells.set(id, token === null ? null : toStoredToken(token, column.type, false))',
    replace: 'if (token !== null) cells.set(id, toStoredToken(token, column.type, false))',
  },
  {
    name: 'an overwrite that fails by its precondition has its effect',
    file: 'table.ts',
    find: 'const changed = await overwriteRows(place, checked)',
    replace: `const changed = await overwriteRows(place, { ...checked, ifMatch: undefined })
      const { ifMatch } = request
      if (ifMatch !== undefined && changed.version - 1 > ifMatch) {
        throw new StoreError('PRECONDITION_FAILED', '')
      }
`,
  },
  {
    name: 'a chunk that does not fit ends an add, and those before it are there',
    file: 'rows-reader.ts',
    find: "if (verdict === 'misfit') {",
    replace: `if (verdict === 'misfit' && verdicts.length > 0) return verdicts
      if (verdict === 'misfit') {`,
  },
  {
    name: 'to delete a row that is not there raises the version',
    file: 'row-update.ts',
    find: 'if (position === null) return { result: { version, deleted: false } }',
    replace:
      'if (position === null) return { result: { version, deleted: false }, change: { next: generation, puts: [] } }',
  },
  {
    name: 'chunks come in the order of their serials as texts',
    file: 'serial-order.ts',
    find: '? compareNumbers : compareTexts',
    replace: '? compareTexts : compareTexts',
  },
]
