// The writers of the tables of a store.
import { chain } from '../../base/awaitable.js'
import { BoundedMap } from '../../base/bounded-map.js'
import { changeKey } from '../../format/change-records.js'
import type { TableKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import type { KvPartition, ReadRecord } from '../../kv/kv.js'
import type { Authored } from '../types/call-types.js'
import { SharedTableWriter, type SharedTableWriterOptions } from './shared-table-writer.js'
import type { CheckGoesOn } from './stepwise.js'
import type { TableHeads } from './table-heads.js'
import type { AheadOfTurn, TableLook } from './table-looks.js'
import type { TableWakes } from './table-wakes.js'
import { type Change, type HeadSources, type Plan, TableWriter } from './table-writer.js'

/**
 * Maximum number of writers that a shared store keeps. A writer that is dropped while in use continues beside its
 * successor.
 */
const SHARED_WRITERS_MAX = 1_000

/** The part of a TablePlace that a writer needs. */
export type WriterPlace = Readonly<{
  /** Who makes the changes; undefined: unknown. */
  by?: Authored | undefined
  team: Readonly<{ teamId: string; partition: KvPartition }>
  table: TableKey
  tableId: string
}>

/** How operations change tables. */
export type TableChanges = Readonly<{
  /**
   * Changes a table in its turn; see `TableWriter.change`.
   * @param ahead - What the plan needs to read. Only a shared store reads it before the turn.
   * @param look - What was already read before the turn.
   * @param checkGoesOn - Called before each record is read in the turn, and before the commit. If it throws, the change
   *   ends and commits nothing.
   */
  change<T>(
    place: WriterPlace,
    plan: Plan<T>,
    ahead?: AheadOfTurn,
    look?: TableLook,
    checkGoesOn?: CheckGoesOn,
  ): Promise<T>
  /**
   * Reads the head of a table and the records that a change needs; undefined: the store is not shared.
   * @throws {StoreError} TABLE_NOT_FOUND
   */
  look(place: WriterPlace, ahead: AheadOfTurn): Promise<TableLook> | undefined
  /**
   * Runs a step in the turns of several tables, while no change of these tables is in progress in this process. Turns
   * are taken in a fixed order, so two steps never wait for each other.
   */
  alone<T>(places: readonly WriterPlace[], step: () => Promise<T>): Promise<T>
}>

/** What a commit of a table adds for the history of the table. */
export type HistoryOf = (
  table: TableKey,
  before: TableHead,
  change: Pick<Change, 'next' | 'puts'>,
  read: ReadRecord,
) => Promise<Change['puts']>

/** A change with its entry in the log of its table. @param before - null: the change creates the table */
export type LoggedChangeOf = (
  place: Pick<WriterPlace, 'table' | 'by'>,
  before: TableHead | null,
  change: Change,
) => Change

/** A change with its updates of the key index, for a table with a key. */
export type KeyedChangeOf = (
  place: WriterPlace,
  before: TableHead,
  change: Change,
  read: ReadRecord,
) => Promise<Change>

/** What accompanies every change of a table. */
export type BesideChanges = Readonly<{
  keyed: KeyedChangeOf
  logged: LoggedChangeOf
  wakes: Pick<TableWakes, 'changed'>
  /** undefined: the store keeps no history. */
  history: HistoryOf | undefined
}>

const NOTHING_BESIDE: BesideChanges = Object.freeze({
  keyed: async (_, __, change) => change,
  logged: (_, __, change) => change,
  wakes: { changed: () => undefined },
  history: undefined,
})

/**
 * Keeps one writer for each table with changes in progress, and the writer used last. On a shared store, it keeps the
 * writers used last, up to `SHARED_WRITERS_MAX`.
 */
export class TableWriters implements TableChanges {
  readonly #writers = new Map<string, TableWriter>()
  readonly #sources: HeadSources
  readonly #heads: TableHeads
  readonly #beside: BesideChanges
  readonly #shared: Pick<SharedTableWriterOptions, 'onRefused'> | undefined
  readonly #sharedWriters = new BoundedMap<string, SharedTableWriter>(SHARED_WRITERS_MAX)
  /** The last idle writer: a caller that changes row after row finds it again, with the head that it wrote. */
  #resting: { readonly key: string; readonly writer: TableWriter } | undefined

  /** @param shared - For a store that several processes share. */
  constructor(
    { random, clock }: HeadSources,
    heads: TableHeads,
    shared?: Pick<SharedTableWriterOptions, 'onRefused'>,
    beside: BesideChanges = NOTHING_BESIDE,
  ) {
    this.#sources = { random, clock }
    this.#heads = heads
    this.#beside = beside
    this.#shared = shared
  }

  change<T>(
    place: WriterPlace,
    plan: Plan<T>,
    ahead?: AheadOfTurn,
    look?: TableLook,
    checkGoesOn?: CheckGoesOn,
  ): Promise<T> {
    const key = keyOfWriter(place)
    const { history, keyed, logged } = this.#beside
    const keeping = withKeyAndLog(keyed, logged, place, plan)
    const kept = history === undefined ? keeping : withHistory(history, place.table, keeping)
    const whole = checkGoesOn === undefined ? kept : withChecks(checkGoesOn, kept)
    if (this.#shared !== undefined) {
      const more = history === undefined ? ahead : aheadWithHistory(place.table, ahead)
      return this.#sharedWriter(key, place, this.#shared).change(whole, more, look)
    }
    return (this.#writers.get(key) ?? this.#open(key, place)).change(whole)
  }

  alone<T>(places: readonly WriterPlace[], step: () => Promise<T>): Promise<T> {
    const inOrder = places.map((place) => ({ place, key: keyOfWriter(place) }))
    inOrder.sort((left, right) => (left.key < right.key ? -1 : 1))
    const stepOf = inOrder.reduceRight((next, { place, key }) => {
      return () => this.#writerOf(key, place).alone(next)
    }, step)
    return stepOf().finally(() => {
      for (const { table } of places) this.#beside.wakes.changed(table)
    })
  }

  #writerOf(key: string, place: WriterPlace): TableWriter | SharedTableWriter {
    if (this.#shared !== undefined) return this.#sharedWriter(key, place, this.#shared)
    return this.#writers.get(key) ?? this.#open(key, place)
  }

  look(place: WriterPlace, ahead: AheadOfTurn): Promise<TableLook> | undefined {
    if (this.#shared === undefined) return undefined
    return this.#sharedWriter(keyOfWriter(place), place, this.#shared).look(ahead)
  }

  #sharedWriter(
    key: string,
    { team, table, tableId }: WriterPlace,
    { onRefused }: Pick<SharedTableWriterOptions, 'onRefused'>,
  ): SharedTableWriter {
    const known = this.#sharedWriters.get(key)
    if (known !== undefined) return known
    const writer = new SharedTableWriter({
      partition: team.partition,
      sources: this.#sources,
      heads: this.#heads,
      table,
      tableId,
      onChanged: () => this.#beside.wakes.changed(table),
      onRefused,
    })
    this.#sharedWriters.set(key, writer)
    return writer
  }

  #open(key: string, { team, table, tableId }: WriterPlace): TableWriter {
    const options = {
      sources: this.#sources,
      heads: this.#heads,
      onChanged: () => this.#beside.wakes.changed(table),
      onIdle: (writer: TableWriter): void => this.#rest(key, writer),
    }
    const writer = new TableWriter(team.partition, options, table, tableId)
    this.#writers.set(key, writer)
    return writer
  }

  #rest(key: string, writer: TableWriter): void {
    const before = this.#resting
    if (before?.writer === writer) return
    this.#resting = { key, writer }
    if (before?.writer.isIdle) this.#writers.delete(before.key)
  }
}

