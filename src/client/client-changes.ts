// The changes of a table of a server, as `rowstash/client` returns them.
import type { ChangeEntry } from '../engine/types/history-types.js'
import type { Abortable } from './import-types.js'

/** What one commit did to a table. */
export type ClientChange = Omit<ChangeEntry, 'version'> &
  Readonly<{
    /** The version that the commit made, as an ETag without quotes. */
    version: string
  }>

/** The methods of `ClientTable` that follow changes. */
export interface ClientChanges {
  /**
   * One entry per commit after a version, up to the current version. Needs a rowstash server.
   * @param request - `since`: a `version` that was read before.
   * @throws {ClientError} from the iterator: `history_gone` if entries after `since` were discarded: then read the rows
   *   again
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const since = await client.table(tableId).version()
   * await client.table(tableId).addRows([{ id: 3 }])
   * for await (const { operation, counts } of client.table(tableId).changes({ since }))
   *   console.log(operation, counts.added) // add 1
   */
  changes(request: Abortable & Readonly<{ since: string }>): AsyncIterableIterator<ClientChange>
  /**
   * The entries of `changes`, then those of new commits as they are made, each once and in order. A lost connection is
   * reopened where it ended; as many attempts are made as for a request.
   * @param options - `since`: a `version` that was read before. Default: the version when the first entry is asked for.
   * @throws {ClientError} from the iterator: `history_gone`; `table_not_found`; the reason of `signal`
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const since = await client.table(tableId).version()
   * await client.table(tableId).addRows([{ id: 3 }])
   * for await (const { operation } of client.table(tableId).watch({ since })) {
   *   console.log(operation) // add
   *   break // without it, it waits for the next change
   * }
   */
  watch(
    options?: Abortable & Readonly<{ since?: string | undefined }>,
  ): AsyncIterableIterator<ClientChange>
}
