// Errors of the keys of a merge. They name the rows, the columns and the values.
import { cutText } from '../../base/shown-text.js'
import { StoreError } from '../../base/store-error.js'
import { invalidValue } from '../import/row-object.js'
import type { IncomingRows } from './incoming-rows.js'
import { KeyCollision, sameKey, shownKey } from './merged-row.js'

/** Maximum number of characters of a key that a message shows. */
const SHOWN_KEY_CHARS_MAX = 200

export function emptyKey(incoming: IncomingRows, row: number, column: string): StoreError {
  const rule = 'a value in every row, because the column is a key of the merge'
  return invalidValue(column, { ...incoming.placeOf(row), value: 'an empty cell', rule })
}

/** @throws {KeyCollision} if the keys differ, so that only their fingerprints are equal */
export async function keyTwiceInInput(
  incoming: IncomingRows,
  key: readonly string[],
  first: number,
  second: number,
): Promise<StoreError> {
  const [one = '', other = ''] = await readIncomingTexts(incoming, Uint32Array.of(first, second))
  if (!sameKey(one, other, key)) throw new KeyCollision()
  const places = [first, second].map((row) => shownRowPlace(incoming, row))
  const message = `${places.join(' and ')} of the input have the same key (${shownKeyShort(other, key)}): a merge accepts one row per key`
  return new StoreError('KEY_NOT_UNIQUE', message, {
    ...incoming.placeOf(second),
    value: shownKeyShort(other, key),
  })
}

export async function keyTwiceInTable(
  incoming: IncomingRows,
  key: readonly string[],
  row: number,
  rowIds: readonly string[],
): Promise<StoreError> {
  const [text = ''] = await readIncomingTexts(incoming, Uint32Array.of(row))
  const place = shownRowPlace(incoming, row)
  const message = `Rows ${rowIds.join(' and ')} of the table have the same key (${shownKeyShort(text, key)}), which ${place} of the input has too: delete or change one of them first`
  return new StoreError('KEY_NOT_UNIQUE', message, {
    ...incoming.placeOf(row),
    value: shownKeyShort(text, key),
  })
}

function shownRowPlace(incoming: IncomingRows, row: number): string {
  const place = incoming.placeOf(row)
  const chunk = place.chunk === undefined ? '' : ` of chunk '${place.chunk}'`
  return `row ${place.row ?? row} (counted from 0)${chunk}`
}

function shownKeyShort(text: string, key: readonly string[]): string {
  return cutText(shownKey(text, key), SHOWN_KEY_CHARS_MAX)
}

/** @param rows - Numbers of rows, ascending. */
async function readIncomingTexts(incoming: IncomingRows, rows: Uint32Array): Promise<string[]> {
  const texts: string[] = []
  for await (const some of incoming.textsAt(rows)) for (const [, text] of some) texts.push(text)
  return texts
}
