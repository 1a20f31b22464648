// The arguments of a command: adds the option to a bare directory, and describes faults for people.
import { parseArgs } from 'node:util'
import { didYouMean } from '../../base/arguments.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'

/** Whether util.parseArgs threw a failure, by the prefix of its code. */
export function isArgumentError(failure: unknown): failure is NodeJS.ErrnoException {
  return (
    failure instanceof Error &&
    'code' in failure &&
    String(failure.code).startsWith('ERR_PARSE_ARGS_')
  )
}

/**
 * The problem, without a full stop, and a suggestion.
 * @param options - The options of the command.
 * @param args - The given arguments.
 */
export function argumentProblem(
  { code, message }: NodeJS.ErrnoException,
  options: OptionSpecs,
  args: readonly string[],
): string {
  // Text after the first sentence is advice that does not apply here.
  const [problem = ''] = message.split(/\. |\.?\n/)
  const [, words = ''] = /'(.*)'/.exec(problem) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return problem + meantOption(words, options)
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    const name = optionMeant(options, args)
    return name === undefined ? problem : `${problem}: did you mean --${name} ${words}?`
  }
  // Such as `-k, --key <value>`.
  const option = words.replace(/ <value>$/, '')
  if (/ does not take an argument$/.test(problem)) return `${option} takes no value`
  const long = /--\S+/.exec(option)?.[0] ?? option
  if (/ is ambiguous$/.test(problem)) {
    const form = long.startsWith('--') ? `${long}=VALUE` : `${long}VALUE`
    return `${option} needs a value; a value that begins with a dash is given as ${form}`
  }
  return / argument missing$/.test(problem) ? `${option} needs a value` : problem
}

/** Options that name the place of a store. A command needs only one of these options. */
const PLACES: readonly string[] = ['directory', 'url', 'postgres']
const TABLES: readonly string[] = ['table', 'table-id']

/**
 * The arguments, with a bare DIR replaced by `--directory DIR`. They stay unchanged if the command takes operands, if a
 * place is given, or if the command needs a table and none is given.
 */
export function withDirectoryOption(
  { options, hasOperands }: Pick<CommandSpec, 'options' | 'hasOperands'>,
  args: readonly string[],
): readonly string[] {
  if (hasOperands === true || !('directory' in options)) return args
  const how = { options, allowPositionals: true, strict: false, tokens: true } as const
  const { tokens } = parseArgs({ args: [...args], ...how })
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const others = tokens.filter(({ kind }) => kind !== 'option')
  const [{ kind, index } = { kind: undefined, index: 0 }] = others
  const lacksTable = 'table' in options && !TABLES.some((name) => given.includes(name))
  const isPlaced = PLACES.some((name) => given.includes(name))
  if (kind !== 'positional' || others.length > 1 || lacksTable || isPlaced) return args
  return [...args.slice(0, index), `--directory=${args[index]}`, ...args.slice(index + 1)]
}

/** The option that a bare argument was meant for: first the place of the store, then the table. */
function optionMeant(options: OptionSpecs, args: readonly string[]): string | undefined {
  const isGiven = (name: string) =>
    args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`))
  const meant = [PLACES, TABLES].find((names) => !names.some(isGiven))?.[0]
  return meant !== undefined && meant in options ? meant : undefined
}

function meantOption(word: string, options: OptionSpecs): string {
  if (word === '--directory') return ': give the directory without this option'
  if (!word.startsWith('--')) return ''
  return didYouMean(word.slice(2), [...Object.keys(options), 'help'], (name) => `--${name}`)
}

/** A problem and a pointer to the help, in one line. */
export function withHelp(problem: string, help: string): string {
  return /[.?!]$/.test(problem) ? `${problem} See ${help}` : `${problem}; see ${help}`
}
