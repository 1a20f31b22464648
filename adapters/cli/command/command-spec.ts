// The description of a command, from which its parser and its help are made.

/** An option of a command: the properties for `util.parseArgs`, and its help. */
export type OptionSpec = Readonly<{
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  default?: string | boolean | string[]
  /** Placeholder of the value in the help, such as `DIR`, or choices such as `create|add`. */
  value?: string
  help: string
  /** Whether only `--help all` shows it. Default: false. */
  isRare?: boolean
}>

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

export type CommandSpec = Readonly<{
  name: string
  /** A short description for the list of commands. */
  summary: string
  /** The forms of the command line, without `rowstash`. */
  usage: readonly string[]
  about: string
  options: OptionSpecs
  /** Whether the command takes operands, such as files. Default: false. */
  hasOperands?: boolean
  /** A line after the options. */
  notes?: string
  /** Paragraphs that only `--help all` shows. */
  details?: readonly string[]
}>

/** DIR as an option, for the commands that take it as an operand. */
export const DIR_OPTION = {
  directory: { type: 'string', value: 'DIR', help: 'the same as DIR', isRare: true },
} as const satisfies OptionSpecs

/** The operands of a command with `DIR_OPTION`: DIR first, however it was given. */
export function withDirectory(
  directory: string | undefined,
  positionals: readonly string[],
): readonly string[] {
  return directory === undefined ? positionals : [directory, ...positionals]
}

/** The maximum number of lines of a help, and of characters per line: the default size of a terminal. */
export const HELP_LINES_MAX = 24
const LINE_CHARS_MAX = 80

/** The maximum length of a label in the column of labels. A longer label has a line of its own. */
const LABEL_CHARS_MAX = 20

/** The help that a command line requests; undefined: none. */
export function askedHelp(args: readonly string[]): 'short' | 'all' | undefined {
  const end = args.indexOf('--')
  const options = end < 0 ? args : args.slice(0, end)
  const at = options.findIndex((arg) => /^(?:-h|--help(?:=all)?)$/.test(arg))
  if (at < 0) return undefined
  return options[at] === '--help=all' || options[at + 1] === 'all' ? 'all' : 'short'
}

/** The help of a command. The short help fits a screen. */
export function renderHelp(spec: CommandSpec, extent: 'short' | 'all'): string {
  const { usage, about, options, notes, details = [] } = spec
  const all = Object.entries(options)
  const common = all.filter(([, { isRare = false }]) => !isRare)
  const hasMore = common.length < all.length || details.length > 0
  const shown = extent === 'all' ? all : common
  const lines = shown.map(([name, option]): Line => [renderOptionLabel(name, option), option.help])
  const help: Line = hasMore
    ? ['-h, --help [all]', 'show this text, or all of it']
    : ['-h, --help', 'show this text']
  return [
    ...usage.map((form, i) => `${i === 0 ? 'Usage:' : '      '} rowstash ${form}`),
    ...wrapped(about, ''),
    ...renderLines([...lines, help]),
    ...(notes === undefined ? [] : wrapped(notes, '')),
    ...(extent === 'all' ? details.flatMap((text) => ['', ...wrapped(text, '')]) : []),
  ].join('\n')
}

/** The help of the program: its commands. */
export function renderCommands(specs: readonly CommandSpec[]): string {
  return [
    'Usage: rowstash COMMAND [options]; rowstash COMMAND --help; rowstash --version',
    ...renderLines(specs.map(({ name, summary }): Line => [name, summary])),
  ].join('\n')
}

type Line = readonly [label: string, text: string]

function renderOptionLabel(name: string, { short, value }: OptionSpec): string {
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`
  return short === undefined ? long : `-${short}, ${long}`
}

function renderLines(lines: readonly Line[]): readonly string[] {
  const widths = lines.map(([label]) => label.length).filter((chars) => chars <= LABEL_CHARS_MAX)
  const indent = ' '.repeat(Math.max(0, ...widths) + 4)
  return lines.flatMap(([label, text]) => {
    const [first = '', ...rest] = wrapped(text, indent)
    const head = `  ${label}`
    const isLong = head.length + 2 > indent.length
    return isLong
      ? [head, first, ...rest]
      : [head.padEnd(indent.length) + first.trimStart(), ...rest]
  })
}

/** A text, wrapped into indented lines. */
function wrapped(text: string, indent: string): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    const isFull = indent.length + line.length + 1 + word.length > LINE_CHARS_MAX
    if (line !== '' && isFull) {
      lines.push(indent + line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, indent + line]
}
