// Bugs in the life of tables that the model test, or that of tables, must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly (PlantedBug & Readonly<{ test: 'model' | 'life' }>)[] = [
  {
    test: 'model',
    name: 'a deleted table stays in the catalog',
    file: 'table/table-life.ts',
    find: 'change: { next: null, puts, deletes: [catalogKey(order)] }',
    replace: 'change: { next: null, puts }',
  },
  {
    test: 'life',
    name: 'a scan ends with its table',
    file: 'open-page.ts',
    find: 'if (head === null && pinned === undefined) throw tableNotFound(tableId)',
    replace: 'if (head === null) throw tableNotFound(tableId)',
  },
  {
    test: 'model',
    name: 'rows of a deleted table are kept as overwritten ones are',
    file: 'sweep-generations.ts',
    find: 'if (retirement.dropping || !isWithin || dead.has(toHex(table))) over.push(retired)',
    replace: 'if (retirement.dropping || !isWithin) over.push(retired)',
  },
  {
    test: 'model',
    name: 'a delete ignores the version that it is bound to',
    file: 'table/table-life.ts',
    find: `checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const now`,
    replace: 'const now',
  },
  {
    test: 'model',
    name: 'a column that comes back shows its old cells',
    file: 'schema-record.ts',
    find: 'for (const id of ids) if (dropped.delete(id)) since.set(id, version)',
    replace: 'for (const id of ids) dropped.delete(id)',
  },
  {
    test: 'model',
    name: 'an update of a row brings the cells of dropped columns back',
    file: 'table/row-update.ts',
    find: 'const text = spliceRowText(shown, cells)',
    replace: 'const text = spliceRowText(row.stored.text, cells)',
  },
  {
    test: 'model',
    name: 'a folded row is as old as its extent to a column that came back',
    file: 'page-reader.ts',
    find: 'convert(text, versionOf?.(slot) ?? entry?.version ?? 0)',
    replace: 'convert(text, entry?.version ?? 0)',
  },
  {
    test: 'life',
    name: 'receipts of a deleted table stay',
    file: 'dead-table.ts',
    find: 'KEY_SPACE.schema, KEY_SPACE.receipt,',
    replace: 'KEY_SPACE.schema,',
  },
  {
    test: 'life',
    name: 'the sweep is not told of a deleted table',
    file: 'table/table-life.ts',
    find: `...hintOfTable(team, table, version + 1),`,
    replace: '',
  },
  {
    test: 'life',
    name: 'deleted tables count for the limit of tables',
    file: 'table-counts.ts',
    find: 'if (known !== undefined && known.tables + made - known.made < this.#tablesMax) return false',
    replace: 'if (known !== undefined) return true',
  },
]
