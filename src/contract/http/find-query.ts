// The parameters of a page of some rows or cells: `where`, `search`, `columns` and `from`.
import type { FindBounds, Where } from '../../engine/types/find-types.js'
import { parseRendered } from '../../schema/parse-rendered.js'
import { type Query, queryValue, queryValues } from './query.js'
import { invalidRequest, shownId } from './refusal.js'

/** Levels of arrays and objects in `where`, at most. Conditions have fewer. */
const DEPTH_MAX = 64

/** undefined: none of the parameters is given. */
export function parseFindBounds(query: Query): FindBounds | undefined {
  if (!['where', 'search', 'columns', 'from'].some((name) => query.has(name))) return undefined
  const where = parseWhereParameter(query)
  const search = queryValue(query, 'search')
  const columns = parseQueryColumns(query)
  const from = parseFrom(query)
  return {
    ...(where !== undefined && { where }),
    ...(search !== undefined && { search }),
    ...(columns !== undefined && { columns }),
    ...(from !== undefined && { from }),
  }
}

/** Only its form is checked here: the columns of the table are not known. */
function parseWhereParameter(query: Query): Where | undefined {
  const text = queryValue(query, 'where')
  if (text === undefined) return undefined
  const parsed = parseQueryJson('where', text)
  if (isDeeper(parsed, DEPTH_MAX)) throw invalidRequest('query', 'where is nested too deeply')
  return parseRendered(text, 'bigint') as Where
}

/** IDs with commas between them, repeated parameters, or an array of JSON, for IDs with a comma. */
function parseQueryColumns(query: Query): readonly string[] | undefined {
  if (!query.has('columns')) return undefined
  return queryValues(query, 'columns').flatMap((value) => {
    if (!value.startsWith('[')) return value === '' ? [] : value.split(',')
    const ids = parseQueryJson('columns', value)
    const isText = (id: unknown): id is string => typeof id === 'string'
    if (Array.isArray(ids) && ids.every(isText)) return ids
    throw invalidRequest('query', 'columns must be column IDs, or a JSON array of them')
  })
}

function parseFrom(query: Query): number | undefined {
  const value = queryValue(query, 'from')
  if (value === undefined) return undefined
  if (/^[0-9]{1,15}$/.test(value)) return Number(value)
  throw invalidRequest(
    'query',
    `from must be a row number, an integer of at least 0, not '${shownId(value)}'`,
  )
}

function parseQueryJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidRequest('query', `${name} is not JSON: '${shownId(text)}'`)
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}
