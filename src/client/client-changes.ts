// The changes of a table of a server, as `rowstash/client` returns them.
import type { ChangeEntry } from '../engine/types/history-types.js'
import type { Abortable } from './import-types.js'

/** What one commit did to a table, as a server of rowstash tells it. */
export type ClientChange = Omit<ChangeEntry, 'version'> &
  Readonly<{
    /** The version that the commit made, as an ETag without quotes. */
    version: string
  }>

/** How a table of a server is followed; a part of `ClientTable`. */
export interface ClientChanges {
  /**
   * What each commit after a version did, one entry for each, up to now. Only a rowstash server tells it.
   * @param request - `since`: a `version` that was read before.
   * @throws {ClientError} from the iterator: `history_gone`, if the entries are not kept from there on: read the rows again
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const since = await client.table(tableId).version()
   * await client.table(tableId).addRows([{ id: 3 }])
   * for await (const { operation, counts } of client.table(tableId).changes({ since }))
   *   console.log(operation, counts.added) // add 1
   */
  changes(request: Abortable & Readonly<{ since: string }>): AsyncIterableIterator<ClientChange>
  /**
   * As `changes`, then goes on with new commits as they are made, each once and in order. A connection that ends is opened
   * again where it ended, as requests are repeated.
   * @param options - `since`: a `version` that was read before. Default: the version when the first entry is asked for.
   * @throws {ClientError} from the iterator: as `changes`; `table_not_found`; the reason of `signal`
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
