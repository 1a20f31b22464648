// What a transaction has read and will commit. The operations of the engine use it as the partition of the team and the
// commit queue of its tables. Their commits are staged, and their reads see the staged records.
//
// Invariants:
// - Each new view is compared with the heads of all tables read before, and with the records that staged changes check.
//   So everything read so far belongs to the moment of the last view; otherwise the transaction is in conflict, and
//   nothing that it does from then on has an effect. To compare only heads is not enough: a compaction swaps an extent
//   page, which the transaction may have staged, too, and does not change the head.
// - The commit checks the same heads and records.
// - All changes of a table are planned on the version before the transaction, so that together they make one version.

import { type Bytes, sameValue } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { byteText } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { KEY_SPACE, type TableKey, tableHeadKey } from '../../format/keys.js'
import type { LogOperation } from '../../format/log-records.js'
import { decodeTableHead, encodeTableHead, type TableHead } from '../../format/records.js'
import type { KvCheck, KvCommit, KvCommitResult, KvPartition, KvView } from '../../kv/kv.js'
import { KeyedMutex } from '../commit/keyed-mutex.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import { nextHead, type Plan, type Planned, tableNotFound } from '../commit/table-writer.js'
import {
  type HistoryOf,
  type LoggedChangeOf,
  type TableChanges,
  type WriterPlace,
  withKey,
} from '../commit/table-writers.js'
import type { TeamContext } from '../context/store-context.js'
import type { Authored } from '../types/call-types.js'
import { type StagedRecord, StagedView } from './staged-view.js'

/** Maximum number of tables that a transaction reads or changes: each view and the commit compare their heads. */
export const TABLES_MAX = 100

/**
 * A transaction writes at most this many records, with at most this many bytes: they are in memory, and in one commit.
 */
export const RECORDS_MAX = 20_000
export const BYTES_MAX = 16 * 1024 * 1024

/** The error for a transaction if others have changed a table that it has read. */
export function transactionConflict(): StoreError {
  const message =
    'A table that the transaction uses was changed by others; run the transaction again'
  return new StoreError('TRANSACTION_CONFLICT', message, { outcome: 'unchanged' })
}

type ChangedTable = Readonly<{ place: WriterPlace; operation: LogOperation }>

export class StagedChanges implements KvPartition, TableChanges {
  readonly #team: TeamContext
  readonly #by: Authored | undefined
  readonly #checkGoesOn: CheckGoesOn
  readonly #turns = new KeyedMutex()
  readonly #staged = new Map<string, StagedRecord>()
  #bytes = 0
  /** Heads of tables before the transaction, by the texts of their keys. */
  readonly #heads = new Map<string, StagedRecord>()
  /** Checks of operations on records that the transaction has not staged. */
  readonly #checks = new Map<string, KvCheck>()
  /** Tables with staged changes, and what these changes do. */
  readonly #changed = new Map<string, ChangedTable>()
  #isConflict = false
  #hasEnded = false

  /**
   * @param by - The author of the changes that do not name their author themselves.
   * @param checkGoesOn - Throws ABORTED if the caller has aborted.
   */
  constructor(team: TeamContext, by: Authored | undefined, checkGoesOn: CheckGoesOn) {
    this.#team = team
    this.#by = by
    this.#checkGoesOn = checkGoesOn
  }

  /** Whether the transaction is in conflict, so that nothing more of it counts. */
  get isConflict(): boolean {
    return this.#isConflict
  }

  /** Who makes the changes. */
  get by(): Authored | undefined {
    return this.#by
  }

  get isEmpty(): boolean {
    return this.#staged.size === 0
  }