/** The same plan, with updates of the key index in its change. */
export function withKey<T>(keyed: KeyedChangeOf, place: WriterPlace, plan: Plan<T>): Plan<T> {
  return (head, read) => {
    const planned = plan(head, read)
    if (head.generation.keyIndex === null) return planned
    return chain(planned, async ({ result, change }) => {
      if (change === undefined) return { result }
      return { result, change: await keyed(place, head, change, read) }
    })
  }
}

/** The same plan, with updates of the key index and an entry in the log. */
function withKeyAndLog<T>(
  keyed: KeyedChangeOf,
  logged: LoggedChangeOf,
  place: WriterPlace,
  plan: Plan<T>,
): Plan<T> {
  const keeping = withKey(keyed, place, plan)
  return (head, read) =>
    chain((head.generation.keyIndex === null ? plan : keeping)(head, read), (planned) => {
      const { result, change } = planned
      return change === undefined ? planned : { result, change: logged(place, head, change) }
    })
}

/** The same plan, with the history of its change. */
function withHistory<T>(history: HistoryOf, table: TableKey, plan: Plan<T>): Plan<T> {
  return async (head, read) => {
    const { result, change } = await plan(head, read)
    if (change === undefined) return { result }
    const more = await history(table, head, change, read)
    return { result, change: { ...change, puts: [...change.puts, ...more] } }
  }
}

/** The same plan, which ends when `checkGoesOn` throws. */
function withChecks<T>(checkGoesOn: CheckGoesOn, plan: Plan<T>): Plan<T> {
  return async (head, read) => {
    const planned = await plan(head, async (key) => {
      checkGoesOn()
      return read(key)
    })
    checkGoesOn()
    return planned
  }
}

/** What a change reads, including what its history needs. */
function aheadWithHistory(table: TableKey, ahead: AheadOfTurn | undefined): AheadOfTurn {
  return {
    ...ahead,
    keys: (head) => {
      const keys = ahead?.keys(head) ?? []
      return head === null ? keys : [...keys, changeKey(table, head.version)]
    },
  }
}

function keyOfWriter({ tableId, team }: WriterPlace): string {
  return `${tableId}${team.teamId}` // All table IDs have the same length.
}
