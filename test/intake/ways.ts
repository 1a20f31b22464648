// The ways in: each makes a table of a file's bytes, or refuses them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runImport } from '../../adapters/cli/commands/import.js'
import { optionOf } from '../../adapters/cli/import/dialect-options.js'
import { startServer } from '../../adapters/node.js'
import { Api } from '../../adapters/page/browser/base/api.js'
import { formatOf, readSample } from '../../adapters/page/browser/import/import-file.js'
import { ImportRun } from '../../adapters/page/browser/import/import-run.js'
import { createClient, type Dialect, type IntakeReport } from '../../src/client/client.js'
import { openMemory, type RowsInput, type Team } from '../../src/index.js'

/** A file, and the options for it. */
export type Source = Readonly<{
  name: string
  bytes: Uint8Array<ArrayBuffer>
  said: Dialect & Readonly<{ at?: string; nested?: 'flatten' | 'text' }>
}>

/** The result of reading a file. */
export type Outcome =
  | Readonly<{
      /** The columns, each with its kind. */
      columns: string
      rows: readonly (readonly unknown[])[]
      /** Format, encoding, delimiter, line of the header, rows. */
      report?: readonly unknown[]
      /** Code, column and count of each piece of advice, except for advice that the report always has. */
      told?: readonly string[]
    }>
  | Readonly<{ refused: string }>

export type Way = (source: Source) => Promise<Outcome>

export type Ways = Readonly<{
  /** Ways that detect what the options do not state. */
  detecting: Readonly<Record<string, Way>>
  /** Ways that read a source by its options alone. */
  plain: Readonly<Record<string, Way>>
  /** Imports a file with the command: the table that it creates, and the report that it prints. */
  printedBy: (source: Source) => Promise<Readonly<{ tableId: string; report: IntakeReport }>>
  tableOf: (tableId: string) => Promise<Extract<Outcome, { columns: string }>>
  /** The URL of the server, which also serves the page. */
  url: string
  close(): Promise<void>
}>

export const KEY = 'a-key-of-the-tests'

const CONTENT_TYPES = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
} as const

