// Goal: the examples in docstrings compile and run, are short, and print what they state.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { createTestServer } from '../conformance/testing.js'
import { projectFiles, readText } from '../support/project.js'
import { type Block, placeOf } from './blocks.js'
import { exampleModules, exampleServers, exampleSources } from './example-surroundings.js'
import { runModule } from './run-module.js'
import { typeErrors } from './type-check.js'

/** The text after `@example` in each docstring. */
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

/** What an example prints, by the comments after its calls of `console.log`. */
function printedBy(text: string): string[] {
  return [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, said = '']) => said)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

/** Names that examples may use without defining them. The store is the server's, and the team the key's. */
const GIVEN = {
  store: "import('rowstash').Store",
  team: "import('rowstash').Team",
  client: "import('rowstash/client').Client",
  directory: 'string',
  url: 'string',
  key: 'string',
  endpoint: 'string',
  bucket: 'string',
  region: 'string',
  accessKeyId: 'string',
  secretAccessKey: 'string',
} as const

/** The names in GIVEN that an example does not define itself. */
function givenTo(text: string): (keyof typeof GIVEN)[] {
  const made = [...text.matchAll(/^ *(?:const|let|await using) (\{[^=]*\}|\w+)/gm)]
  const names = new Set(made.flatMap(([, name = '']) => name.match(/\w+/g) ?? []))
  return (Object.keys(GIVEN) as (keyof typeof GIVEN)[]).filter((name) => !names.has(name))
}

test('the examples compile', () => {
  const typed = examples.map((block) => {
    const declared = givenTo(block.text).map((name) => `declare const ${name}: ${GIVEN[name]}`)
    return { block, declared: declared.join(';') }
  })

  expect(examples.length).toBeGreaterThan(100)
  expect(typeErrors(typed)).toEqual([])
})

const LINES_MAX = 8

/** Written before there was a limit. Each shows a restart or a property. */
const LONGER =
  /restoreDirectory|fc\.assert|isStoreError\(failure\)|FaultDisk, nthStep|server\.fail\(|const again/

test(`an example has at most ${LINES_MAX} lines besides its imports`, () => {
  const long = examples.filter(({ text }) => {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('import '))
    return lines.length > LINES_MAX && !LONGER.test(text)
  })

  expect(long.map(placeOf)).toEqual([])
})

test.each(examples.map((block) => [placeOf(block), block] as const))(
  'the example of %s prints what it says',
  async (_, { text }) => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-example-'))
    const options = { sources: exampleSources, historyRetentionMs: 3_600_000 }
    const server = await createTestServer({ teamId: 'acme', store: options })
    onTestFinished(async () => {
      await server.close()
      await rm(directory, { recursive: true })
    })
    const servers = await exampleServers(text)
    if (servers === undefined) return
    onTestFinished(servers.stop)
    const { url, key, store } = server
    const client = createClient({ url, key })
    const all = { ...servers.given, store, team: store.team('acme'), client, directory, url, key }
    const given = Object.fromEntries(givenTo(text).map((name) => [name, all[name]]))
    const printed: string[] = []
    const log = (...values: unknown[]) => printed.push(values.map(shown).join(' '))
    const program = servers.fitted.replace("import fc from 'fast-check'\n", '')
    await runModule(program, { ...given, fc, console: { log } }, await exampleModules())

    expect(printed).toEqual(printedBy(text))
    expect(printed.length).toBeGreaterThan(0)
  },
)
