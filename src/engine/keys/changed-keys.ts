// Plans how a change of a table with a key updates the key index, and checks that no two rows get the same key.
//
// Invariants:
// - The updates of the index are derived from the commit: from the records put over rows, and from the linked segments.
//   Operations do not report the rows that they change. So no operation can forget to report a row. Rows of a rewritten
//   segment keep their keys: a compaction changes no row, and a merge joins by the key of the table.
// - The plan of a change reads the index, and its commit checks the head of the table. Every change of the index is a
//   change of the table. So of two commits that add the same key, one is refused and planned again.
import { type Bytes, NO_BYTES, sameBytes, toHex } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { type KeyColumn, KeyHasher } from '../../format/key-hash.js'
import {
  encodeKeyEntry,
  encodeKeyIndex,
  INDEX_NAME_BYTES,
  type IndexPlace,
  keyEntryKey,
  keyIndexKey,
} from '../../format/key-index.js'
import {
  decodeRowKey,
  KEY_SPACE,
  type Position,
  schemaKey,
  type TableKey,
  tableOfKey,
} from '../../format/keys.js'
import {
  decodeRowRecord,
  decodeSchema,
  type Generation,
  type TableHead,
} from '../../format/records.js'
import { parseSchemaText } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { ExtentWalk } from '../caches/extents.js'
import { indexSchema } from '../caches/schema-cache.js'
import type { Change } from '../commit/table-writer.js'
import type { WriterPlace } from '../commit/table-writers.js'
import type { StoreContext } from '../context/store-context.js'
import { findRowAt } from '../read/row-lookup.js'
import { checkSameForm, resolveKeptKeyColumns, resolveKeyColumns } from './key-columns.js'
import { inputRowName, keyConflict, NewRows, rowIdAt } from './key-conflict.js'
import { KeyIndex, readKeyIndex, rowWithKey } from './key-index.js'
import type { KeyedRows } from './keyed-rows.js'
import {
  checkRunAgainstIndex,
  type LinkedSegment,
  linkedKeys,
  planKeyRun,
  textAt,
} from './linked-keys.js'

export type KeysContext = Pick<
  StoreContext,
  'segments' | 'extents' | 'forwards' | 'schemas' | 'slices'
> &
  Readonly<{ options: Pick<ResolvedOptions, 'random' | 'inlineRowsMax'> }>

/**
 * Maximum number of linked rows of one change that get an entry each (`inlineRowsMax` limits them, too). More rows
 * become a run.
 */
const ENTRIES_MAX = 1_024

/** A row that a change puts as a record, or links. `hash` is of its key; null: no key. `text`: null: it is deleted. */
type ChangedRow = Readonly<{ position: Position; hash: Bytes | null; text: string | null }>

/**
 * The change, with its updates of the key index.
 * @param before - The head on which the change was planned.
 * @throws {StoreError} KEY_NOT_UNIQUE, REQUEST_VALIDATION_ERROR
 */
export async function keyedChange(
  context: KeysContext,
  place: WriterPlace,
  before: TableHead,
  change: Change,
  read: ReadRecord,
): Promise<Change> {
  const { next } = change
  const { keyIndex, nonce } = before.generation
  if (next === null || keyIndex === null) return change
  const isNew = !sameBytes(next.nonce, nonce)
  // The operation changes the key of the table, and so makes the index itself.
  if (!isNew && (next.keyIndex === null || !sameBytes(next.keyIndex, keyIndex))) return change
  const index = await readKeyIndex(place.table, keyIndex, read)
  const ids = index.record.columns
  const columns = await columnsAfter(context, place.table, { ids, before, next, change, read })
  const keyed = new KeyedChange(context, {
    place,
    before,
    next,
    change,
    read,
    columns,
    index,
    isNew,
  })
  return keyed.run()
}

/** A table in creation. */
type NewTable = Readonly<{
  /** IDs of the key columns. */
  columns: readonly string[]
  schema: TableSchema
  next: Generation
  puts: Change['puts']
}>

/** The records of the key index for the first rows of a table. */
export async function keyedStart(
  context: KeysContext,
  place: WriterPlace,
  { columns: ids, schema, next, puts }: NewTable,
): Promise<Readonly<{ next: Generation; puts: Change['puts'] }>> {
  const read: ReadRecord = async () => null // A new table has no records.
  const nothing = { ...next, nonce: NO_BYTES }
  const before = { version: 0, commitNonce: NO_BYTES, order: 0, generation: nothing }
  const record = { columns: ids, nextRun: 0, runs: [] }
  const index = new KeyIndex({ table: place.table, index: NO_BYTES }, record, read)
  const columns = resolveKeyColumns(ids, indexSchema(schema).columns)
  const change = { next, puts, operation: 'create' } as const
  const parts = { place, before, next, change, read, columns, index, isNew: true }
  const keyed = await new KeyedChange(context, parts).run()
  return { next: keyed.next ?? next, puts: keyed.puts }
}

