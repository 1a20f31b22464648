// Checks the options of an import, which depend on its target.
import { integerOption, isRecord, optionError } from '../base/options.js'
import { DIALECT_NAMES } from '../intake/dialect.js'
import { CHUNK_BYTES, checkCall, notTaken, PARALLEL, START_AT } from './call-options.js'
import type { ImportOptions, ImportTarget, SendOptions } from './import-types.js'
import { ownSignal } from './own-realm.js'

export type ImportSettings = ImportOptions &
  Readonly<{ startAt: number; chunkBytes: number; parallel: number }>

/** The options of each target. Options of another target would have no effect, so they are rejected. */
const OF_TARGET = {
  name: ['name', 'schema'],
  add: ['tableId', 'mode'],
  overwrite: ['tableId', 'mode', 'schema', 'ifMatch'],
  merge: ['tableId', 'mode', 'key', 'missing', 'unnamed', 'ifMatch'],
} as const

const OF_TARGETS: readonly string[] = [...new Set(Object.values(OF_TARGET).flat())]

const OF_SENDING = [
  ...DIALECT_NAMES,
  'dialect',
  'at',
  'nested',
  'onSchemaError',
  'format',
  'allowEmpty',
  'chunkBytes',
  'parallel',
  'onProgress',
  'signal',
] as const satisfies (keyof SendOptions)[]

const OF_IMPORT = ['stashId', 'resume', 'startAt', 'receipt'] as const

/**
 * @returns the given options, and the defaults of those that are not given.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function checkImportOptions(
  call: 'importRows' | 'checkRows',
  given: unknown,
): ImportSettings {
  const ofCall = call === 'importRows' ? [...OF_IMPORT, ...OF_SENDING] : OF_SENDING
  checkCall(call, withoutDialect(given ?? {}), [...OF_TARGETS, ...ofCall])
  const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined
  const options = Object.fromEntries(Object.entries(given ?? {}).filter(isGiven)) as ImportOptions
  checkTarget(call, options)
  const { stashId, resume = false, startAt } = options
  if (resume && stashId === undefined) throw optionError('resume', 'needs a `stashId`')
  if (resume && startAt !== undefined) {
    throw optionError('startAt', 'cannot be combined with `resume`')
  }
  return {
    ...options,
    signal: ownSignal(options.signal),
    startAt: integerOption('startAt', startAt, START_AT),
    chunkBytes: integerOption('chunkBytes', options.chunkBytes, CHUNK_BYTES),
    parallel: integerOption('parallel', options.parallel, PARALLEL),
  }
}

/** The options without those of a dialect, which the intake checks: other calls have options with the same names. */
function withoutDialect(given: object): object {
  if (!isRecord(given)) return given
  const ofDialect: readonly string[] = DIALECT_NAMES
  return Object.fromEntries(Object.entries(given).filter(([name]) => !ofDialect.includes(name)))
}

function checkTarget(call: string, target: ImportTarget): void {
  const { name, tableId, mode, key } = target as Partial<Record<string, string>>
  if (name === undefined && tableId === undefined) {
    throw optionError(
      'name',
      `is missing: ${call} needs it for a new table, or a \`tableId\` and a \`mode\``,
    )
  }
  if (name !== undefined) {
    checkNewTable(call, target)
    return
  }
  if (mode === undefined) {
    const choices = 'add rows, overwrite the table, or merge by a key'
    throw optionError('mode', `is missing: with a \`tableId\`, ${call} can ${choices}`)
  }
  const known = OF_TARGET[mode as keyof typeof OF_TARGET]
  const wrong = unknownIn(target, known)
  if (wrong !== undefined) throw notTaken(`${call} with the mode '${mode}'`, wrong, known)
  if (mode === 'merge' && key === undefined) {
    throw optionError('key', 'is missing: a merge needs the IDs of the key columns')
  }
}

function checkNewTable(call: string, target: ImportTarget): void {
  const wrong = unknownIn(target, OF_TARGET.name)
  if (wrong === undefined) return
  const advice =
    'a `name` creates a table; to change an existing one, pass its `tableId` instead, such as from client.tableByName(name)'
  throw optionError(wrong, `cannot be combined with \`name\` in ${call}: ${advice}`)
}

/** The first given option that belongs to another target. */
function unknownIn(target: object, known: readonly string[]): string | undefined {
  return Object.keys(target).find((name) => OF_TARGETS.includes(name) && !known.includes(name))
}
