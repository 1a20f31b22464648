// Shapes of request bodies (CONTRACT.md, sections 4 to 7). An object must not have unknown members. Rows are not parsed
// here: the engine gets their text, so that every token is stored as it was sent.

import { OPEN_BRACE, OPEN_BRACKET } from '../../base/ascii.js'
import { type Bytes, markLength } from '../../base/bytes.js'
import type { Steps } from '../../base/time-slices.js'
import { stashNameProblem } from '../../engine/arguments/arguments.js'
import type { AlterRequest } from '../../engine/types/life-types.js'
import type { Stash, TextRows } from '../../engine/types/row-types.js'
import { isSpace } from '../../schema/json-byte-values.js'

import { decodeJsonInSteps, type JsonPart, splitJsonObject } from '../../schema/scan-json.js'
import type { CallTeam } from '../auth/limited-team.js'
import { invalidRequest, shownId } from '../http/refusal.js'
import type { WireSchema } from './body-members.js'
import {
  parseAppIds,
  parseColumnIds,
  parseKey,
  parseName,
  parsePart,
  parseSchema,
  parseTextPart,
} from './body-members.js'
import type { DialectBody } from './dialect-body.js'
import type { ReceivedBody } from './read-body.js'

export type CreateBody = Readonly<{
  name?: string
  schema?: WireSchema
  rows: TextRows | Stash
  appIds?: readonly string[]
}>

export type AlterBody = Readonly<{
  name?: string
  schema?: WireSchema
  drop?: readonly string[]
  key?: readonly string[] | null
}>

export type ConvertBody = NonNullable<AlterRequest['convert']>

export type OverwriteBody = Readonly<{ schema?: WireSchema; rows: TextRows | Stash }>

const IS_EMPTY = 'it is empty'
const SEND_ARRAY = 'send an array of rows'
const SEND_ROWS = `${SEND_ARRAY} or { "$stashID" }`
const SEND_CREATE = `${SEND_ARRAY} or { name, rows }`
const SEND_OVERWRITE = `${SEND_ARRAY}, { rows } or { "$stashID" }`

/** POST /tables: `{ name, schema?, rows, appsToLink? }`, an array of rows, or CSV/TSV. */
export function* parseCreateBody(
  body: ReceivedBody,
  team: CallTeam,
  dialect: DialectBody,
): Steps<CreateBody> {
  const rows = bareRows(body, dialect, SEND_CREATE)
  if (rows !== undefined) return { rows }
  const names = ['name', 'schema', 'rows', 'appsToLink']
  const members = yield* readMembers(yield* wholeText(body.bytes), names)
  const name = required(members, 'name')
  const schema = members.get('schema')
  const appsToLink = members.get('appsToLink')
  return {
    name: parseName(name),
    ...(schema === undefined ? {} : { schema: yield* parseSchema(schema) }),
    ...(appsToLink === undefined ? {} : { appIds: yield* parseAppIds(appsToLink) }),
    rows: yield* parseRowsMember(required(members, 'rows'), team),
  }
}

/** PUT /tables/{tableID}: `{ schema?, rows }`, an array of rows, `{ "$stashID" }`, or CSV/TSV. */
export function* parseOverwriteBody(
  body: ReceivedBody,
  team: CallTeam,
  dialect: DialectBody,
): Steps<OverwriteBody> {
  const rows = bareRows(body, dialect, SEND_OVERWRITE)
  if (rows !== undefined) return { rows }
  const names = ['$stashID', 'schema', 'rows']
  const members = yield* readMembers(yield* wholeText(body.bytes), names)
  const stashId = members.get('$stashID')
  if (stashId !== undefined) return { rows: parseStashReference(members, stashId, team) }
  const schema = members.get('schema')
  return {
    ...(schema === undefined ? {} : { schema: yield* parseSchema(schema) }),
    rows: yield* parseRowsMember(required(members, 'rows', SEND_OVERWRITE), team),
  }
}

/** POST /tables/{tableID}/rows: an array of rows, `{ "$stashID" }`, or CSV/TSV. */
export function* parseAddBody(
  body: ReceivedBody,
  team: CallTeam,
  dialect: DialectBody,
): Steps<TextRows | Stash> {
  const rows = bareRows(body, dialect, SEND_ROWS)
  return rows ?? (yield* parseStashObject(yield* wholeText(body.bytes), team))
}

/** PATCH /tables/{tableID}: `{ name?, schema?, drop? }`, or `{ key }`. */
export function* parseAlterBody({ bytes }: ReceivedBody): Steps<AlterBody> {
  const isObject = firstByte(bytes) === OPEN_BRACE
  const names = ['name', 'schema', 'drop', 'key']
  const members = isObject ? yield* readMembers(yield* wholeText(bytes), names) : undefined
  if (members === undefined || members.size === 0) {
    const problem = isObject ? 'it is empty' : 'it is not an object'
    throw invalidRequest('body', `${problem}; send { name }, { schema } or both, or { key }`)
  }
  const [name, schema, drop, key] = names.map((member) => members.get(member))
  return {
    ...(name && { name: parseName(name) }),
    ...(schema && { schema: yield* parseSchema(schema) }),
    ...(drop && { drop: parseColumnIds('drop', drop) }),
    ...(key && { key: parseKey(key) }),
  }
}

