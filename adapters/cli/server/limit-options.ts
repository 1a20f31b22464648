// The limits of `rowstash serve`: `--limit NAME=VALUE`, environment variables, and `--limits FILE`, in this order of
// precedence. The names are those of the options, which LIMITS.md lists.
import { readFile } from 'node:fs/promises'
import { CONTRACT_LIMITS, MAINTENANCE_LIMITS, STORE_LIMITS } from '../../../src/internal.js'
import { CONNECTION_LIMITS } from '../../http/connections.js'
import { ProgramFailure } from '../command/program-failure.js'

const GROUPS = {
  store: STORE_LIMITS,
  maintenance: MAINTENANCE_LIMITS,
  contract: CONTRACT_LIMITS,
  connections: CONNECTION_LIMITS,
}

type Group = keyof typeof GROUPS

/** The given limits, by the group of options to which each belongs. */
export type GivenLimits = Readonly<{
  [G in Group]: Readonly<Partial<Record<keyof (typeof GROUPS)[G], number>>>
}>

export type LimitSources = Readonly<{
  /** Values of `--limit`. */
  options: readonly string[]
  /** Value of `--limits`. */
  file: string | undefined
  env: Readonly<Record<string, string | undefined>>
}>

const VARIABLE_PREFIX = 'ROWSTASH_LIMIT_'

/** The maximum size of a file of limits, in bytes. */
const FILE_BYTES_MAX = 1024 * 1024

/** @throws {ProgramFailure} usage: an unknown name, or a value out of range */
export async function readLimits({ options, file, env }: LimitSources): Promise<GivenLimits> {
  const all = new Map<string, number>()
  const ofFile = file === undefined ? [] : await readLimitFile(file)
  for (const part of [ofFile, limitsOfEnvironment(env), limitsOfOptions(options)]) {
    for (const { name, value, source } of part) all.set(name, checkLimitValue(name, value, source))
  }
  const of = (group: Group) => [...all].filter(([name]) => Object.hasOwn(GROUPS[group], name))
  return {
    store: Object.fromEntries(of('store')),
    maintenance: Object.fromEntries(of('maintenance')),
    contract: Object.fromEntries(of('contract')),
    connections: Object.fromEntries(of('connections')),
  }
}

type Range = Readonly<{ min: number; max: number }>

type Limit = Readonly<{ name: string; value: unknown; source: string }>

function limitsOfOptions(options: readonly string[]): readonly Limit[] {
  const seen = new Set<string>()
  return options.map((text) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (name === '') {
      throw new ProgramFailure('usage', `--limit must be written as NAME=VALUE, not "${text}"`)
    }
    if (seen.has(name)) throw new ProgramFailure('usage', `--limit ${name} is given twice`)
    seen.add(name)
    return { name, value: digitsAsNumber(value), source: `--limit ${name}` }
  })
}

function limitsOfEnvironment(env: LimitSources['env']): readonly Limit[] {
  const names = new Map(allNames().map((name) => [variableOf(name), name]))
  return Object.entries(env).flatMap(([variable, value]) => {
    if (!variable.startsWith(VARIABLE_PREFIX) || value === undefined || value === '') return []
    const name = names.get(variable)
    if (name === undefined) throw new ProgramFailure('usage', `${variable} does not name a limit`)
    return [{ name, value: digitsAsNumber(value), source: variable }]
  })
}

async function readLimitFile(path: string): Promise<readonly Limit[]> {
  const given = parseLimitFile(path, await readLimitText(path))
  return Object.entries(given).map(([name, value]) => {
    return { name, value, source: `${path}: "${name}"` }
  })
}

async function readLimitText(path: string): Promise<string> {
  try {
    const bytes = await readFile(path)
    if (bytes.length <= FILE_BYTES_MAX) return bytes.toString()
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new ProgramFailure('usage', `--limits ${path} cannot be read: ${problem}`, { cause })
  }
  throw new ProgramFailure('usage', `--limits ${path} is longer than ${FILE_BYTES_MAX} bytes`)
}

function parseLimitFile(path: string, text: string): object {
  try {
    const given: unknown = JSON.parse(text)
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new ProgramFailure('usage', `--limits ${path} is not JSON: ${problem}`, { cause })
  }
  throw new ProgramFailure('usage', `--limits ${path} must be a JSON object of names and integers`)
}

function checkLimitValue(name: string, value: unknown, source: string): number {
  const ranges = Object.values(GROUPS).find((group) => Object.hasOwn(group, name))
  const range = new Map<string, Range>(Object.entries(ranges ?? {})).get(name)
  if (range === undefined) {
    throw new ProgramFailure('usage', `${source} is not a limit; LIMITS.md lists all names`)
  }
  const { min, max } = range
  const isInRange = typeof value === 'number' && min <= value && value <= max
  if (isInRange && Number.isInteger(value)) return value
  const shown = JSON.stringify(value)
  throw new ProgramFailure(
    'usage',
    `${source} must be an integer from ${min} to ${max}, not ${shown}`,
  )
}

/** A text of digits as a number. Other text stays unchanged, for the message. */
function digitsAsNumber(text: string): unknown {
  return /^[0-9]{1,16}$/.test(text) ? Number(text) : text
}

function allNames(): readonly string[] {
  return Object.values(GROUPS).flatMap((ranges) => Object.keys(ranges))
}

/** The environment variable of a limit: ROWSTASH_LIMIT_STASHES_MAX for `stashesMax`. */
function variableOf(name: string): string {
  return VARIABLE_PREFIX + name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}
