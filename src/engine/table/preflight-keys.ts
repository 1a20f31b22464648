// Compares the keys of the rows of a request as its operation would, without a change.
import { isSync } from '../../base/awaitable.js'
import { StoreError } from '../../base/store-error.js'
import type { Steps, TimeSlices } from '../../base/time-slices.js'
import { hashOfTokens, isTextKind, type KeyColumn, KeyHasher } from '../../format/key-hash.js'
import type { Position } from '../../format/keys.js'
import { readSpans, renderKey } from '../../format/row-text.js'
import type { ReadRecord } from '../../kv/kv.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import { type CheckGoesOn, stepwise } from '../commit/stepwise.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import type { RowTexts } from '../import/find-problems.js'
import type { OperationRows } from '../import/rows-reader.js'
import { cellFits, isFromText, type RowPolicy, toStoredToken } from '../import/stored-form.js'
import { resolveKeyColumns } from '../keys/key-columns.js'
import { inputRowName, keyConflict, rowIdAt } from '../keys/key-conflict.js'
import { readKeyIndex, rowWithKey } from '../keys/key-index.js'
import { KeyedRows } from '../keys/keyed-rows.js'
import { checkRunAgainstIndex } from '../keys/linked-keys.js'
import { readHead } from '../read/generations.js'

/** Maximum number of characters of all keys of a body. They are held until the types of their columns are known. */
const KEY_CHARS_MAX = 67_108_864

/** Maximum number of rows for which one bucket per row is read. For more rows, the whole index is scanned. */
const LOOK_UPS_MAX = 1_024

/** The number of an input row is used as a position: its lowest bits, this many, are the slot, the others the extent. */
const SLOT_BITS = 16

/** The cells of the key in the rows of a segment, or of a part of it. */
type KeyCells = Readonly<{ texts: readonly string[]; fromText: boolean }>

/** The key cells of the rows of a body, whose segments are not kept. */
export class BodyKeys {
  readonly #ids: ReadonlySet<string>
  readonly #parts: Readonly<{ text: string; count: number; fromText: boolean }>[] = []
  #chars = 0

