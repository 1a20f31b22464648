// Goal: the examples in docstrings compile and run, and print what they say.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { createTestServer } from '../conformance/testing.js'
import { projectFiles, readText } from '../support/project.js'
import { type Block, placeOf } from './blocks.js'
import { runModule } from './run-module.js'
import { typeErrors } from './type-check.js'

/** The text behind `@example` of each docstring. */
function examplesOf(document: string): Block[] {
  const text = readText(document)
  return [...text.matchAll(/^( *) \* @example\n((?:\1 \*(?! @).*\n)*?)\1 \*\/$/gm)].map((found) => {
    const [, , lines = ''] = found
    const line = text.slice(0, found.index).split('\n').length
    return { document, line, language: 'ts', text: lines.replace(/^ *\* ?/gm, '') }
  })
}

const examples = projectFiles()
  .filter((path) => /^(?:src|adapters|test\/conformance)\/.*\.ts$/.test(path))
  .flatMap(examplesOf)

/** What the comments behind its calls of `console.log` say that an example prints. */
function printedBy(text: string): string[] {
  return [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, said = '']) => said)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

test('the examples compile', () => {
  const declared = [
    "declare const team: import('rowstash').Team",
    'declare const directory: string; declare const url: string; declare const key: string',
  ].join(';')

  expect(examples.length).toBeGreaterThan(15)
  expect(typeErrors(examples.map((block) => ({ block, declared })))).toEqual([])
})

test.each(examples.map((block) => [placeOf(block), block] as const))(
  'the example of %s prints what it says',
  async (_, { text }) => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-example-'))
    const store = await openMemory()
    const server = await createTestServer()
    onTestFinished(async () => {
      await server.close()
      await store.close()
      await rm(directory, { recursive: true })
    })
    const printed: string[] = []
    const log = (...values: unknown[]) => printed.push(values.map(shown).join(' '))
    const program = text.replace("import fc from 'fast-check'\n", '')
    const { url, key } = server
    const given = { team: store.team('acme'), directory, url, key, fc, console: { log } }
    const modules = {
      'memory-level': await import('memory-level'),
      'node:fs': await import('node:fs'),
    }
    await runModule(program, given, modules)

    expect(printed).toEqual(printedBy(text))
    expect(printed.length).toBeGreaterThan(0)
  },
)
