// The tables of a server, for commands that also read a store.
import type { Client } from '../../../src/client/client.js'
import type {
  ChangeEntry,
  CsvOptions,
  ExportOptions,
  Table,
  TableInfo,
  TableSchema,
} from '../../../src/index.js'

/** The operations of commands on a table, in a store or on a server. */
export interface CommandTable {
  readonly id: string
  rename(name: string): Promise<unknown>
  delete(): Promise<void>
  schema(): Promise<TableSchema>
  toCSV(options?: CsvOptions): AsyncIterable<string | Uint8Array>
  toNDJSON(options?: ExportOptions): AsyncIterable<string | Uint8Array>
  changes(request: WantedEntries): AsyncIterable<ChangeEntry>
}

/** The requested changes of a table. @param since - undefined: from now on. */
type WantedEntries = Readonly<{ since: number | undefined; follows: boolean; signal: AbortSignal }>

/** The listed facts of a table. */
export type ListedTable = Pick<TableInfo, 'id' | 'name' | 'schema' | 'rowCount' | 'bytes'> &
  Readonly<{ version: number | string }>

export function remoteTable(client: Client, tableId: string): CommandTable {
  const table = client.table(tableId)
  return {
    id: tableId,
    rename: (name) => table.rename(name),
    delete: () => table.delete(),
    schema: async () => (await table.info()).schema,
    toCSV: ({ delimiter, ...options } = {}) => {
      return table.toCSV({ ...given(options), ...(delimiter !== undefined && { delimiter }) })
    },
    toNDJSON: (options = {}) => table.toNDJSON(given(options)),
    async *changes({ since, signal }) {
      const changes = table.watch({ since: since === undefined ? since : String(since), signal })
      for await (const change of changes) yield { ...change, version: Number(change.version) }
    },
  }
}

/** A table of a store that this process has open. */
export function ownTable(table: Table): CommandTable {
  return {
    id: table.id,
    rename: (name) => table.rename(name),
    delete: () => table.delete(),
    schema: () => table.schema(),
    toCSV: (options) => table.toCSV(options),
    toNDJSON: (options) => table.toNDJSON(options),
    changes: ({ since, follows, signal }) =>
      follows ? table.watchLog({ since, signal }) : entriesUpToNow(table, since ?? 0),
  }
}

async function* entriesUpToNow(table: Table, since: number): AsyncGenerator<ChangeEntry> {
  for (let next = since; ; ) {
    const { version, entries } = await table.log({ since: next })
    yield* entries
    next = entries.at(-1)?.version ?? version
    if (next >= version) return
  }
}

type Given = Parameters<ReturnType<Client['table']>['toCSV']>[0]

function given({ where, search, columns, orderBy, limit, signal }: ExportOptions): Given {
  return {
    ...(where !== undefined && { where }),
    ...(search !== undefined && { search }),
    ...(columns !== undefined && { columns }),
    ...(orderBy !== undefined && { orderBy }),
    ...(limit !== undefined && { limit }),
    signal,
  }
}

/** All tables of the team, with one request per table. */
export async function listTableInfos(
  client: Client,
  signal: AbortSignal,
): Promise<readonly ListedTable[]> {
  const listed: ListedTable[] = []
  for (const { id } of await client.tables({ signal })) {
    listed.push(await client.table(id).info({ signal }))
  }
  return listed
}
