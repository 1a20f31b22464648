// Checks the output of feed readers: each version once, in order and with the change that made it; together the changes
// give the rows of the pages.
import {
  type Anomaly,
  type FeedChange,
  type History,
  LAST_READER,
  type Operation,
  type Page,
  pageText,
  type TableRange,
} from './history.js'

export function checkFeeds({ operations, feeds, tables }: History): readonly Anomaly[] {
  const found: Anomaly[] = []
  const readers = new Set(feeds.map(({ reader, table }) => `${reader} ${table}`))
  for (const range of tables) {
    const { table } = range
    for (const reader of readers) {
      const told = feeds.filter(
        (one) => `${one.reader} ${one.table}` === reader && one.table === table,
      )
      if (told.length === 0) continue
      found.push(...checkVersions(reader, told, range))
      found.push(...checkAuthors(reader, told, operations))
      if (told.every(({ rows }) => rows !== undefined)) {
        found.push(...checkRows(reader, told, { range, pages: pagesOf(table, operations) }))
      }
    }
  }
  return found
}

function checkVersions(
  reader: string,
  told: readonly FeedChange[],
  { first, last }: TableRange,
): readonly Anomaly[] {
  const found: Anomaly[] = []
  let expected = first + 1
  for (const { version } of told) {
    if (version < expected) found.push({ name: 'feed repeat', text: `${reader}: ${version} again` })
    if (version > expected) {
      found.push({ name: 'feed gap', text: `${reader}: ${version} instead of ${expected}` })
    }
    expected = Math.max(expected, version + 1)
  }
  if (told[0]?.reader === LAST_READER && expected <= last)
    found.push({ name: 'feed gap', text: `${reader}: nothing of ${expected} to ${last}` })
  return found
}

/** The object that represents the versions of a table. */
export function versionsOf(table: string): string {
  return `${table} versions`
}

function checkAuthors(
  reader: string,
  told: readonly FeedChange[],
  operations: readonly Operation[],
): readonly Anomaly[] {
  const authors = new Map(told.map(({ version, author }) => [version, author]))
  const object = versionsOf(told[0]?.table ?? '')
  return operations.flatMap(({ id, outcome, writes }) => {
    const made = writes.find((write) => write.object === object)?.length
    const author = authors.get(made ?? 0)
    if (outcome !== 'done' || made === undefined || author === undefined || author === id) return []
    return [{ name: 'feed author', text: `${reader}: ${made} is of ${author}, not of ${id}` }]
  })
}

type SeenPage = Page & Readonly<{ id: string }>

function pagesOf(table: string, operations: readonly Operation[]): Map<number, SeenPage[]> {
  const pages = new Map<number, SeenPage[]>()
  for (const { id, outcome, pages: seen = [] } of operations) {
    if (outcome !== 'done') continue
    for (const page of seen) {
      if (page.table !== table) continue
      pages.set(page.version, [...(pages.get(page.version) ?? []), { ...page, id }])
    }
  }
  return pages
}

/** Applies the changes one after another. */
function checkRows(
  reader: string,
  told: readonly FeedChange[],
  {
    range,
    pages,
  }: Readonly<{ range: TableRange; pages: ReadonlyMap<number, readonly SeenPage[]> }>,
): readonly Anomaly[] {
  const found: Anomaly[] = []
  const rows = new Map((range.rows ?? []).map((row) => [row.id, row]))
  for (const { version, replaced, rows: written = [], removed = [] } of told) {
    if (replaced) rows.clear()
    for (const id of removed) {
      if (!rows.delete(id))
        found.push({ name: 'feed rows', text: `${reader}: ${version} removed no ${id}` })
    }
    for (const row of written) rows.set(row.id, row)
    const keys = new Set([...rows.values()].map(({ key }) => key))
    if (keys.size < rows.size)
      found.push({ name: 'duplicate key', text: `${reader}: at ${version}` })
    const text = pageText([...rows.values()])
    for (const page of pages.get(version) ?? []) {
      if (page.text === text) continue
      const seen = `${page.id} saw ${page.text}, not ${text}`
      found.push({ name: 'feed rows', text: `${reader}: at ${version} ${seen}` })
    }
  }
  return found
}