  /** The tables that the commit changes and that existed before the transaction. */
  get changedPlaces(): readonly WriterPlace[] {
    const places = [...this.#changed.values()].map(({ place }) => place)
    return places.filter(({ table }) => this.#heads.has(byteText(tableHeadKey(table))))
  }

  /** Whether a table has staged changes. */
  hasChanged(table: TableKey): boolean {
    return this.stagedVersion(table) !== null
  }

  /** The version of a table after its staged changes; null: it has no staged changes. */
  stagedVersion(table: TableKey): number | null {
    const head = this.#staged.get(byteText(tableHeadKey(table)))?.value ?? null
    return head === null ? null : decodeTableHead(head).version
  }

  /** Called after a failure. @returns whether others have changed records that the transaction has read */
  async hasMoved(): Promise<boolean> {
    if (!this.#isConflict) {
      await this.#team.partition.read((view) => this.#compare(view)).catch(() => undefined)
    }
    return this.#isConflict
  }

  /** Refuses new operations, and waits for the operations in progress. */
  async end(): Promise<void> {
    this.#hasEnded = true
    await this.#turns.run('', async () => undefined)
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR after the end, TRANSACTION_CONFLICT, ABORTED */
  checkOpen(): void {
    if (this.#hasEnded) {
      const message =
        'The transaction has ended: await all of its operations before its function returns'
      throw new StoreError('REQUEST_VALIDATION_ERROR', message)
    }
    if (this.#isConflict) throw transactionConflict()
    this.#checkGoesOn()
  }

  /** @throws {StoreError} as `checkOpen`; LIMIT_EXCEEDED */
  read<T>(use: (view: KvView) => T | Promise<T>): Promise<T> {
    return this.#team.partition.read(async (view) => {
      this.checkOpen()
      await this.#compare(view)
      return use(new StagedView(view, this.#staged, (key, value) => this.#note(key, value)))
    })
  }

  /** @throws {StoreError} TRANSACTION_CONFLICT if a view does not show the values that the commit will check */
  async #compare(view: KvView): Promise<void> {
    const checks = this.#allChecks()
    if (checks.length === 0) return
    const now = await view.getMany(checks.map(({ key }) => key))
    const found = checks.map(({ key, equals }, at) => ({ key, equals, value: now[at] ?? null }))
    const failed = found.filter(({ equals, value }) => !sameValue(equals, value))
    if (failed.length === 0) return
    this.#isConflict = true
    this.#team.incarnation.noteRefused(failed)
    throw transactionConflict()
  }

  #allChecks(): KvCheck[] {
    const heads = [...this.#heads.values()].map(({ key, value }) => ({ key, equals: value }))
    const others = [...this.#checks.values()].filter(({ key }) => !this.#heads.has(byteText(key)))
    return [...heads, ...others]
  }

  #note(key: Bytes, value: Bytes | null): void {
    if (key[0] !== KEY_SPACE.tableHead) return
    const text = byteText(key)
    const known = this.#heads.get(text)
    if (known === undefined && this.#heads.size >= TABLES_MAX) {
      throw limitExceeded(`use more than ${TABLES_MAX} tables`)
    }
    if (known === undefined) this.#heads.set(text, { key, value })
  }

  /** Plans a change in its turn, and stages it. */
  change<T>(place: WriterPlace, plan: Plan<T>): Promise<T> {
    return this.#turns.run('', async () => {
      const { before, planned } = await this.read((view) => this.#plan(view, place, plan))
      this.checkOpen()
      if (planned.change !== undefined) {
        const { next, checks = [], puts, deletes = [], operation } = planned.change
        invariant(next !== null, 'no transaction deletes a table')
        const key = tableHeadKey(place.table)
        const head = encodeTableHead(nextHead(before, next, this.#team.options))
        this.#stage({ checks, puts: [...puts, [key, head]], deletes })
        this.#noteChange(place, operation)
      }
      return planned.result
    })
  }

  #noteChange({ table, tableId, by }: WriterPlace, operation: LogOperation): void {
    const known = this.#changed.get(tableId)
    const isOther = known !== undefined && known.operation !== operation
    this.#changed.set(tableId, {
      // This is the team itself, not the team of the transaction.
      place: { team: this.#team, table, tableId, by: by ?? known?.place.by ?? this.#by },
      operation: isOther ? 'transaction' : operation,
    })
  }

  async #plan<T>(
    view: KvView,
    place: WriterPlace,
    plan: Plan<T>,
  ): Promise<Readonly<{ before: TableHead; planned: Planned<T> }>> {
    const key = tableHeadKey(place.table)
    const bytes = await view.get(key)
    if (bytes === null) throw tableNotFound(place.tableId)
    const head = decodeTableHead(bytes)
    const before = { ...head, version: this.#versionBefore(key, head) }
    const keyed = withKey(this.#team.keyed, place, plan)
    return { before, planned: await keyed(before, (record) => view.get(record)) }
  }

  /** The version of a table before the transaction; 0: the table did not exist. */
  #versionBefore(key: Bytes, head: TableHead): number {
    const text = byteText(key)
    if (!this.#staged.has(text)) return head.version
    const first = this.#heads.get(text)?.value ?? null
    return first === null ? 0 : decodeTableHead(first).version
  }

  /** Nothing is read ahead, because each view is compared in any case. */
  look(): undefined {
    return undefined
  }

  /** Runs the step at once: staged changes need no turns, because the commit of the transaction takes them. */
  alone<T>(_: unknown, step: () => Promise<T>): Promise<T> {
    return step()
  }

  /** Stages a commit. The commit of the transaction makes its checks on records that are not staged. */
  commit(commit: KvCommit): Promise<KvCommitResult> {
    return this.#turns.run('', async () => {
      this.checkOpen()
      const failed: { key: Bytes; value: Bytes | null }[] = []
      for (const { key, equals } of commit.checks ?? []) {
        const staged = this.#staged.get(byteText(key))
        if (staged !== undefined && !sameValue(staged.value, equals)) {
          failed.push({ key, value: staged.value })
        }
      }
      if (failed.length > 0) return { ok: false, failed }
      this.#stage(commit)
      return { ok: true }
    })
  }

  /** A transaction never collects garbage. */
  deleteRange(): Promise<number> {
    return Promise.resolve(0)
  }

  #stage({ checks = [], puts = [], deletes = [] }: KvCommit): void {
    this.#checkSize(puts)
    for (const check of checks) {
      const text = byteText(check.key)
      const staged = this.#staged.get(text)
      const known = staged === undefined ? this.#checks.get(text)?.equals : staged.value
      if (known !== undefined && !sameValue(known, check.equals)) {
        this.#isConflict = true // Others have changed the record between two operations.
        throw transactionConflict()
      }
      if (known === undefined) this.#checks.set(text, check)
    }
    for (const [key, value] of puts) this.#write(key, value)
    for (const key of deletes) this.#write(key, null)
  }

