// The help of commands.
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../adapters/cli/all-commands.js'
import {
  askedHelp,
  HELP_LINES_MAX,
  renderCommands,
  renderHelp,
} from '../../adapters/cli/command/command-spec.js'

const SPECS = COMMANDS.map(({ spec }) => spec)
const NAMED = SPECS.map((spec) => [spec.name, spec] as const)

/** The width that every terminal has. */
const CHARS_MAX = 80

function sizeOf(text: string): Readonly<{ lines: number; chars: number }> {
  const lines = text.split('\n')
  return { lines: lines.length, chars: Math.max(...lines.map((line) => line.length)) }
}

describe('the help', () => {
  test.each(NAMED)('of %s fits a screen', (_, spec) => {
    const { lines, chars } = sizeOf(renderHelp(spec, 'short'))

    expect(lines).toBeLessThanOrEqual(HELP_LINES_MAX)
    expect(chars).toBeLessThanOrEqual(CHARS_MAX)
    expect(sizeOf(renderHelp(spec, 'all')).chars).toBeLessThanOrEqual(CHARS_MAX)
  })

  test.each(NAMED)(
    'of %s tells all options where all of it is asked for, and exit codes',
    (_, spec) => {
      const all = renderHelp(spec, 'all')

      for (const name of Object.keys(spec.options))
        expect(all).toMatch(new RegExp(`^  --${name}\\b`, 'm'))
      expect(all.replaceAll(/\s+/g, ' ')).toContain('Exit code 0: ')
    },
  )

  test('of the program fits a screen and lists all commands', () => {
    const help = renderCommands(SPECS)
    const { lines, chars } = sizeOf(help)

    expect(lines).toBeLessThanOrEqual(HELP_LINES_MAX)
    expect(chars).toBeLessThanOrEqual(CHARS_MAX)
    for (const [name] of NAMED) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  test('of an import tells what a messy csv file needs', () => {
    const help = renderHelp(SPECS.find(({ name }) => name === 'import') as never, 'short')

    for (const option of ['delimiter', 'decimal', 'schema', 'encoding', 'check', 'on-error'])
      expect(help).toMatch(new RegExp(`^  --${option}\\b`, 'm'))
  })

  test('of the numbers of a store tells which command counts orphans', () => {
    const [stats, verify] = ['stats', 'verify'].map((name) => {
      return renderHelp(SPECS.find((spec) => spec.name === name) as never, 'short')
    })

    expect(stats?.replaceAll(/\s+/g, ' ')).toContain('orphans, which "rowstash verify" counts')
    expect(verify).toContain('An orphan is an object or a record that nothing refers to')
  })

  test('leaves out rare options unless it is asked for all', () => {
    const spec = SPECS.find(({ name }) => name === 'import')
    const [short, all] = [renderHelp(spec as never, 'short'), renderHelp(spec as never, 'all')]

    expect(short).not.toContain('--chunk-rows')
    expect(short).toContain('-h, --help [all]')
    expect(all).toContain('--chunk-rows N')
    expect(
      [['-h'], ['x', '--help', 'all'], ['--help=all'], ['--', '-h'], []].map(askedHelp),
    ).toEqual(['short', 'all', 'all', undefined, undefined])
  })

  test('and COMMANDS.md tell of the same commands', async () => {
    const text = await readFile(new URL('../../src/guides/COMMANDS.md', import.meta.url), 'utf8')
    const [list = ''] = text.split('\n## ')
    const listed = [...list.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, name]) => name)

    expect(listed).toEqual(SPECS.map(({ name }) => name))
  })
})
