// Example curl commands for a server, for `npm start` and `rowstash demo`.
import type { TableEntry, Team } from '../../../src/index.js'

/** Prints a line end after each answer. */
const CURL = `curl -sS -w '\\n'`

/**
 * Shell commands that work without changes.
 * @param name - The name of the table to read. If no table has this name, another table is read.
 */
export async function linesToTry(
  team: Team,
  name: string,
  url: string,
  key: string,
): Promise<readonly string[]> {
  const tables = await team.tableNames()
  const table = tables.find((known) => known.name === name) ?? tables[0]
  const authorization = `-H 'Authorization: Bearer ${key}'`
  const json = `-H 'Content-Type: application/json'`
  return [
    '',
    '# All tables',
    `${CURL} ${authorization} ${url}/tables`,
    ...(table === undefined ? [] : await linesOfTable(team, table, url, authorization)),
    '',
    '# A new table from a stash: chunks in any order, then one request that uses them all',
    `${CURL} -X PUT ${authorization} ${json} ${url}/stashes/demo/0 -d '[{"name":"Ada","born":1815}]'`,
    `${CURL} -X PUT ${authorization} ${json} ${url}/stashes/demo/1 -d '[{"name":"Alan","born":1912}]'`,
    `${CURL} -X POST ${authorization} ${json} ${url}/tables -d '{"name":"People","rows":{"$stashID":"demo"}}'`,
    `${CURL} -X DELETE ${authorization} ${url}/stashes/demo`,
  ]
}

async function linesOfTable(
  team: Team,
  { id: tableId, name }: TableEntry,
  url: string,
  authorization: string,
): Promise<string[]> {
  const table = team.table(tableId)
  const rows = `${url}/tables/${tableId}/rows`
  const lines = ['', `# A page of "${name}"`, `${CURL} ${authorization} '${rows}?limit=5'`]
  const [row] = (await table.page({ limit: 1 })).rows
  if (row === undefined) return lines
  const version = (await table.get(row.$rowID))?.version ?? 0
  const cell = Object.entries(row).find(([id]) => id !== '$rowID')
  const [columnId, value] = cell ?? []
  // A number is changed, so that the change is visible. Other values stay the same.
  const changed = typeof value === 'number' ? value + 1 : value
  const change = JSON.stringify(columnId === undefined ? {} : { [columnId]: changed })
  return [
    ...lines,
    '',
    '# One row, with its version as ETag',
    `${CURL} -i ${authorization} ${rows}/${row.$rowID}`,
    '',
    '# Changes it, unless it has changed since; a second run is refused with 412',
    `${CURL} -i -X PATCH ${authorization} -H 'Content-Type: application/json' -H 'If-Match: "${version}"' ${rows}/${row.$rowID} -d ${quoteForShell(change)}`,
  ]
}

/** A text as one word of a POSIX shell. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