export async function openWays(): Promise<Ways> {
  let served = new Uint8Array()
  const store = await openMemory({
    sources: {
      async fetch(url) {
        async function* body(): AsyncGenerator<Uint8Array> {
          yield served
        }
        return { contentType: undefined, fileName: undefined, url, body: body(), close() {} }
      },
    },
  })
  const team = store.team('default')
  const keys = [{ key: KEY, teamId: 'default' }]
  const server = await startServer(store, { keys, page: true, port: 0 })
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-ways-'))
  const { url } = server
  const client = createClient({ url, key: KEY })
  const api = new Api(url, KEY, undefined)

  const printedBy: Ways['printedBy'] = async ({ name, bytes, said }) => {
    const path = join(folder, name)
    await writeFile(path, bytes)
    const printed: string[] = []
    const io = {
      print: (line: string) => printed.push(line),
      warn: () => undefined,
      env: { ROWSTASH_KEY: KEY },
      signal: new AbortController().signal,
    }
    const output = { write: () => undefined }
    const args = [path, '--url', url, '--key', KEY, '--table', name, '--new-table', '--json']
    await runImport([...args, ...argsOf(said)], io, output)
    const { tableId, read, warnings } = JSON.parse(printed.at(-1) ?? '') as Printed
    const [report] = read
    if (report === undefined) throw new Error('no report')
    return { tableId, report: { ...report, advice: warnings.map(adviceOf) } }
  }

  async function command(source: Source): Promise<Outcome> {
    const { tableId, report } = await printedBy(source)
    return tableOf(team, tableId, report)
  }

  async function library({ name, bytes, said }: Source, how?: 'detect'): Promise<Outcome> {
    let report: IntakeReport | undefined
    const noted = {
      dialect: how,
      onReport(read: IntakeReport) {
        report = read
      },
    }
    const rows = { [knownFormat(name)]: bytes, ...said, ...(how && noted) }
    const made = await team.createTable({ name, rows: rows as RowsInput })
    return tableOf(team, made.tableId, report)
  }

  async function ofClient(
    { name, bytes, said }: Source,
    dialect: 'detect' | 'plain',
  ): Promise<Outcome> {
    const file = new File([bytes], name)
    const { tableId, read } = await client.importRows(file, { name, dialect, ...said })
    return tableOf(team, tableId, read)
  }

  async function page({ name, bytes, said: { at, nested, ...dialect } }: Source): Promise<Outcome> {
    const file = new File([bytes], name)
    const format = formatOf(file)
    if (format === undefined) throw new Error('no format')
    const reading = { format, dialect, ...(at !== undefined && { at }), ...(nested && { nested }) }
    const sample = await readSample(file, reading, async () => undefined)
    const run = new ImportRun(
      api,
      { id: `page-${name.replace(/\W/g, '-')}`, isNew: true },
      { mode: 'create', name },
      'abort',
    )
    const { signal } = new AbortController()
    await run.stage(file, reading, signal, () => undefined)
    const { problems } = await run.check(signal)
    if (problems[0] !== undefined) throw new Error(problems[0].rule)
    const { tableId, read } = await run.commit(signal)
    const found = await tableOf(team, tableId, read)
    // The report that a person sees before the import.
    const { columns } = found
    const seen = sample.columns.map((column) =>
      columns.split('|').find((one) => one.startsWith(`${column}:`)),
    )
    if (seen.join('|') !== columns) throw new Error(`the page shows ${sample.columns}`)
    return found
  }

  /** @param how - `detect`, unless the body is JSON, for which only the parameters are given. */
  async function post({ name, bytes, said }: Source, how?: 'detect'): Promise<Outcome> {
    const isText = /^text/.test(CONTENT_TYPES[knownFormat(name)])
    const query = new URLSearchParams({ name, ...(how && isText && { 'csv.dialect': how }) })
    for (const [option, value] of Object.entries(said)) {
      const isOfJson = option === 'at' || option === 'nested'
      const parameter = `${isOfJson ? 'json' : 'csv'}.${option}`
      const isObject = typeof value === 'object' && !Array.isArray(value)
      for (const one of [value].flat())
        query.append(parameter, isObject ? JSON.stringify(one) : String(one))
    }
    const answer = await fetch(`${url}/tables?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': CONTENT_TYPES[knownFormat(name)] },
      body: bytes,
    })
    const { data, error } = (await answer.json()) as Answer
    if (data === undefined) throw new Error(error?.message)
    return tableOf(team, data.tableID, how && data.read)
  }

  async function byUrl({ name, bytes, said }: Source, how?: 'detect'): Promise<Outcome> {
    served = bytes
    let report: IntakeReport | undefined
    const noted = {
      dialect: how,
      onReport(read: IntakeReport) {
        report = read
      },
    }
    const request = { fromUrl: `http://source.test/${name}`, name, ...said, ...(how && noted) }
    const { tableId } = await team.importTable(request)
    return tableOf(team, tableId, report)
  }

  return {
    detecting: {
      command: refusing(command),
      library: refusing((source) => library(source, 'detect')),
      client: refusing((source) => ofClient(source, 'detect')),
      page: refusing(page),
      POST: refusing((source) => post(source, 'detect')),
      importTable: refusing((source) => byUrl(source, 'detect')),
    },
    plain: {
      library: refusing((source) => library(source)),
      client: refusing((source) => ofClient(source, 'plain')),
      POST: refusing((source) => post(source)),
      importTable: refusing((source) => byUrl(source)),
    },
    printedBy,
    tableOf: (tableId) => tableOf(team, tableId),
    url,
    async close() {
      await server.close()
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
}

type Printed = Readonly<{
  tableId: string
  read: readonly Omit<IntakeReport, 'advice'>[]
  warnings: readonly (Readonly<{ type: string }> & Omit<IntakeReport['advice'][number], 'code'>)[]
}>

type Answer = Readonly<{
  data?: { tableID: string; read?: IntakeReport }
  error?: { message: string }
}>

function refusing(way: Way): Way {
  return async (source) => {
    try {
      return await way(source)
    } catch (failure) {
      return { refused: failure instanceof Error ? failure.message : String(failure) }
    }
  }
}

function knownFormat(name: string): keyof typeof CONTENT_TYPES {
  const format = formatOf({ name } as File)
  if (format === undefined) throw new Error('no format')
  return format
}

/** The options of a source, as arguments of the command. */
function argsOf(said: Source['said']): readonly string[] {
  return Object.entries(said).flatMap(([name, value]) => {
    const option = optionOf(name)
    if (value === true) return [option]
    if (name === 'nulls') return (value as string[]).flatMap((text) => [option, text])
    if (name === 'columns') {
      return Object.entries(value as object).flatMap(([column, { decimal }]) => [
        '--decimal',
        `${column}=${decimal}`,
      ])
    }
    return [option, Array.isArray(value) ? value.join(',') : String(value)]
  })
}

function adviceOf({ type, ...about }: Printed['warnings'][number]) {
  return { code: type, ...about } as IntakeReport['advice'][number]
}

/** Advice that other fields of the report, or another part of the command, contain. */
const OF_READING: ReadonlySet<string> = new Set([
  'encoding',
  'skippedLines',
  'headerLooksLikeData',
  'columnNamed',
  'columnDropped',
  'trimmed',
  'backslashes',
  'nulls',
  'blankLines',
  'extraFields',
  'comments',
  'numbers',
  'dates',
  'dateTimes',
  'booleans',
  'datesUnread',
  'pointsUnsure',
  'shortLines',
  'textColumn',
  'paddedNumber',
  'groupedNumber',
  'decimalComma',
  'commasUnsure',
  'longInteger',
  'spacedNumber',
  'looseNumber',
  'mixedTypes',
  'spacedNames',
  'rowIDs',
])

async function tableOf(
  team: Team,
  tableId: string,
  read?: IntakeReport,
): Promise<Extract<Outcome, { columns: string }>> {
  const table = team.table(tableId)
  const { schema } = await table.info()
  const ids = schema.columns.map(({ id }) => id)
  const rows: unknown[][] = []
  for await (const row of table.scan()) {
    const cells = row as Record<string, unknown>
    rows.push(ids.map((id) => cells[id] ?? null))
  }
  const columns = schema.columns.map(({ id, type }) => `${id}:${type.kind}`).join('|')
  if (read === undefined) return { columns, rows }
  const { format, encoding, delimiter, headerLine, advice } = read
  const told = advice
    .filter(({ code }) => OF_READING.has(code))
    .map(({ code, column = '', count = '' }) =>
      `${code} ${column} ${count}`.replace(/ +/g, ' ').trim(),
    )
  return {
    columns,
    rows,
    report: [format, encoding, delimiter, headerLine, read.rows],
    told,
  }
}
