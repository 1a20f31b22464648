// The help of commands and the completion of shells, which are made of one description.
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { COMMANDS } from '../../adapters/programs/cli-commands.js'
import { runCompletion } from '../../adapters/programs/cli-completion.js'
import {
  askedHelp,
  HELP_LINES_MAX,
  renderCommands,
  renderHelp,
} from '../../adapters/programs/command-spec.js'

const SPECS = COMMANDS.map(({ spec }) => spec)
const NAMED = SPECS.map((spec) => [spec.name, spec] as const)

/** The widest terminal that everybody has. */
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
    const text = await readFile(new URL('../../src/COMMANDS.md', import.meta.url), 'utf8')
    const [list = ''] = text.split('\n## ')
    const listed = [...list.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, name]) => name)

    expect(listed).toEqual(SPECS.map(({ name }) => name))
  })
})

async function scriptOf(shell: string): Promise<string> {
  let script = ''
  const io = { print: (text: string) => (script += `${text}\n`), warn: () => undefined, env: {} }
  await runCompletion([shell], { ...io, signal: new AbortController().signal } as never, SPECS)
  return script
}

describe('completion', () => {
  const hasBash = spawnSync('bash', ['--version']).status === 0

  /** What bash offers for the last word of a line. */
  async function offered(...words: readonly string[]): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-completion-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'orders.csv'), '')
    await writeFile(join(folder, 'script'), await scriptOf('bash'))
    const program = [
      'source ./script',
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length - 1}`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: It is a program of bash.
      '_rowstash; printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    const ended = spawnSync('bash', ['--norc', '-c', program.join('\n')], { cwd: folder })
    expect(ended.stderr.toString()).toBe('')
    return ended.stdout.toString().split('\n').slice(0, -1)
  }

  test.runIf(hasBash)('in bash offers commands, options, choices and files', async () => {
    expect(await offered('rowstash', 'ta')).toEqual(['tables'])
    expect(await offered('rowstash', '')).toEqual(
      expect.arrayContaining(SPECS.map(({ name }) => name)),
    )
    expect(await offered('rowstash', 'import', '--mo')).toEqual(['--mode'])
    expect(await offered('rowstash', 'import', 'x.csv', '--mode', 'o')).toEqual(['overwrite'])
    expect(await offered('rowstash', 'import', 'ord')).toEqual(['orders.csv'])
    expect(await offered('rowstash', 'rows', '--key-file', 'ord')).toEqual(['orders.csv'])
    expect(await offered('rowstash', 'keys', 're')).toEqual(['revoke'])
    expect(await offered('rowstash', 'rows', '--where', '')).toEqual([''])
    expect(await offered('rowstash', 'serve', '--help', '')).toEqual(['all'])
  })

  test('in fish and zsh knows every option', async () => {
    const [zsh, fish] = [await scriptOf('zsh'), await scriptOf('fish')]

    for (const { name, options } of SPECS) {
      for (const option of Object.keys(options)) {
        expect(zsh).toContain(`--${option}`)
        expect(fish).toMatch(new RegExp(`__fish_seen_subcommand_from ${name}' -l ${option} `))
      }
    }
    const names = SPECS.map(({ name }) => name).join(' ')
    expect(fish).toContain(`'__fish_seen_subcommand_from help' -a '${names}'`)
    await expect(scriptOf('csh')).rejects.toThrow('Specify one of bash, zsh, fish')
  })
})
