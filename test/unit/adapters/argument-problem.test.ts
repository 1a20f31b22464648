// Goal: errors in a command line are described in plain words, whatever util.parseArgs of this Node says.
import { parseArgs } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  argumentProblem,
  withDirectoryOption,
  withHelp,
} from '../../../adapters/cli/command/argument-problem.js'
import type { OptionSpecs } from '../../../adapters/cli/command/command-spec.js'

const OPTIONS = {
  table: { type: 'string', help: '' },
  key: { type: 'string', short: 'k', help: '' },
  json: { type: 'boolean', help: '' },
} as const satisfies OptionSpecs

function problemOf(
  args: readonly string[],
  options: OptionSpecs = OPTIONS,
  allowPositionals = false,
): string {
  try {
    parseArgs({ args: [...args], options, allowPositionals })
  } catch (failure) {
    return argumentProblem(failure as NodeJS.ErrnoException, options, args)
  }
  throw new Error('nothing is wrong')
}

test.each([
  [['--tabel', 'x'], "Unknown option '--tabel'; did you mean --table?"],
  [['--hepl'], "Unknown option '--hepl'; did you mean --help?"],
  [['--no-such'], "Unknown option '--no-such'"],
  [['-z'], "Unknown option '-z'"],
  [['--directory', 'x'], "Unknown option '--directory': give the directory without this option"],
  [
    ['--table', '-x'],
    '--table needs a value; a value that begins with a dash is given as --table=VALUE',
  ],
  [['-k', '-x'], '-k needs a value; a value that begins with a dash is given as -kVALUE'],
  [['--table'], '--table needs a value'],
  [['--key'], '-k, --key needs a value'],
  [['--json=1'], '--json takes no value'],
  [['orders.csv'], "Unexpected argument 'orders.csv'"],
])('%j: %s', (args, problem) => {
  expect(problemOf(args)).toBe(problem)
})

test('an unknown option beside files is told in the same words', () => {
  expect(problemOf(['--tabel', 'x'], OPTIONS, true)).toBe(
    "Unknown option '--tabel'; did you mean --table?",
  )
})

test('a directory that stands alone is recognized', () => {
  const options = { directory: { type: 'string', help: '' } } as const
  expect(problemOf(['./data'], options)).toBe(
    "Unexpected argument './data': did you mean --directory ./data?",
  )
})

test.each([
  [['Orders'], ': did you mean --directory Orders?'],
  [['--directory', './data', 'Orders'], ': did you mean --table Orders?'],
  [['--directory=./data', 'Orders'], ': did you mean --table Orders?'],
  [['--url', 'http://localhost', 'Orders'], ': did you mean --table Orders?'],
  [['--directory', './data', '--table', 'x', 'Orders'], ''],
  [['--directory', './data', '--table-id', 'x', 'Orders'], ''],
  [['--table', './data', 'Orders'], ': did you mean --directory Orders?'],
])(
  'of a command for tables, %j: an argument is taken for the option that is missing%s',
  (args, meant) => {
    const text = { type: 'string', help: '' } as const
    const options = { directory: text, url: text, table: text, 'table-id': text }
    expect(problemOf(args, options)).toBe(`Unexpected argument 'Orders'${meant}`)
  },
)

describe('a DIR alone stands for its option', () => {
  const text = { type: 'string', help: '' } as const
  const place = { directory: text, url: text, json: { type: 'boolean', help: '' } } as const
  const table = { ...place, table: text, 'table-id': text }

  test.each<[string[], OptionSpecs, string[]]>([
    [['./data'], place, ['--directory=./data']],
    [['--json', './data', '--x'], place, ['--json', '--directory=./data', '--x']],
    [['./data', '--table', 'Orders'], table, ['--directory=./data', '--table', 'Orders']],
    [['--table-id', 'x', './data'], table, ['--table-id', 'x', '--directory=./data']],
  ])('in %j', (args, options, expected) => {
    expect(withDirectoryOption({ options }, args)).toEqual(expected)
  })

  test.each<[string[], OptionSpecs]>([
    [[], place],
    [['./data', 'more'], place],
    [['--', './data'], place],
    [['--directory', 'a', 'b'], place],
    [['--url', 'a', 'b'], place],
    [['Orders'], table], // It may be a table.
    [['./data'], OPTIONS],
  ])('but not in %j', (args, options) => {
    expect(withDirectoryOption({ options }, args)).toEqual(args)
  })

  test('but not where arguments have another meaning', () => {
    expect(withDirectoryOption({ options: place, hasOperands: true }, ['a.csv'])).toEqual(['a.csv'])
  })
})

test('no option is suggested that the command lacks', () => {
  const options = { directory: { type: 'string', help: '' } } as const
  expect(problemOf(['--directory', './data', 'Orders'], options)).toBe(
    "Unexpected argument 'Orders'",
  )
})

test('the help is named in a sentence of its own behind a question', () => {
  expect(withHelp('--key needs a value', 'rowstash rows --help')).toBe(
    '--key needs a value; see rowstash rows --help',
  )
  expect(withHelp('No command "x"; did you mean "y"?', 'rowstash --help')).toBe(
    'No command "x"; did you mean "y"? See rowstash --help',
  )
})
