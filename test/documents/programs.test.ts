// Goal: programs that the documents tell people to write compile and run unchanged. No fenced block escapes: JavaScript
// or TypeScript is in the list of programs, `sh` in the list of commands, and a block without a language is no program,
// but a picture, a layout or a grammar.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { allBlocks, type Block, blocksOf, placeOf } from './blocks.js'
import { PROGRAMS } from './programs.js'
import type { Program } from './run-module.js'
import { typeErrors } from './type-check.js'

const blocks = allBlocks()
const programs = blocks.filter(({ language }) => ['js', 'ts'].includes(language))

function entriesOf({ document, text }: Block): Program[] {
  return PROGRAMS.filter((listed) => listed.document === document && text.startsWith(listed.begins))
}

test('every fenced block has a language that a test knows, or none', () => {
  const known = ['js', 'ts', 'sh', '']
  const others = blocks.filter(({ language }) => !known.includes(language))

  expect(others.map((block) => `${placeOf(block)} is in ${block.language}`)).toEqual([])
  expect(programs.length).toBeGreaterThan(0)
})

test('a block without a language is no program', () => {
  const disguised = blocks.filter(
    ({ language, text }) =>
      language === '' &&
      /^(?:import |const |let |await |npm |npx |node |curl |rowstash |\$ )/m.test(text),
  )

  expect(disguised.map(placeOf)).toEqual([])
})

test('every program is in the list, and nothing else is', () => {
  const counts = programs.map((block) => [placeOf(block), entriesOf(block).length])
  const unused = PROGRAMS.filter((listed) => !programs.some((b) => entriesOf(b).includes(listed)))

  expect(counts).toEqual(programs.map((block) => [placeOf(block), 1]))
  expect(unused).toEqual([])
})

test('every program compiles as strict TypeScript against the types of this package', () => {
  const typed = programs.map((block) => ({ block, declared: entriesOf(block)[0]?.declared ?? '' }))
  const text =
    "import { openMemory } from 'rowstash'\nconst store = await openMemory()\nstore.fly()"
  const wrong = { document: 'X.md', line: 10, language: 'js', text }

  // All in one compilation, which takes seconds to start. The last block shows that errors are found, with their
  // places.
  expect(typeErrors([...typed, { block: wrong, declared: '' }])).toEqual([
    expect.stringMatching(/^X\.md:13: Property 'fly' does not exist/),
  ])
})

test.each(programs.map((block) => [placeOf(block), block] as const))(
  'the program of %s runs',
  async (_, block) => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-documents-'))
    const undo: (() => Promise<unknown>)[] = []
    onTestFinished(async () => {
      for (const step of undo.reverse()) await step()
      await rm(folder, { recursive: true, force: true })
    })

    const [entry] = entriesOf(block)
    expect(entry, 'the program is in no list').toBeDefined()

    await entry?.run(block, { folder, onEnd: (step) => void undo.push(step) })
  },
)

test('blocks are found whatever their fence, and one that does not end is an error', () => {
  const text = 'a\n```js\n1\n```\n~~~\n```\n~~~\n````sh\n```\n````\n'

  expect(blocksOf('X.md', text).map(({ line, language, text }) => [line, language, text])).toEqual([
    [2, 'js', '1'],
    [5, '', '```'],
    [8, 'sh', '```'],
  ])
  expect(() => blocksOf('X.md', '```js\n1\n')).toThrow('X.md:1')
})
