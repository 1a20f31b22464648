// Bodies that list rows to change or delete (CONTRACT.md, section 6). The store checks the content of the rows.
import { OPEN_BRACKET } from '../../base/ascii.js'
import type { Steps } from '../../base/time-slices.js'
import { ROWS_PER_CALL_MAX } from '../../engine/arguments/many-arguments.js'
import type { RowTextUpdate, RowToDelete } from '../../engine/types/many-types.js'
import { type JsonPart, splitJsonArray } from '../../schema/scan-json.js'
import { invalidRequest } from '../http/refusal.js'
import { parseTextPart } from './body-members.js'
import { firstByte, type Members, readMembers, required, wholeText } from './body-shapes.js'
import type { ReceivedBody } from './read-body.js'

/** Maximum number of digits of a version. */
const VERSION_DIGITS_MAX = 400

/** PATCH /tables/{tableID}/rows: `[ { rowID, cells, ifMatch? } … ]`. */
export function* parseUpdatesBody(body: ReceivedBody): Steps<readonly RowTextUpdate[]> {
  const updates: RowTextUpdate[] = []
  for (const [members, which] of yield* readRows(body, ['rowID', 'cells', 'ifMatch'])) {
    const cells = required(members, 'cells', which)
    if (!cells.text.startsWith('{')) {
      throw invalidRequest('body', `'cells' must be an object; ${which}`)
    }
    updates.push({ ...parseWanted(members, which), json: cells.text })
  }
  return updates
}

/** DELETE /tables/{tableID}/rows: `[ { rowID, ifMatch? } … ]`. */
export function* parseDeletionsBody(body: ReceivedBody): Steps<readonly RowToDelete[]> {
  const rows = yield* readRows(body, ['rowID', 'ifMatch'])
  return rows.map(([members, which]) => parseWanted(members, which))
}

/** The members of each row, and its index for messages. */
function* readRows(
  { bytes }: ReceivedBody,
  names: readonly string[],
): Steps<readonly (readonly [Members, string])[]> {
  const shape = `{ ${names.join(', ')}? }`
  if (firstByte(bytes) !== OPEN_BRACKET) {
    throw invalidRequest('body', `it is not an array; send an array of ${shape}`)
  }
  const { text, offset } = yield* wholeText(bytes)
  const elements = yield* splitJsonArray(text, ROWS_PER_CALL_MAX, offset)
  if (elements.length > ROWS_PER_CALL_MAX) {
    const problem = `it has more than ${ROWS_PER_CALL_MAX} rows; use several requests`
    throw invalidRequest('body', problem)
  }
  const rows: (readonly [Members, string])[] = []
  for (const [index, element] of elements.entries()) {
    const which = `row ${index} (counted from 0) must be ${shape}`
    if (!element.text.startsWith('{')) throw invalidRequest('body', which)
    rows.push([yield* readMembers(element, names, which), which])
  }
  return rows
}

function parseWanted(members: Members, which: string): RowToDelete {
  const rowId = parseTextPart('rowID', required(members, 'rowID', which))
  const ifMatch = members.get('ifMatch')
  return { rowId, ...(ifMatch && { ifMatch: parseVersion(ifMatch, which) }) }
}

function parseVersion({ text }: JsonPart, which: string): bigint {
  if (/^[0-9]+$/.test(text) && text.length <= VERSION_DIGITS_MAX) return BigInt(text)
  throw invalidRequest('body', `'ifMatch' must be a version such as 12; ${which}`)
}
