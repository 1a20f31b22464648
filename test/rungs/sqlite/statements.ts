// The tables and statements of the twin. SQLite itself judges: rows by CHECK, duplicates by UNIQUE, and it undoes
// failed operations by ROLLBACK.

/** The columns of every table of the runs, and SQLite's names for the JSON of their cells. */
export const COLUMNS = ['t', 'n', 'b', 'd', 'l'] as const
export type ColumnId = (typeof COLUMNS)[number]

/** The one column of a body that no table has. */
export const UNKNOWN_COLUMN = 'x'

/** Cells are JSON texts, because SQLite's types include neither booleans nor arrays. */
function cellCheck(column: ColumnId, rule: string): string {
  return `${column} TEXT CONSTRAINT ${column} CHECK (${column} IS NULL OR CASE json_valid(${column}) WHEN 1 THEN ${rule} END IS 1)`
}

export const SCHEMA = `
  CREATE TABLE tables (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    version INTEGER NOT NULL
  );
  CREATE TABLE rows (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id TEXT NOT NULL,
    row_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    unknown TEXT CONSTRAINT unknown CHECK (unknown IS NULL),
    ${cellCheck('t', "json_type(t) = 'text'")},
    ${cellCheck('n', "json_type(n) IN ('integer', 'real')")},
    ${cellCheck('b', "json_type(b) IN ('true', 'false')")},
    ${cellCheck('d', "json_type(d) = 'text' AND date(d ->> '$') IS (d ->> '$')")},
    ${cellCheck('l', "json_type(l) = 'array'")},
    UNIQUE (table_id, row_id)
  );
  CREATE INDEX rows_in_order ON rows (table_id, position);
  CREATE TABLE chunks (
    stash TEXT NOT NULL,
    serial INTEGER NOT NULL,
    isCsv INTEGER NOT NULL,
    body TEXT CONSTRAINT body CHECK (json_valid(body)),
    PRIMARY KEY (stash, serial)
  );
  CREATE TABLE kept (number INTEGER PRIMARY KEY, row_id TEXT NOT NULL UNIQUE);
  CREATE VIEW incoming AS
    SELECT stash, isCsv, sent.value AS row,
      row_number() OVER (PARTITION BY stash ORDER BY serial, sent.key) - 1 AS number
    FROM chunks, json_each(chunks.body) AS sent;
  ${['INSERT', 'UPDATE'].map(elementsTrigger).join('\n')}
`

/** A CHECK may contain no subquery, so the elements of arrays are checked here. */
function elementsTrigger(event: string): string {
  return `CREATE TRIGGER elements_${event} BEFORE ${event} ON rows
    WHEN json_valid(new.l) AND json_type(new.l) = 'array' AND EXISTS (
      SELECT 1 FROM json_each(new.l) WHERE type NOT IN ('integer', 'real')
    ) BEGIN SELECT RAISE(ABORT, 'CHECK constraint failed: l'); END;`
}

/** CSV sends texts: unless the column is a text, the text is its JSON. An empty field is an empty cell. */
function sentCell(column: ColumnId): string {
  const isText = column === 't' || column === 'd'
  const csv = isText ? `nullif(row -> '$.${column}', '""')` : `nullif(row ->> '$.${column}', '')`
  return `CASE isCsv WHEN 1 THEN ${csv} ELSE nullif(row -> '$.${column}', 'null') END`
}

const KNOWN = ['$rowID', ...COLUMNS].map((id) => `'${id}'`).join(', ')
const CLAIM = `nullif(row ->> '$."$rowID"', '')`

function unknownKeys(json: string): string {
  return `(SELECT group_concat(key) FROM json_each(${json}) WHERE key NOT IN (${KNOWN}))`
}

const SHOWN = `json_patch('{}', json_object('$rowID', row_id, ${COLUMNS.map((id) => `'${id}', json(${id})`).join(', ')}))`

export const STATEMENTS = {
  version: 'SELECT version FROM tables WHERE table_id = :table',
  isStash: 'SELECT count(*) FROM chunks WHERE stash = :stash',
  createTable: 'INSERT INTO tables (table_id, name, version) VALUES (:table, :name, 0)',
  raiseVersion: 'UPDATE tables SET version = version + 1 WHERE table_id = :table',
  putChunk:
    'INSERT OR REPLACE INTO chunks (stash, serial, isCsv, body) VALUES (:stash, :serial, :isCsv, :body)',
  chunkRows: 'SELECT json_array_length(body) FROM chunks WHERE stash = :stash AND serial = :serial',
  deleteStash: 'DELETE FROM chunks WHERE stash = :stash',
  keepIds: `INSERT INTO kept SELECT min(number), ${CLAIM} FROM incoming
    JOIN rows ON rows.table_id = :table AND rows.row_id = ${CLAIM} WHERE stash = :stash GROUP BY 2`,
  forgetKept: 'DELETE FROM kept',
  deleteRows: 'DELETE FROM rows WHERE table_id = :table',
  insertRows: `INSERT INTO rows (table_id, row_id, version, unknown, ${COLUMNS.join(', ')})
    SELECT :table, coalesce(
        (SELECT row_id FROM kept WHERE kept.number = incoming.number),
        coalesce(:ids ->> number, 'row ' || number)
      ), :version, ${unknownKeys('row')}, ${COLUMNS.map(sentCell).join(', ')}
    FROM incoming WHERE stash = :stash ORDER BY number`,
  hasRow: 'SELECT count(*) FROM rows WHERE table_id = :table AND row_id = :row',
  updateRow: `UPDATE rows SET version = CASE :cells WHEN '{}' THEN version ELSE :version END, unknown = ${unknownKeys(':cells')},
    ${COLUMNS.map((id) => `${id} = CASE WHEN json_type(:cells, '$.${id}') IS NULL THEN ${id} ELSE nullif(:cells -> '$.${id}', 'null') END`).join(', ')}
    WHERE table_id = :table AND row_id = :row AND (:ifMatch IS NULL OR version <= :ifMatch)`,
  deleteRow: 'DELETE FROM rows WHERE table_id = :table AND row_id = :row',
  row: `SELECT ${SHOWN}, version FROM rows WHERE table_id = :table AND row_id = :row`,
  page: `SELECT position, ${SHOWN} FROM rows WHERE table_id = :table AND position > :after
    ORDER BY position LIMIT :limit`,
  tables: 'SELECT table_id, name, version FROM tables ORDER BY number',
  rows: `SELECT ${SHOWN}, version FROM rows WHERE table_id = :table ORDER BY position`,
} as const

export type StatementName = keyof typeof STATEMENTS
