// The key of a table: given, changed or removed by its own commit. All rows are read in the turn of the operation, so
// that no other operation of this process interferes. A commit of another process restarts it.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { checkNotAborted } from '../../base/signals.js'
import { INDEX_NAME_BYTES } from '../../format/key-index.js'
import { schemaKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import type { Change, Plan } from '../commit/table-writer.js'
import { hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { resolveKeyColumns } from '../keys/key-columns.js'
import { keyConflict, rowIdAt } from '../keys/key-conflict.js'
import { readKeyIndex } from '../keys/key-index.js'
import type { KeyedRows } from '../keys/keyed-rows.js'
import { planKeyRun } from '../keys/linked-keys.js'
import { keysOfTable } from '../keys/table-keys.js'
import { readHead } from '../read/generations.js'
import { findRowAt } from '../read/row-lookup.js'

/**
 * Maximum number of attempts. Another attempt is needed only after changes of other processes, and after changes of
 * this process that were in flight.
 */
const TRIES_MAX = 50

type Version = Readonly<{ version: number }>

/** The new key of a table: its columns, or null to remove the key. */
export type KeyAlteration = Readonly<{
  key: readonly string[] | null
  ifMatch: number | bigint | undefined
  signal: AbortSignal | undefined
}>

/** @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED, REQUEST_VALIDATION_ERROR, KEY_NOT_UNIQUE, ABORTED */
export async function alterKey(place: TablePlace, alteration: KeyAlteration): Promise<Version> {
  const { ifMatch, signal } = alteration
  const checkGoesOn = signal && ((): void => checkNotAborted('alter', signal))
  const { team, table } = place
  const plan: Plan<Version | 'moved'> = async (head, read) => {
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const change = await changeOfKey(place, head, alteration, read)
    if (change === 'moved') return { result: 'moved' }
    if (change === null) return { result: { version: head.version } }
    return { result: { version: head.version + 1 }, change }
  }
  const ahead = {
    keys: (head: TableHead | null) =>
      head === null ? [] : [schemaKey(table, head.generation.schemaNumber)],
  }
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const altered = await team.writers.change(place, plan, ahead, undefined, checkGoesOn)
    if (altered !== 'moved') return altered
  }
  throw tooBusy('The rows of the table keep changing')
}

/** @returns null: the table already has this key. `moved`: the rows that were read are not those of the head. */
async function changeOfKey(
  place: TablePlace,
  head: TableHead,
  { key, signal }: KeyAlteration,
  read: ReadRecord,
): Promise<Change | 'moved' | null> {
  const { team, table, tableId } = place
  const { generation } = head
  const hints = hintOfTable(team, table, head.version + 1)
  if (key === null) {
    if (generation.keyIndex === null) return null
    return { next: { ...generation, keyIndex: null }, puts: hints, operation: 'alter' }
  }
  if (generation.keyIndex !== null) {
    const { record } = await readKeyIndex(table, generation.keyIndex, read)
    if (record.columns.join('\0') === key.join('\0')) return null
  }
  const schema = await team.schemas.get(table, generation.schemaNumber, read)
  const columns = resolveKeyColumns(key, schema.columns)
  const isDurable = async (): Promise<boolean> => {
    const durable = await team.partition.read((view) => readHead(team, view, table, tableId))
    return sameBytes(durable.commitNonce, head.commitNonce)
  }
  if (!(await isDurable())) return 'moved'
  const keys = await keysOfTable(place, generation, columns, { what: 'alter', signal })
  // The rows were read in several views. If a key moved from one row to another between two views, both rows seem to
  // have it.
  if (keys === null || !(await isDurable())) return 'moved'
  await checkUnique(place, head, keys, columns, read)
  const index: Bytes = team.options.random.bytes(INDEX_NAME_BYTES)
  const record = { columns: key, nextRun: 0, runs: [] }
  const written = await planKeyRun(team, keys, { table, index }, record, null)
  const next = { ...generation, keyIndex: index }
  return { next, puts: [...written.puts, ...hints], operation: 'alter' }
}

/** @throws {StoreError} KEY_NOT_UNIQUE */
async function checkUnique(
  { team, table }: TablePlace,
  { generation }: TableHead,
  keys: KeyedRows,
  columns: ReturnType<typeof resolveKeyColumns>,
  read: ReadRecord,
): Promise<void> {
  const twice = await team.slices.begin().run(keys.firstTwice())
  if (twice < 0) return
  const [one, other] = [keys.positionAt(twice - 1), keys.positionAt(twice)]
  const row = await findRowAt(team, read, table, generation, other)
  const names = await Promise.all(
    [one, other].map(async (position) => {
      return `row '${await rowIdAt(team, read, table, generation, position)}'`
    }),
  )
  throw keyConflict(columns, row?.text ?? '', [names[0] ?? '', names[1] ?? ''], null)
}
