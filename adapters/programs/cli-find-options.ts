// `--where` and `--columns` of the commands that read rows.
import type { ExportOptions, Where } from '../../src/index.js'
import type { OptionSpecs } from './command-spec.js'
import { ProgramFailure } from './program-failure.js'

export const FIND_OPTIONS = {
  where: {
    type: 'string',
    value: 'JSON',
    help: `only rows that match, such as '{ "total": { "gt": 10 } }'`,
  },
  columns: {
    type: 'string',
    value: 'A,B',
    help: `only these columns, and row IDs for '$rowID'; a JSON array for IDs with a comma`,
  },
} as const satisfies OptionSpecs

/** @throws {ProgramFailure} */
export function parseFind({
  where,
  columns,
}: Readonly<{ where?: string | undefined; columns?: string | undefined }>): Pick<
  ExportOptions,
  'where' | 'columns'
> {
  return {
    ...(where !== undefined && { where: parseJson('--where', where) as Where }),
    ...(columns !== undefined && { columns: parseColumns(columns) }),
  }
}

function parseColumns(text: string): readonly string[] {
  if (!text.startsWith('[')) return text === '' ? [] : text.split(',')
  const ids = parseJson('--columns', text)
  const isText = (id: unknown): id is string => typeof id === 'string'
  if (Array.isArray(ids) && ids.every(isText)) return ids
  throw new ProgramFailure('usage', '--columns must be column IDs, or a JSON array of them')
}

function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProgramFailure('usage', `${option} is not JSON: ${text}`, { cause })
  }
}
