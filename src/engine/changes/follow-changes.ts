// The loop that all feeds of a table share: it reads the items after a version, then waits for more.
import { checkNotAborted } from '../../base/signals.js'
import type { TableHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import type { Turn } from '../commit/table-wakes.js'
import type { TablePlace } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { checkNotLater, recordVersion } from './past-generation.js'

/** The request for a feed. `since`: a public version; undefined: the current version. */
export type Wanted = Readonly<{
  since: number | undefined
  signal: AbortSignal | undefined
  /** Whether the feed waits for more items at the end. */
  follows: boolean
}>

/** An item of a feed. `version`: a version of the records. */
export type Found<T> = Readonly<{ version: number; item: T }>

/** The kind of a feed. */
export type FeedOf<T> = Readonly<{
  name: string
  /** Checks that the feed can begin after a version of the records. @throws {StoreError} HISTORY_GONE */
  start: (place: TablePlace, view: KvView, head: TableHead, start: number) => Promise<void>
  /** The next items after a version of the records; empty: there are no items yet. */
  read: (place: () => TablePlace, since: number) => Promise<readonly Found<T>[]>
}>

export async function* followChanges<T>(
  place: () => TablePlace,
  { since, signal, follows }: Wanted,
  { name, start, read }: FeedOf<T>,
): AsyncGenerator<T, void> {
  const { team, table } = place() // Throws if the ID of the table is invalid.
  const run = <R>(step: () => Promise<R>) => team.lifecycle.run(step)
  checkNotAborted('reading of changes', signal)
  const watch = follows ? team.wakes.watch(team.partition, table) : undefined
  try {
    let last = await run(() => resolveFeedStart(place(), since, start))
    for (;;) {
      checkNotAborted('reading of changes', signal)
      const turn = watch?.turn() // The turn is taken before the look, so that no change is missed.
      const look = () => run(() => read(place, last))
      const found = await (turn === undefined ? look() : shareLook(turn, `${name} ${last}`, look))
      for (const { version, item } of found) {
        yield item
        last = version
        checkNotAborted('reading of changes', signal)
      }
      if (found.length > 0) continue
      if (turn === undefined) return
      team.lifecycle.checkOpen()
      await team.lifecycle.untilClosed((closing) => waitFor(turn.woken, [closing, signal]))
    }
  } finally {
    watch?.end()
  }
}

/** Lets feeds that were woken together share one look. */
function shareLook<R>({ looks }: Turn, name: string, look: () => Promise<R>): Promise<R> {
  const known = looks.get(name) as Promise<R> | undefined
  if (known !== undefined) return known
  const made = look()
  looks.set(name, made)
  const forget = (): void => void looks.delete(name)
  made.then(forget, forget)
  return made
}

/** The version of the records after which a feed begins. */
async function resolveFeedStart(
  place: TablePlace,
  since: number | undefined,
  check: FeedOf<unknown>['start'],
): Promise<number> {
  return place.team.partition.read(async (view) => {
    const { head, start } = await readFeedStart(place, view, since)
    await check(place, view, head, start)
    return start
  })
}

/** The head of a table, and the version of the records after which a feed begins. @throws {StoreError} HISTORY_GONE */
export async function readFeedStart(
  { team, table, tableId }: TablePlace,
  view: KvView,
  since: number | undefined,
): Promise<Readonly<{ head: TableHead; start: number }>> {
  const own = since === undefined ? undefined : recordVersion(team, since)
  const head = await readHead(team, view, table, tableId)
  const start = own ?? head.version
  checkNotLater(team, head, start)
  return { head, start }
}

/** @throws {StoreError} ABORTED */
async function waitFor(
  woken: Promise<void>,
  signals: readonly (AbortSignal | undefined)[],
): Promise<void> {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  for (const signal of signals) {
    checkNotAborted('reading of changes', signal)
    signal?.addEventListener('abort', end, { once: true })
  }
  try {
    await Promise.race([woken, ended])
  } finally {
    for (const signal of signals) signal?.removeEventListener('abort', end)
  }
  for (const signal of signals) checkNotAborted('reading of changes', signal)
}