  constructor(ids: readonly string[]) {
    this.#ids = new Set(ids)
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR: the keys together are too long */
  async addSegment(rows: RowTexts, fromText: boolean, slices: TimeSlices): Promise<void> {
    for await (const texts of rows) {
      // A line feed separates the rows: no token contains one.
      const text = texts.map((row) => this.#cellsOf(row)).join('\n')
      this.#chars += text.length
      if (this.#chars > KEY_CHARS_MAX) throw tooLongKeys()
      this.#parts.push({ text, count: texts.length, fromText })
      if (slices.spend(texts.reduce((sum, { length }) => sum + length, 0))) await slices.pause()
    }
  }

  /** Appends the keys of later rows. @throws {StoreError} as `addSegment` */
  append(other: BodyKeys): void {
    this.#chars += other.#chars
    if (this.#chars > KEY_CHARS_MAX) throw tooLongKeys()
    for (const part of other.#parts) this.#parts.push(part)
  }

  #cellsOf(row: string): string {
    const spans = readSpans(row).filter(({ id }) => this.#ids.has(id))
    return spans.map(({ start, end }) => row.slice(start, end)).join(',')
  }

  *cells(): Generator<KeyCells> {
    for (const { text, count, fromText } of this.#parts) {
      if (count > 0) yield { texts: text.split('\n'), fromText }
    }
  }
}

async function* cellsOfStash(
  { segments }: TeamContext,
  { chunks }: OperationRows,
): AsyncGenerator<KeyCells> {
  for (const { chunk } of chunks) {
    for (const ref of chunk.segments) {
      const { columns } = await segments.footer(ref)
      const fromText = isFromText(columns)
      for await (const texts of segments.rowTexts(ref, 0, ref.rowCount)) yield { texts, fromText }
    }
  }
}

/** The rows of a request, and the rules by which its operation would store them. */
export type KeyedInput = Readonly<{
  /** The columns of the key, under the schema that the table would have. */
  columns: readonly KeyColumn[]
  source: OperationRows
  /** null: the rows are in a stash. */
  body: BodyKeys | null
  policy: RowPolicy
  slices: TimeSlices
  /** Called between steps. @throws {StoreError} ABORTED */
  checkGoesOn: CheckGoesOn
}>

/**
 * @param beside - The table with whose keys those of the input are compared, too; null: there is none.
 * @throws {StoreError} KEY_NOT_UNIQUE; REQUEST_VALIDATION_ERROR: too many rows; ABORTED
 */
export async function compareKeys(
  team: TeamContext,
  input: KeyedInput,
  beside: TablePlace | null,
): Promise<void> {
  const keys = new InputKeys(team, input)
  const rows = await keys.hashed()
  const twice = await team.slices.begin().run(rows.firstTwice())
  if (twice >= 0) {
    const [first, second] = [rows.positionAt(twice - 1), rows.positionAt(twice)].map(numberAt)
    throw await keys.conflict(second ?? 0, inputRowName(first ?? 0))
  }
  if (beside !== null && rows.count > 0) {
    await compareWithTable(beside, keys, rows, input.checkGoesOn)
  }
}

class InputKeys {
  readonly columns: readonly KeyColumn[]
  readonly #team: TeamContext
  readonly #input: KeyedInput

  constructor(team: TeamContext, input: KeyedInput) {
    this.#team = team
    this.#input = input
    this.columns = input.columns
  }

  async hashed(): Promise<KeyedRows> {
    const rows = new KeyedRows()
    for await (const [number, tokens] of this.#tokens()) {
      rows.add(hashOfTokens(this.columns, tokens), positionOf(number))
    }
    return rows
  }

  /** The error for a row with the key of another row. */
  async conflict(number: number, other: string): Promise<StoreError> {
    let text = ''
    for await (const [at, tokens] of this.#tokens()) {
      if (at !== number) continue
      text = this.columns.map(({ id }, i) => `${renderKey(id)}:${tokens[i]}`).join(',')
      break
    }
    return keyConflict(this.columns, text, [other, inputRowName(number)], number)
  }

  /** For each row without an empty cell in the key: its number, and the tokens of its key as they would be stored. */
  async *#tokens(): AsyncGenerator<readonly [number: number, tokens: readonly string[]]> {
    const { source, body, slices, checkGoesOn } = this.#input
    let number = 0
    for await (const { texts, fromText } of body?.cells() ?? cellsOfStash(this.#team, source)) {
      checkGoesOn()
      for (const text of texts) {
        const found = slices.run(this.#tokensOf(text, fromText))
        const tokens = isSync(found) ? found : await found
        if (tokens.length > 0) yield [number, tokens]
        number++
        if (slices.spend(text.length)) await slices.pause()
      }
    }
  }

  /** The tokens of the key of a row. No tokens: a cell of the key is empty. */
  *#tokensOf(text: string, fromText: boolean): Steps<readonly string[]> {
    const { policy } = this.#input
    const cells = new Map<string, string>()
    for (const { id, valueStart, end } of readSpans(text)) {
      const column = policy.schema.columns.get(id)
      if (column === undefined || !this.columns.some((one) => one.id === id)) continue
      const token = text.slice(valueStart, end)
      if (policy.drops && !(yield* cellFits(policy, column, token, fromText))) continue
      const stored = toStoredToken(token, column.type, fromText)
      if (stored !== null) cells.set(id, stored)
    }
    const tokens = this.columns.flatMap(({ id }) => cells.get(id) ?? [])
    return tokens.length === this.columns.length ? tokens : []
  }
}

function compareWithTable(
  place: TablePlace,
  keys: InputKeys,
  rows: KeyedRows,
  checkGoesOn: CheckGoesOn,
): Promise<void> {
  const { team, table, tableId } = place
  return team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    const read: ReadRecord = (key) => {
      checkGoesOn()
      return view.get(key)
    }
    const { generation } = head
    if (generation.keyIndex === null) return
    const index = await readKeyIndex(table, generation.keyIndex, read)
    const { columns } = await team.schemas.get(table, generation.schemaNumber, read)
    checkSameKey(resolveKeyColumns(index.record.columns, columns), keys.columns)
    const hasher = new KeyHasher(keys.columns)
    const keyed = { sources: team, table, generation, hasher, read }
    const check = async (at: number, position: Position): Promise<void> => {
      if ((await rowWithKey(keyed, position, rows.hashAt(at))) === null) return
      const rowId = await rowIdAt(team, read, table, generation, position)
      throw await keys.conflict(numberAt(rows.positionAt(at)), `row '${rowId}'`)
    }
    if (rows.count > LOOK_UPS_MAX) {
      const partition = stepwise(team.partition, checkGoesOn)
      return checkRunAgainstIndex(team, { partition, before: head, index, run: rows, check })
    }
    for (let at = 0; at < rows.count; at++) {
      checkGoesOn()
      for (const position of await index.positionsOf(rows.hashAt(at))) await check(at, position)
    }
  })
}

/**
 * @throws {StoreError} STORAGE_UNAVAILABLE: the table now has another key, or a key whose hashes are made in another
 *   way
 */
function checkSameKey(present: readonly KeyColumn[], columns: readonly KeyColumn[]): void {
  const formOf = ({ id, kind }: KeyColumn): string => `${isTextKind(kind)} ${id}`
  const isSame = present.map(formOf).join('\0') === columns.map(formOf).join('\0')
  if (!isSame) throw tooBusy('The key of the table keeps changing')
}

function positionOf(number: number): Position {
  return { extent: Math.floor(number / 2 ** SLOT_BITS), slot: number % 2 ** SLOT_BITS }
}

function numberAt({ extent, slot }: Position): number {
  return extent * 2 ** SLOT_BITS + slot
}

function tooLongKeys(): StoreError {
  const message = `The keys of the rows have more than ${KEY_CHARS_MAX} characters in total; put the rows into a stash, and check the stash`
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}