type SchemaChange = Readonly<{
  ids: readonly string[]
  before: TableHead
  next: Generation
  change: Change
  read: ReadRecord
}>

/** The key columns under the schema that the table gets. @throws {StoreError} REQUEST_VALIDATION_ERROR */
async function columnsAfter(
  { schemas }: KeysContext,
  table: TableKey,
  { ids, before: { generation }, next, change, read }: SchemaChange,
): Promise<readonly KeyColumn[]> {
  const known = await schemas.get(table, generation.schemaNumber, read)
  if (next.schemaNumber === generation.schemaNumber) return resolveKeyColumns(ids, known.columns)
  const key = schemaKey(table, next.schemaNumber)
  const [, record] = change.puts.find(([put]) => sameBytes(put, key)) ?? []
  const schema =
    record === undefined
      ? await schemas.get(table, next.schemaNumber, read)
      : indexSchema(parseSchemaText(decodeSchema(record)).schema)
  const columns = resolveKeptKeyColumns(ids, schema.columns)
  if (sameBytes(next.nonce, generation.nonce)) {
    checkSameForm(resolveKeyColumns(ids, known.columns), columns)
  }
  return columns
}

type Parts = Readonly<{
  place: WriterPlace
  before: TableHead
  next: Generation
  change: Change
  read: ReadRecord
  columns: readonly KeyColumn[]
  index: KeyIndex
  isNew: boolean
}>

class KeyedChange {
  readonly #context: KeysContext
  readonly #parts: Parts
  readonly #hasher: KeyHasher
  /**
   * The hashes of the keys of rows that the change puts as records, by the names of their positions; null: the row has
   * no key.
   */
  readonly #laid = new Map<string, Bytes | null>()
  #segments: readonly LinkedSegment[] = []
  #newRows: NewRows

  constructor(context: KeysContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
    this.#hasher = new KeyHasher(parts.columns)
    this.#newRows = new NewRows(parts.before.generation, parts.next, new Map())
  }

