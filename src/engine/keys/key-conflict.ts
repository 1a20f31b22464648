// Errors of rows with the same key. They name both rows, the columns and the values.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { sameBytes } from '../../base/bytes.js'
import { retold } from '../../base/data-error.js'
import { cutText } from '../../base/shown-text.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import type { KeyColumn } from '../../format/key-hash.js'
import type { Position, TableKey } from '../../format/keys.js'
import type { Generation } from '../../format/records.js'
import { renderRowId } from '../../format/row-id.js'
import { cellsOf } from '../../format/row-values.js'
import type { ReadRecord } from '../../kv/kv.js'
import { endOf } from '../changes/generation-end.js'
import type { StoreContext } from '../context/store-context.js'

/** Maximum number of characters of a key that a message shows. */
const SHOWN_KEY_CHARS_MAX = 200

const SHARED = ' would be shared by '

/**
 * @param text - The text of one of the rows.
 * @param names - The names of both rows in the message.
 * @param input - The number of the later row in the input; null: there is no input row.
 */
export function keyConflict(
  columns: readonly KeyColumn[],
  text: string,
  names: readonly [string, string],
  input: number | null,
): StoreError {
  const cells = cellsOf(text)
  const value = columns.map(({ id }) => cells.get(id) ?? '').join(', ')
  const named = columns.map(({ id }) => `'${id}' ${cells.get(id) ?? ''}`).join(', ')
  const shown = cutText(named, SHOWN_KEY_CHARS_MAX)
  const message = `The key (${shown})${SHARED}${names[0]} and ${names[1]}: change or delete one of them`
  const [column] = columns
  return new StoreError('KEY_NOT_UNIQUE', message, {
    value,
    ...(columns.length === 1 && column !== undefined && { column: column.id }),
    ...(input !== null && { row: input }),
  })
}

/** The name of a row of the input in messages. */
export function inputRowName(row: number): string {
  return `row ${row} (counted from 0) of the input`
}

/** The name of an input row in a message, unless the row is in a chunk of a stash. */
const INPUT_ROW = /\brow (\d+) \(counted from 0\)(?! of chunk)/g

/**
 * Adds the lines of rows, where they are known, to the message of a conflict of input rows. Other failures are returned
 * unchanged.
 */
export function withLines(failure: unknown, lineOf: (row: number) => number | undefined): unknown {
  if (!isStoreError(failure) || failure.code !== 'KEY_NOT_UNIQUE') return failure
  const { message, row } = failure
  const line = row === undefined ? undefined : lineOf(row)
  if (line === undefined) return failure
  const names = Math.max(0, message.lastIndexOf(SHARED)) // The text before it has the values.
  const told = message.slice(names).replace(INPUT_ROW, (name, number: string) => {
    const found = lineOf(Number(number))
    return found === undefined ? name : `${name}, line ${found}`
  })
  return retold(failure, message.slice(0, names) + told, line)
}

/** The rows that a change adds, in order. */
export class NewRows {
  readonly #isNewGeneration: boolean
  readonly #before: Generation
  readonly #next: Generation
  readonly #counts: ReadonlyMap<number, number>

  /** @param counts - The number of rows of the segments that the change links, by extent. */
  constructor(before: Generation, next: Generation, counts: ReadonlyMap<number, number>) {
    this.#isNewGeneration = !sameBytes(before.nonce, next.nonce)
    this.#before = before
    this.#next = next
    this.#counts = counts
  }

  has({ extent, slot }: Position): boolean {
    if (this.#isNewGeneration) return extent >= this.#next.firstExtent
    const end = endOf(this.#before)
    return extent > end.extent || (extent === end.extent && slot >= end.slot)
  }

  /** The number of a new row in the input, from 0. */
  numberOf({ extent, slot }: Position): number {
    let number = slot
    if (!this.#isNewGeneration && this.#before.open?.extent === extent) {
      number -= this.#before.open.nextSlot
    }
    for (const [other, count] of this.#counts) if (other < extent) number += count
    return number
  }
}

/** The ID of the row at a position. */
export function rowIdAt(
  { extents, forwards }: Pick<StoreContext, 'extents' | 'forwards'>,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  { extent, slot }: Position,
): Awaitable<string> {
  return chain(forwards.of(generation), (forward): Awaitable<string> => {
    const kept = forward?.idAt({ extent: extent - generation.firstExtent, slot }) ?? null
    if (kept !== null) return renderRowId(kept.nonce, kept.extent, kept.slot)
    const { open } = generation
    if (open?.extent === extent) return renderRowId(open.nonce, extent, slot)
    return chain(extents.read(read, table, extent), ({ nonce }) => renderRowId(nonce, extent, slot))
  })
}