/** POST /tables/{tableID}/convert: `{ column, type, booleans? }`. */
export function* parseConvertBody({ bytes }: ReceivedBody): Steps<ConvertBody> {
  const hint = 'send { column, type }'
  if (firstByte(bytes) !== OPEN_BRACE) throw invalidRequest('body', `it is not an object; ${hint}`)
  const members = yield* readMembers(yield* wholeText(bytes), ['column', 'type', 'booleans'])
  const booleans = members.get('booleans')
  return {
    column: parseTextPart('column', required(members, 'column', hint)),
    type: parsePart(required(members, 'type', hint)) as ConvertBody['type'], // The engine checks the type.
    ...(booleans && { booleans: parsePart(booleans) as ConvertBody['booleans'] }), // Likewise.
  }
}

/** PUT /stashes/{stashID}/{serial}: an array of rows, or CSV/TSV. */
export function parseChunkBody(body: ReceivedBody, dialect: DialectBody): TextRows {
  const rows = bareRows(body, dialect, SEND_ARRAY)
  if (rows === undefined) throw invalidRequest('body', `it is an object; ${SEND_ARRAY}`)
  return rows
}

/** PATCH /tables/{tableID}/rows/{rowID}: an object of cells. */
export function parseCellsBody({ bytes }: ReceivedBody): Bytes {
  const first = firstByte(bytes)
  if (first === OPEN_BRACE) return bytes
  const problem = first === undefined ? IS_EMPTY : 'it is not an object'
  throw invalidRequest('body', `${problem}; send an object of cells`)
}

/** The rows of a body that has only rows; undefined for a JSON object. @param hint - Advice for the error message. */
function bareRows(body: ReceivedBody, dialect: DialectBody, hint: string): TextRows | undefined {
  const rows = dialect.rowsOf(body)
  if (rows !== undefined) return rows
  const { bytes } = body
  const first = firstByte(bytes)
  if (first === OPEN_BRACKET) return { json: bytes }
  if (first === OPEN_BRACE) return undefined
  const problem = first === undefined ? IS_EMPTY : 'it is neither an array nor an object'
  throw invalidRequest('body', `${problem}; ${hint}`)
}

function* parseRowsMember(part: JsonPart, team: CallTeam): Steps<TextRows | Stash> {
  const { text, offset } = part
  if (text.startsWith('[')) return { json: text, offset }
  if (text.startsWith('{')) return yield* parseStashObject(part, team)
  throw invalidRequest('body', '\'rows\' must be an array of rows or { "$stashID" }')
}

function* parseStashObject(part: JsonPart, team: CallTeam): Steps<Stash> {
  const members = yield* readMembers(part, ['$stashID'], SEND_ROWS)
  const stashId = members.get('$stashID')
  if (stashId === undefined) throw invalidRequest('body', `it has no rows; ${SEND_ROWS}`)
  return parseStashReference(members, stashId, team)
}

function parseStashReference(members: Members, part: JsonPart, team: CallTeam): Stash {
  if (members.size > 1) throw invalidRequest('body', "'$stashID' must be the only member")
  const stashId: unknown = parsePart(part)
  if (typeof stashId !== 'string') throw invalidRequest('body', "'$stashID' must be a string")
  const problem = stashNameProblem('Stash ID', stashId)
  if (problem !== undefined) throw invalidRequest('body', problem)
  return team.stash(stashId)
}

/**
 * The raw texts of the members of an object that may have only known members. Of duplicate members, the last counts.
 */
export function* readMembers(
  part: JsonPart,
  names: readonly string[],
  hint = `it may have ${names.map((name) => `'${name}'`).join(', ')}`,
): Steps<Members> {
  const members = new Map<string, JsonPart>()
  for (const { key, text, offset } of yield* splitJsonObject(part.text, part.offset)) {
    if (!names.includes(key)) {
      throw invalidRequest('body', `unexpected property '${shownId(key)}'; ${hint}`)
    }
    members.set(key, { text, offset })
  }
  return members
}

/** The raw texts of the members of an object, by name. */
export type Members = ReadonlyMap<string, JsonPart>

export function* wholeText(body: Bytes): Steps<JsonPart> {
  return { text: yield* decodeJsonInSteps(body), offset: 0 }
}

/** @param hint - Advice for the error message. */
export function required(members: Members, name: string, hint?: string): JsonPart {
  const part = members.get(name)
  if (part !== undefined) return part
  throw invalidRequest('body', `'${name}' is missing${hint === undefined ? '' : `; ${hint}`}`)
}

/** The first byte after a byte order mark and JSON white space. */
export function firstByte(bytes: Bytes): number | undefined {
  for (let at = markLength(bytes); at < bytes.length; at++) {
    if (!isSpace(bytes[at] ?? 0)) return bytes[at]
  }
  return undefined
}