  async run(): Promise<Change> {
    const { place, before, next, change, index, isNew } = this.#parts
    this.#segments = await this.#linkedSegments()
    const counts = new Map(this.#segments.map(({ extent, ref }) => [extent, ref.rowCount]))
    this.#newRows = new NewRows(before.generation, next, counts)
    const rows = this.#laidRows()
    let linked = 0
    for (const count of counts.values()) linked += count
    const keys = linked === 0 ? null : await linkedKeys(this.#context, this.#hasher, this.#segments)
    const isRun = linked > Math.min(ENTRIES_MAX, this.#context.options.inlineRowsMax)
    if (keys !== null && !isRun) rows.push(...(await this.#rowsOf(keys)))
    const { fresh, gone } = await this.#freshKeys(rows)
    for (const row of fresh.values()) await this.#checkFree(row)
    const run = isRun ? keys : null
    if (run !== null) await this.#checkRun(run, fresh)
    const to: IndexPlace = isNew
      ? { table: place.table, index: this.#context.options.random.bytes(INDEX_NAME_BYTES) }
      : index.place
    const puts = [...change.puts]
    const deletes = [...(change.deletes ?? [])]
    for (const { hash, position } of fresh.values()) {
      if (hash !== null) puts.push([keyEntryKey(to, hash), encodeKeyEntry(position)])
    }
    for (const hash of gone) if (!fresh.has(toHex(hash))) deletes.push(keyEntryKey(to, hash))
    const { columns } = index.record
    const record = isNew ? { columns, nextRun: 0, runs: [] } : index.record
    if (run !== null) {
      const written = await planKeyRun(this.#context, run, to, record, index)
      puts.push(...written.puts)
      deletes.push(...written.deletes)
    } else if (isNew) puts.push([keyIndexKey(to), encodeKeyIndex(record)])
    return { ...change, next: { ...next, keyIndex: to.index }, puts, deletes }
  }

  /** The segments that the change links. */
  async #linkedSegments(): Promise<readonly LinkedSegment[]> {
    const { place, before, next, change, read, isNew } = this.#parts
    const pages = new Map<string, Bytes>()
    for (const [key, value] of change.puts) {
      if (key[0] === KEY_SPACE.extentPage) pages.set(byteText(key), value)
    }
    const readAfter: ReadRecord = (key) => pages.get(byteText(key)) ?? read(key)
    const walk = new ExtentWalk(readAfter, place.table, next)
    const linked: LinkedSegment[] = []
    const first = isNew ? next.firstExtent : before.generation.nextExtent
    for (let extent = first; extent < next.nextExtent; extent++) {
      const ref = (await walk.at(extent))?.entry?.segment
      if (ref) linked.push({ extent, ref })
    }
    return linked
  }

  /** The rows that the change puts as records. */
  #laidRows(): ChangedRow[] {
    const { place, change } = this.#parts
    const rows: ChangedRow[] = []
    for (const [key, value] of change.puts) {
      if (key[0] !== KEY_SPACE.row || !sameBytes(tableOfKey(key), place.table)) continue
      const position = decodeRowKey(key)
      const { text } = decodeRowRecord(value)
      const hash = text === null ? null : this.#hasher.ofText(text)
      this.#laid.set(nameOfPosition(position), hash)
      rows.push({ position, hash, text })
    }
    return rows
  }

  async #rowsOf(keys: KeyedRows): Promise<ChangedRow[]> {
    const rows: ChangedRow[] = []
    for (let place = 0; place < keys.count; place++) {
      const position = keys.positionAt(place)
      const text = await textAt(this.#context, this.#segments, position)
      rows.push({ position, hash: keys.hashAt(place), text })
    }
    return rows
  }

  /** `fresh`: the rows that get another key, by its hash. `gone`: the hashes of the keys that rows lose. */
  async #freshKeys(
    rows: readonly ChangedRow[],
  ): Promise<Readonly<{ fresh: ReadonlyMap<string, ChangedRow>; gone: readonly Bytes[] }>> {
    const fresh = new Map<string, ChangedRow>()
    const gone: Bytes[] = []
    for (const row of rows) {
      const { position, hash } = row
      const old = this.#newRows.has(position) ? null : await this.#hashBefore(position)
      if (hash !== null && old !== null && sameBytes(hash, old)) continue
      if (old !== null) gone.push(old)
      if (hash === null) continue
      const name = toHex(hash)
      const twin = fresh.get(name)
      if (twin !== undefined) throw await this.#conflict(row.text, twin.position, position)
      fresh.set(name, row)
    }
    return { fresh, gone }
  }

  async #hashBefore(position: Position): Promise<Bytes | null> {
    const { place, before, read } = this.#parts
    const row = await findRowAt(this.#context, read, place.table, before.generation, position)
    return row === null ? null : this.#hasher.ofText(row.text)
  }

  async #checkFree({ position, hash, text }: ChangedRow): Promise<void> {
    const { index, isNew } = this.#parts
    if (isNew || hash === null) return
    for (const other of await index.positionsOf(hash)) {
      if (nameOfPosition(other) === nameOfPosition(position)) continue
      if (await this.#hasKey(other, hash)) throw await this.#conflict(text, other, position)
    }
  }

  /** Whether the row at a position still has a key after the change. */
  async #hasKey(position: Position, hash: Bytes): Promise<boolean> {
    const { place, before, read } = this.#parts
    const laid = this.#laid.get(nameOfPosition(position))
    if (laid !== undefined) return laid !== null && sameBytes(laid, hash)
    const { generation } = before
    const { table } = place
    const keyed = { sources: this.#context, table, generation, hasher: this.#hasher, read }
    return (await rowWithKey(keyed, position, hash)) !== null
  }

  /** Checks the keys of linked rows against each other, against the rows laid over positions, and against the table. */
  async #checkRun(run: KeyedRows, fresh: ReadonlyMap<string, ChangedRow>): Promise<void> {
    const { place, before, index, isNew } = this.#parts
    const twice = await this.#context.slices.begin().run(run.firstTwice())
    if (twice >= 0) {
      throw await this.#conflictOfRun(run, twice, run.positionAt(twice - 1))
    }
    for (const { position, hash } of fresh.values()) {
      const at = hash === null ? -1 : run.find(hash)
      if (at >= 0) throw await this.#conflictOfRun(run, at, position)
    }
    if (isNew) return
    const check = async (at: number, other: Position): Promise<void> => {
      if (await this.#hasKey(other, run.hashAt(at))) {
        throw await this.#conflictOfRun(run, at, other)
      }
    }
    await checkRunAgainstIndex(this.#context, {
      partition: place.team.partition,
      before,
      index,
      run,
      check,
    })
  }

  async #conflictOfRun(run: KeyedRows, at: number, other: Position): Promise<Error> {
    const position = run.positionAt(at)
    const text = await textAt(this.#context, this.#segments, position)
    return this.#conflict(text, other, position)
  }

  async #conflict(text: string | null, one: Position, other: Position): Promise<Error> {
    const names = [await this.#nameOf(one), await this.#nameOf(other)] as const
    const input = this.#newRows.has(other) ? this.#newRows.numberOf(other) : null
    return keyConflict(this.#parts.columns, text ?? '', names, input)
  }

  async #nameOf(position: Position): Promise<string> {
    if (this.#newRows.has(position)) {
      return inputRowName(this.#newRows.numberOf(position))
    }
    const { place, before, read } = this.#parts
    const rowId = await rowIdAt(this.#context, read, place.table, before.generation, position)
    return `row '${rowId}'`
  }
}

function nameOfPosition({ extent, slot }: Position): string {
  return `${extent}:${slot}`
}
