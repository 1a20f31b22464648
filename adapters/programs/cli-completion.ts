// `rowstash completion`: scripts that complete command lines in shells, made of what the commands take.
import { parseArgs } from 'node:util'
import type { CommandIo } from './cli-command.js'
import type { CommandSpec, OptionSpec } from './command-spec.js'
import { ProgramFailure } from './program-failure.js'
import { printLines } from './terminal.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const COMPLETION_COMMAND: CommandSpec = {
  name: 'completion',
  summary: 'complete command lines in a shell',
  usage: [`completion ${SHELLS.join('|')}`],
  about: 'Prints a script that completes commands, options and their values.',
  options: {},
  operands: SHELLS,
  notes: `bash: put 'source <(rowstash completion bash)' into ~/.bashrc. zsh: the same with zsh into
    ~/.zshrc, after compinit. fish: rowstash completion fish >
    ~/.config/fish/completions/rowstash.fish. Exit code 0: it is written; 2: a usage error.`,
}

/** Runs `rowstash completion`. @param specs - All commands. @throws {ProgramFailure} */
export async function runCompletion(
  args: readonly string[],
  io: CommandIo,
  specs: readonly CommandSpec[],
): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} })
  const [shell, ...more] = positionals
  if (more.length > 0) throw new ProgramFailure('usage', `Specify one of ${SHELLS.join(', ')}`)
  switch (shell) {
    case 'bash':
      return printLines(io.print, bashScript(specs))
    case 'zsh':
      io.print('autoload -U +X bashcompinit && bashcompinit')
      return printLines(io.print, bashScript(specs))
    case 'fish':
      return printLines(io.print, fishScript(specs))
    default:
      throw new ProgramFailure('usage', `Specify one of ${SHELLS.join(', ')}`)
  }
}

/** What can follow an option: words, a path, or something that nobody knows. */
function valuesOf({ type, value = '' }: OptionSpec): readonly string[] | 'path' | 'any' | 'none' {
  if (type === 'boolean') return 'none'
  if (/^[a-z|]+\|[a-z|]+$/.test(value)) return value.split('|')
  return /^(?:DIR|FILE)(?:\||$)/.test(value) ? 'path' : 'any'
}

/** The words of a command that are no values of options. */
function wordsOf({ options, operands = [] }: CommandSpec): readonly string[] {
  const names = Object.keys(options).map((name) => `--${name}`)
  return [...names, '--help', ...(operands === 'files' ? [] : operands)]
}

/** Works in bash 3.2 and later. Names and choices have letters, digits, - and | only. */
function bashScript(specs: readonly CommandSpec[]): string {
  const lines = [
    '_rowstash() {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: It is a script of a shell.
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words="" files=""',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words="${specs.map(({ name }) => name).join(' ')} help --help --version"`,
    '  else',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: It is a script of a shell.
    '    case "${COMP_WORDS[1]} $before" in',
    ...specs.flatMap((spec) => Object.entries(spec.options).flatMap(bashOption(spec.name))),
    `      "help "*) words="${specs.map(({ name }) => name).join(' ')}";;`,
    '      *" --help") words="all";;',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: It is a script of a shell.
    '      *) case "${COMP_WORDS[1]}" in',
    ...specs.map((spec) => {
      const files = spec.operands === 'files' ? ' files=1' : ''
      return `        ${spec.name}) words="${wordsOf(spec).join(' ')}"${files};;`
    }),
    '      esac;;',
    '    esac',
    '  fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    '  if [ -n "$files" ]; then',
    '    compopt -o filenames 2>/dev/null',
    '    local IFS=$\'\\n\'; COMPREPLY+=($(compgen -f -- "$word"))',
    '  fi',
    '}',
    'complete -F _rowstash rowstash',
  ]
  return lines.join('\n')
}

function bashOption(command: string) {
  return ([name, option]: readonly [string, OptionSpec]): readonly string[] => {
    const values = valuesOf(option)
    if (values === 'none') return []
    const does =
      values === 'path' ? 'files=1' : values === 'any' ? ':' : `words="${values.join(' ')}"`
    return [`      "${command} --${name}") ${does};;`]
  }
}

function fishScript(specs: readonly CommandSpec[]): string {
  const names = specs.map(({ name }) => name).join(' ')
  const lines = [
    'complete -c rowstash -f',
    "complete -c rowstash -n __fish_use_subcommand -a help -d 'explain a command'",
    `complete -c rowstash -n '__fish_seen_subcommand_from help' -a ${quoted(names)}`,
  ]
  for (const spec of specs) {
    const { name, summary, options, operands = [] } = spec
    lines.push(`complete -c rowstash -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`)
    const when = `complete -c rowstash -n '__fish_seen_subcommand_from ${name}'`
    if (operands === 'files') lines.push(`${when} -F`)
    else if (operands.length > 0) lines.push(`${when} -a ${quoted(operands.join(' '))}`)
    for (const [option, about] of Object.entries(options)) {
      lines.push(`${when} -l ${option}${fishValues(about)} -d ${quoted(about.help)}`)
    }
    lines.push(`${when} -s h -l help -d 'show the help'`)
  }
  return lines.join('\n')
}

function fishValues(option: OptionSpec): string {
  const values = valuesOf(option)
  if (values === 'none') return ''
  if (values === 'path') return ' -r -F'
  return values === 'any' ? ' -x' : ` -x -a ${quoted(values.join(' '))}`
}

/** A text as one word of fish, on one line. */
function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return `'${line.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
