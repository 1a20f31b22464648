// Runs transactions. They are optimistic and atomic: all changes are made in one commit, or none.

import { NO_BYTES } from '../../base/bytes.js'
import { typeName } from '../../base/options.js'
import { checkNotAborted } from '../../base/signals.js'
import { invalidArgument, isStoreError, StoreError } from '../../base/store-error.js'
import { parseTableId } from '../../format/table-id.js'
import type { ObjectId } from '../../objects/objects.js'
import type { AnySchema } from '../../schema/row-types.js'
import { checkArguments } from '../arguments/arguments.js'
import { REFUSED, tryToCommit } from '../commit/commit-until-accepted.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import { checkCreate } from '../table/check-requests.js'
import { createTable } from '../table/create-table.js'
import { publicResult } from '../table/receipts.js'
import { typedStagedTable } from '../table/typed-table.js'
import type { Authored } from '../types/call-types.js'
import type { CreateResult, CreateTableRequest } from '../types/row-types.js'
import type {
  Transaction,
  TransactionTable,
  TypedTransactionTable,
} from '../types/transaction-types.js'
import { StagedChanges } from './staged-changes.js'
import { RowsRead, StagedTable } from './transaction-table.js'

/** Maximum number of calls of the function of a transaction. */
const CALLS_MAX = 10

export async function runTransaction<T>(
  team: TeamContext,
  run: (transaction: Transaction) => Promise<T>,
  by: Authored | undefined,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (typeof run !== 'function') {
    throw invalidArgument(`transaction takes an async function, not ${typeName(run)}`)
  }
  return tryToCommit(
    team.options.random,
    () => tryTransaction(team, run, by, () => checkNotAborted('transaction', signal)),
    CALLS_MAX,
    () => {
      const message = `Tables that the transaction uses were changed by others during each of ${CALLS_MAX} attempts; try again`
      throw new StoreError('TRANSACTION_CONFLICT', message, { outcome: 'unchanged' })
    },
  )
}

/** @param checkGoesOn - Throws ABORTED if the caller has aborted. */
async function tryTransaction<T>(
  team: TeamContext,
  run: (transaction: Transaction) => Promise<T>,
  by: Authored | undefined,
  checkGoesOn: CheckGoesOn,
): Promise<T | typeof REFUSED> {
  checkGoesOn()
  const changes = new StagedChanges(team, by, checkGoesOn)
  const ids = new HeldIds(team.ids)
  const staged: TeamContext = { ...team, partition: changes, writers: changes, ids }
  try {
    const result = await run(new OpenTransaction(staged, changes))
    await changes.end()
    checkGoesOn() // This is checked even if the function changed nothing, or has caught the failure of a call.
    const isDone = !changes.isConflict && (await commitChanges(team, changes, checkGoesOn))
    ids.end()
    return isDone ? result : REFUSED
  } catch (failure) {
    await changes.end()
    ids.endAfter(failure)
    // DATA_CORRUPT may be no damage: an object that a call read may have been replaced and deleted meanwhile.
    const isOfOld = isStoreError(failure) && failure.code === 'DATA_CORRUPT'
    if (isOfOld ? await changes.hasMoved() : changes.isConflict) return REFUSED
    throw failure
  }
}

/** Commits in the turns of all changed tables, so that no commit of this process is in flight for them. */
async function commitChanges(
  team: TeamContext,
  changes: StagedChanges,
  checkGoesOn: CheckGoesOn,
): Promise<boolean> {
  if (changes.isEmpty) return true // All reads of the transaction belong to one moment, so nothing is checked.
  return team.writers.alone(changes.changedPlaces, async () => {
    changes.stageLog(team.logged)
    const { puts, ...commit } = changes.wholeCommit()
    const more = team.history === undefined ? [] : await changes.historyPuts(team.history)
    checkGoesOn() // The wait for the turns may have been long.
    const result = await team.partition.commit({ ...commit, puts: [...puts, ...more] })
    if (!result.ok) team.incarnation.noteRefused(result.failed)
    return result.ok
  })
}

class OpenTransaction implements Transaction {
  readonly #team: TeamContext
  readonly #changes: StagedChanges
  readonly #rowsRead = new RowsRead()

  /** @param team - The team, with the staged records as its partition. */
  constructor(team: TeamContext, changes: StagedChanges) {
    this.#team = team
    this.#changes = changes
  }

  table<S extends AnySchema>(tableId: string, schema: S): TypedTransactionTable<S>
  table(tableId: string): TransactionTable
  table(tableId: string, schema?: AnySchema): TransactionTable | TypedTransactionTable<AnySchema> {
    this.#changes.checkOpen()
    const table = new StagedTable(this.#team, this.#changes, this.#rowsRead, tableId)
    return schema === undefined ? table : typedStagedTable(table, schema)
  }

  async createTable(
    request: Pick<CreateTableRequest, 'name' | 'schema' | 'rows' | 'onSchemaError'>,
  ): Promise<CreateResult> {
    this.#changes.checkOpen()
    const known = ['name', 'schema', 'rows', 'onSchemaError']
    checkArguments('createTable in a transaction', request, known)
    return this.#team.lifecycle.runWriting(async () => {
      const { columnsMax } = this.#team.options
      const checked = await checkCreate('createTable', request, columnsMax)
      const created = await createTable(this.#team, { ...checked, by: this.#changes.by })
      const place = { team: this.#team, table: parseTableId(created.tableId) ?? NO_BYTES }
      return publicResult(place, created, undefined)
    })
  }

  /** Not a member of `Transaction`: answers callers without types. */
  transaction(): never {
    throw invalidArgument('Transactions do not nest: use the one that is open')
  }

  /** Not a member of `Transaction`: answers callers without types. */
  get files(): never {
    throw invalidArgument(
      'A transaction cannot contain files: upload and delete them outside of it',
    )
  }
}

type Ids = StoreContext['ids']

/** The object IDs of the operations in a transaction. They stay pending until the transaction has ended. */
class HeldIds implements Ids {
  readonly #ids: Ids
  readonly #held = new Set<ObjectId>()

  constructor(ids: Ids) {
    this.#ids = ids
  }

  get incarnation(): string {
    return this.#ids.incarnation
  }

  get count(): number {
    return this.#ids.count
  }

  next(): ObjectId {
    return this.#ids.next()
  }

  share(object: ObjectId, segments: readonly ObjectId[]): void {
    this.#ids.share(object, segments)
  }

  isPending(id: ObjectId): boolean {
    return this.#ids.isPending(id)
  }

  release(ids: Iterable<ObjectId>): void {
    for (const id of ids) this.#held.add(id)
  }

  releaseAfter(_: unknown, ids: Iterable<ObjectId>): void {
    this.release(ids)
  }

  /** Ends the transaction. A commit names its objects, or garbage collection deletes them. */
  end(): void {
    this.#ids.release(this.#held)
  }

  /** Ends the transaction after a failed commit. */
  endAfter(failure: unknown): void {
    this.#ids.releaseAfter(failure, this.#held)
  }
}