  #write(key: Bytes, value: Bytes | null): void {
    const text = byteText(key)
    this.#bytes +=
      stagedEntryBytes(key, value) - stagedEntryBytes(key, this.#staged.get(text)?.value ?? null)
    this.#staged.set(text, { key, value })
  }

  /** Checks the size of the staged records. All puts count as new records. @throws {StoreError} LIMIT_EXCEEDED */
  #checkSize(puts: NonNullable<KvCommit['puts']>): void {
    if (this.#staged.size + puts.length > RECORDS_MAX) {
      throw limitExceeded(`write more than ${RECORDS_MAX} records`)
    }
    const more = puts.reduce((sum, [key, value]) => sum + stagedEntryBytes(key, value), 0)
    if (this.#bytes + more > BYTES_MAX) {
      throw limitExceeded(`write more than ${BYTES_MAX} bytes beside new segments`)
    }
  }

  /** Stages the log entries of the tables that the commit changes. */
  stageLog(logged: LoggedChangeOf): void {
    const { puts } = this.wholeCommit()
    for (const { place, operation } of this.#changed.values()) {
      const text = byteText(tableHeadKey(place.table))
      const [before = null, after] = [this.#heads.get(text)?.value, this.#staged.get(text)?.value]
      if (after == null) continue
      const { generation: next } = decodeTableHead(after)
      const change = { next, puts, operation: before === null ? 'create' : operation }
      const all = logged(place, before && decodeTableHead(before), change)
      for (const [key, value] of all.puts.slice(puts.length)) this.#write(key, value)
      for (const key of all.deletes ?? []) this.#write(key, null)
    }
  }

  /**
   * The records for the histories of the tables that the commit changes.
   * @throws {StoreError} TRANSACTION_CONFLICT
   */
  async historyPuts(history: HistoryOf): Promise<readonly (readonly [Bytes, Bytes])[]> {
    const { puts } = this.wholeCommit()
    return this.#team.partition.read(async (view) => {
      await this.#compare(view)
      const all: (readonly [Bytes, Bytes])[] = []
      for (const { table } of this.changedPlaces) {
        const text = byteText(tableHeadKey(table))
        const [before, after] = [this.#heads.get(text)?.value, this.#staged.get(text)?.value]
        if (before == null || after == null) continue
        const next = decodeTableHead(after).generation
        const read = (key: Bytes) => view.get(key)
        all.push(...(await history(table, decodeTableHead(before), { next, puts }, read)))
      }
      return all
    })
  }

  /** The whole commit of the transaction. */
  wholeCommit(): Required<KvCommit> {
    const puts: [Bytes, Bytes][] = []
    const deletes: Bytes[] = []
    for (const { key, value } of this.#staged.values()) {
      if (value === null) deletes.push(key)
      else puts.push([key, value])
    }
    return { checks: this.#allChecks(), puts, deletes }
  }
}

function stagedEntryBytes(key: Bytes, value: Bytes | null): number {
  return value === null ? 0 : key.length + value.length
}

export function limitExceeded(what: string): StoreError {
  return new StoreError('LIMIT_EXCEEDED', `A transaction must not ${what}; use several`)
}
