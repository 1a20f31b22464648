// Goal: the commands in the documents work when they are pasted.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli } from '../support/built-cli.js'
import { projectFiles, readText } from '../support/project.js'
import { allBlocks, type Block, placeOf } from './blocks.js'
import {
  COMMANDS,
  type Commands,
  checkChoice,
  checkCommands,
  commandsOf,
  PACKAGE,
} from './commands.js'

const blocks = allBlocks().filter(({ language }) => language === 'sh')

function entriesOf({ document, text }: Block): Commands[] {
  return COMMANDS.filter((listed) => listed.document === document && text.startsWith(listed.begins))
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'])
    return true
  } catch {
    return false
  }
}

let cli: BuiltCli

beforeAll(async () => {
  cli = await buildCli()
})

test('every block in the list is there once', () => {
  const found = COMMANDS.map(
    (listed) => blocks.filter((block) => entriesOf(block).includes(listed)).length,
  )

  expect(found).toEqual(COMMANDS.map(() => 1))
})

test('commands that are neither run nor checked are an error', () => {
  for (const wrong of [
    'make',
    'npm run no-such-script',
    'node no-such-file.mjs',
    'npm run bench -- x',
    'npm run test:rung -- T4 T99',
    'npm test -- test/unit/schema test/no-such-folder',
  ]) {
    expect(() => checkCommands([wrong])).toThrow()
  }
})

for (const block of blocks) {
  const [entry] = entriesOf(block)
  // Without curl the command cannot run.
  test.skipIf(entry?.needs === 'curl' && !hasCurl())(
    `the commands of ${placeOf(block)} work`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'rowstash-documents-'))
      const undo: (() => Promise<unknown>)[] = []
      onTestFinished(async () => {
        for (const step of undo.reverse()) await step()
        await rm(folder, { recursive: true, force: true })
      })
      const onEnd = (step: () => Promise<unknown>): void => void undo.push(step)

      if (entry === undefined) checkCommands(commandsOf(block))
      else await entry.run(commandsOf(block), { folder, cli: cli.path, onEnd })
    },
  )
}

test('every rung and every test file that a document tells to run is there', () => {
  const documents = projectFiles().filter((path) => path.endsWith('.md'))
  const commands = documents.flatMap((document) =>
    [...readText(document).matchAll(/`(?:[A-Z_]+=\S+ )*(npm [^`]+)`/g)].map(
      ([, command]) => command,
    ),
  )

  expect(commands.length).toBeGreaterThan(10)
  for (const command of commands) checkChoice(command ?? '')
})

test('every npm script that a document names is there', () => {
  const documents = projectFiles().filter((path) => path.endsWith('.md'))
  const named = documents.flatMap((document) =>
    [...readText(document).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(
      ([, script, short]) => ({ document, script: script ?? short ?? '' }),
    ),
  )

  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ script }) => PACKAGE.scripts[script] === undefined)).toEqual([])
})
