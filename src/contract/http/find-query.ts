// The parameters that select or order the rows or cells of a page: `where`, `search`, `columns`, `from`, `sort`,
// `total`.
import type { FindBounds, OrderBy, Where } from '../../engine/types/find-types.js'
import { parseRendered } from '../../schema/parse-rendered.js'
import { type Query, queryChoice, queryValue, queryValues } from './query.js'
import { invalidRequest, shownId } from './refusal.js'

/** Maximum nesting depth in `where`. Valid conditions have less. */
const DEPTH_MAX = 64

const PARAMETERS = ['where', 'search', 'columns', 'from', 'sort', 'total']

/** The parsed parameters. */
export type FoundBounds = FindBounds & Readonly<{ total?: boolean | undefined }>

/** The parsed parameters; undefined: none of them is given. */
export function parseFindBounds(query: Query): FoundBounds | undefined {
  if (!PARAMETERS.some((name) => query.has(name))) return undefined
  const where = parseWhereParameter(query)
  const search = parseSearch(query)
  const columns = parseQueryColumns(query)
  const from = parseFrom(query)
  const orderBy = parseSort(query)
  const total = parseFlag(query, 'total')
  return {
    ...(where !== undefined && { where }),
    ...(search !== undefined && { search }),
    ...(columns !== undefined && { columns }),
    ...(from !== undefined && { from }),
    ...(orderBy !== undefined && { orderBy }),
    ...(total !== undefined && { total }),
  }
}

function parseSearch(query: Query): FindBounds['search'] {
  const text = queryValue(query, 'search')
  const ignoreAccents = parseFlag(query, 'searchIgnoreAccents')
  return text === undefined || !ignoreAccents ? text : { text, ignoreAccents }
}

/** Parses `where`. Only its form is checked, because the columns of the table are unknown here. */
function parseWhereParameter(query: Query): Where | undefined {
  const text = queryValue(query, 'where')
  if (text === undefined) return undefined
  const parsed = parseQueryJson('where', text)
  if (isDeeper(parsed, DEPTH_MAX)) throw invalidRequest('query', 'where is nested too deeply')
  return parseRendered(text, 'bigint') as Where
}

/**
 * Column IDs in a query: comma-separated, in repeated parameters, or, for IDs that contain a comma, as a JSON array.
 */
export function parseQueryColumns(query: Query, name = 'columns'): readonly string[] | undefined {
  if (!query.has(name)) return undefined
  return queryValues(query, name).flatMap((value) => {
    if (!value.startsWith('[')) return value === '' ? [] : value.split(',')
    const ids = parseQueryJson(name, value)
    const isText = (id: unknown): id is string => typeof id === 'string'
    if (Array.isArray(ids) && ids.every(isText)) return ids
    throw invalidRequest('query', `${name} must be column IDs, or a JSON array of them`)
  })
}

/**
 * Parses `sort`: column IDs as in `columns`, with `-` before columns in descending order; or, as JSON, the objects of
 * `orderBy`.
 */
function parseSort(query: Query): OrderBy | undefined {
  if (!query.has('sort')) return undefined
  const columns = queryValues(query, 'sort').flatMap((value): unknown[] => {
    if (!value.startsWith('[')) {
      return value.split(',').map((id) => {
        return id.startsWith('-') ? { column: id.slice(1), descending: true } : { column: id }
      })
    }
    const given = parseQueryJson('sort', value)
    if (Array.isArray(given)) return given
    throw invalidRequest('query', 'sort must be column IDs, or a JSON array of objects')
  })
  return columns as unknown as OrderBy
}

function parseFlag(query: Query, name: string): boolean | undefined {
  const value = queryChoice(query, name, ['true', 'false'])
  return value === undefined ? undefined : value === 'true'
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
