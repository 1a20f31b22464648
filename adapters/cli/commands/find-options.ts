// The options `--where`, `--search`, `--columns` and `--sort`.
import type { ExportOptions, Where } from '../../../src/index.js'
import type { OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'

export const FIND_OPTIONS = {
  where: {
    type: 'string',
    value: 'JSON',
    help: `only rows that match, such as '{ "total": { "gt": 10 } }'`,
  },
  search: {
    type: 'string',
    value: 'TEXT',
    help: 'only rows in which a text column contains this text, ignoring case',
    isRare: true,
  },
  columns: {
    type: 'string',
    value: 'A,B',
    help: `only these columns, in this order; '$rowID' puts row IDs first; a JSON array if an ID has a comma`,
  },
  sort: {
    type: 'string',
    value: 'A,B',
    help: `sort the rows by these columns; --sort=-A,B begins with the greatest A; also JSON, such as [{ "column": "A", "locale": "de" }]`,
  },
} as const satisfies OptionSpecs

/** @throws {ProgramFailure} */
export function parseFind({
  where,
  search,
  columns,
  sort,
}: Readonly<{ [Name in keyof typeof FIND_OPTIONS]?: string | undefined }>): Pick<
  ExportOptions,
  'where' | 'search' | 'columns' | 'orderBy'
> {
  return {
    ...(search !== undefined && { search }),
    ...(where !== undefined && { where: parseJsonOption('--where', where) as Where }),
    ...(columns !== undefined && { columns: parseColumnsOption(columns) }),
    ...(sort !== undefined && { orderBy: parseSortOption(sort) }),
  }
}

/** The column IDs in a text: at least one, because rows without cells would be empty lines. */
function parseColumnsOption(text: string): readonly string[] {
  if (text === '') throw noColumns()
  if (!text.startsWith('[')) return text.split(',')
  const ids = parseJsonOption('--columns', text)
  const isText = (id: unknown): id is string => typeof id === 'string'
  if (!Array.isArray(ids) || !ids.every(isText)) {
    throw new ProgramFailure('usage', '--columns must be column IDs, or a JSON array of them')
  }
  if (ids.length === 0) throw noColumns()
  return ids
}

/** Column IDs, or the contract's objects as JSON, which the store checks. */
function parseSortOption(text: string): NonNullable<ExportOptions['orderBy']> {
  if (text.startsWith('[')) {
    return parseJsonOption('--sort', text) as NonNullable<ExportOptions['orderBy']>
  }
  return text.split(',').map((id) => {
    return id.startsWith('-') ? { column: id.slice(1), descending: true } : { column: id }
  })
}

function noColumns(): ProgramFailure {
  const problem = '--columns names no column; leave out --columns to get all'
  return new ProgramFailure('usage', problem)
}

function parseJsonOption(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProgramFailure('usage', `${option} is not JSON: ${text}`, { cause })
  }
}
