// Shapes of request bodies (sections 4 to 7). Objects are closed. Rows are never parsed here: their
// text goes to the engine as it came, so that every token is stored as it was sent.

import type { Bytes } from '../base/bytes.js'
import { stashNameProblem } from '../engine/stash.js'
import type { Stash, Team, TextRows } from '../engine/store-types.js'
import { decodeJsonText, parseJson, splitJsonObject } from '../schema/scan-json.js'
import type { WireSchema } from './body-members.js'
import { parseAppIds, parseName, parseSchema } from './body-members.js'
import { invalidRequest, shownId } from './error-response.js'
import type { ReceivedBody } from './read-body.js'

export type CreateBody = Readonly<{
  name?: string
  schema?: WireSchema
  rows: TextRows | Stash
  appIds?: readonly string[]
}>

export type OverwriteBody = Readonly<{ schema?: WireSchema; rows: TextRows | Stash }>

/** POST /tables: `{ name, schema?, rows, appsToLink? }`, an array of rows, or CSV/TSV. */
export function parseCreateBody(body: ReceivedBody, team: Team): CreateBody {
  const rows = bareRows(body)
  if (rows !== undefined) return { rows }
  const members = readMembers(body.bytes, ['name', 'schema', 'rows', 'appsToLink'])
  const name = required(members, 'name')
  const schema = members.get('schema')
  const appsToLink = members.get('appsToLink')
  return {
    name: parseName(name),
    ...(schema === undefined ? {} : { schema: parseSchema(schema) }),
    ...(appsToLink === undefined ? {} : { appIds: parseAppIds(appsToLink) }),
    rows: parseRowsMember(required(members, 'rows'), team),
  }
}

/** PUT /tables/{tableID}: `{ schema?, rows }`, an array of rows, `{ "$stashID" }`, or CSV/TSV. */
export function parseOverwriteBody(body: ReceivedBody, team: Team): OverwriteBody {
  const rows = bareRows(body)
  if (rows !== undefined) return { rows }
  const members = readMembers(body.bytes, ['$stashID', 'schema', 'rows'])
  const stashId = members.get('$stashID')
  if (stashId !== undefined) return { rows: parseStashReference(members, stashId, team) }
  const schema = members.get('schema')
  return {
    ...(schema === undefined ? {} : { schema: parseSchema(schema) }),
    rows: parseRowsMember(required(members, 'rows'), team),
  }
}

/** POST /tables/{tableID}/rows: an array of rows, `{ "$stashID" }`, or CSV/TSV. */
export function parseAddBody(body: ReceivedBody, team: Team): TextRows | Stash {
  return bareRows(body) ?? parseStashObject(body.bytes, team)
}

/** PUT /stashes/{stashID}/{serial}: an array of rows or CSV/TSV, nothing else. */
export function parseChunkBody(body: ReceivedBody): TextRows {
  const rows = bareRows(body)
  if (rows === undefined) throw invalidRequest('body', 'expected an array of rows')
  return rows
}

const OPENING_BRACKET = 0x5b
const OPENING_BRACE = 0x7b

/** PATCH /tables/{tableID}/rows/{rowID}: an object of cells. */
export function parseCellsBody({ bytes }: ReceivedBody): Bytes {
  if (firstByte(bytes) !== OPENING_BRACE)
    throw invalidRequest('body', 'expected an object of cells')
  return bytes
}

/** The rows of a body that is nothing but rows; undefined for a JSON object. */
function bareRows({ format, bytes }: ReceivedBody): TextRows | undefined {
  if (format === 'csv') return { csv: bytes }
  if (format === 'tsv') return { tsv: bytes }
  const first = firstByte(bytes)
  if (first === OPENING_BRACKET) return { json: bytes }
  if (first === OPENING_BRACE) return undefined
  throw invalidRequest('body', 'expected JSON that is an array or an object')
}

function parseRowsMember(text: string, team: Team): TextRows | Stash {
  if (text.startsWith('[')) return { json: text }
  if (text.startsWith('{')) return parseStashObject(text, team)
  throw invalidRequest('body', '\'rows\' must be an array of rows or { "$stashID" }')
}

function parseStashObject(json: Bytes | string, team: Team): Stash {
  const members = readMembers(json, ['$stashID'])
  return parseStashReference(members, required(members, '$stashID'), team)
}

function parseStashReference(
  members: ReadonlyMap<string, string>,
  text: string,
  team: Team,
): Stash {
  if (members.size > 1) throw invalidRequest('body', "'$stashID' must stand alone")
  const stashId: unknown = parseJson(text)
  if (typeof stashId !== 'string') throw invalidRequest('body', "'$stashID' must be a string")
  const problem = stashNameProblem('Stash ID', stashId)
  if (problem !== undefined) throw invalidRequest('body', problem)
  return team.stash(stashId)
}

/** The raw texts of the members of an object that may have these and no others; the last of a name wins. */
export function readMembers(
  json: Bytes | string,
  names: readonly string[],
): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  for (const { key, text } of splitJsonObject(
    typeof json === 'string' ? json : decodeJsonText(json),
  )) {
    if (!names.includes(key)) throw invalidRequest('body', `unexpected property '${shownId(key)}'`)
    members.set(key, text)
  }
  return members
}

export function required(members: ReadonlyMap<string, string>, name: string): string {
  const text = members.get(name)
  if (text === undefined) throw invalidRequest('body', `'${name}' is missing`)
  return text
}

/** The first byte that is not JSON white space. */
function firstByte(bytes: Bytes): number | undefined {
  return bytes.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
}
