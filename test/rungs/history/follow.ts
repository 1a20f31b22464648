// Readers of feeds, which print each change that they receive.
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientTable } from '../../../src/client/client.js'
import { ClientError } from '../../../src/client/client-error.js'
import { isStoreError, type Table } from '../../../src/index.js'
import type { HistoryLine } from './history-job.js'
import { feedRowOf } from './round-tables.js'

type Followed = Readonly<{
  name: string
  since: number
  /** How a client follows. Default: `watch`. */
  form?: 'changes' | 'watch'
  /** Ends it; undefined: it ends with the last change. */
  signal: AbortSignal | undefined
  say(line: HistoryLine): void
  tellWrong(what: string, failure: unknown): void
}>

const RETRY_MS = 20

/** The form of a client's name in the log. */
const KEY_ID = /^[0-9a-f]{32}$/

export async function followTable(table: Table, followed: Followed): Promise<void> {
  const { name, signal, say, tellWrong } = followed
  for (let { since } = followed; ; ) {
    try {
      const changes =
        signal === undefined ? table.changes({ since }) : table.watch({ since, signal })
      for await (const change of changes) {
        const { version, replaced, author } = change
        const rows = []
        for await (const row of change.rows()) rows.push(feedRowOf(row))
        const by = author === undefined || KEY_ID.test(author) ? {} : { author }
        say({
          say: 'change',
          table: name,
          version,
          replaced,
          ...by,
          rows,
          removed: [...change.removed],
        })
        since = version
      }
      return
    } catch (failure) {
      if (signal?.aborted || (isStoreError(failure) && failure.code === 'STORE_CLOSED')) return
      const isStorage = isStoreError(failure) && failure.code === 'STORAGE_UNAVAILABLE'
      if (!isStorage) return tellWrong(`the feed of ${name} after ${since}`, failure)
      await pause(RETRY_MS)
    }
  }
}

export async function followClient(table: ClientTable, followed: Followed): Promise<void> {
  const { name, signal, say, tellWrong } = followed
  for (let { since } = followed; signal?.aborted !== true; ) {
    try {
      const request = { since: String(since), signal }
      for await (const change of table[followed.form ?? 'watch'](request)) {
        const version = Number(change.version)
        say({ say: 'change', table: name, version, replaced: false })
        since = version
      }
    } catch (failure) {
      if (signal?.aborted) return
      const isServerGone =
        failure instanceof ClientError && /^(?:0|5..|2..)$/.test(`${failure.status}`)
      if (!isServerGone) return tellWrong(`the feed of ${name} after ${since}`, failure)
    }
    await pause(RETRY_MS)
  }
}
