// Goal: llms.txt lists every page of the package and the questions that it answers. `npm test --
// test/documents/llms.test.ts -u` makes it from the heads of the pages.
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { projectFiles, readText } from '../support/project.js'

const FOLDER = 'src/guides'
const SPECIFICATIONS = ['src/contract/CONTRACT.md', 'src/format/FORMAT.md']

/** Title and first paragraph of a page. */
function headOf(path: string): Readonly<{ title: string; answers: string }> {
  const [, title = '', paragraph = ''] = /^# (.+)\n\n((?:.+\n)+)/.exec(readText(path)) ?? []
  return { title, answers: paragraph.trim().replace(/\s+/g, ' ') }
}

/** The guides, in the order of their index. */
function guides(): string[] {
  const rows = readText(`${FOLDER}/README.md`).matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)
  return [...rows].map(([, name = '']) => `${FOLDER}/${name}`)
}

function linesOf(paths: readonly string[]): string[] {
  return paths.map((path) => {
    const { title, answers } = headOf(path)
    return `- [${title}](${posix.relative(FOLDER, path)}): ${answers}`
  })
}

test('the index of the guides lists each of them once', () => {
  const pages = projectFiles().filter((path) => path.startsWith(`${FOLDER}/`))
  const found = pages.filter((path) => path.endsWith('.md') && !path.endsWith('/README.md'))

  expect(guides().sort()).toEqual(found.sort())
})

test('each guide begins with what it answers, and a table of contents that lists its sections', () => {
  const wrong = guides().flatMap((path) => {
    const text = readText(path)
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)
    const [head = ''] = text.split('\n## ')
    const missing = headings.length < 3 ? [] : headings.filter((h) => !head.includes(anchor(h)))
    const { answers } = headOf(path)
    return [...missing, ...(/^[A-Z][^[]+\.$/.test(answers) ? [] : [answers])].map(
      (what) => `${path}: ${what}`,
    )
  })

  expect(wrong).toEqual([])
})

function anchor(heading: string): string {
  const name = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  return `(#${name.replace(/\s/g, '-')})`
}

test('llms.txt is made of the heads of the pages', async () => {
  const { description } = JSON.parse(readText('package.json')) as { description: string }
  const lines = [
    '# rowstash',
    '',
    `> ${description}`,
    '',
    '## Guides',
    '',
    ...linesOf(guides()),
    '',
    '## Specifications',
    '',
    ...linesOf(SPECIFICATIONS),
  ]

  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../src/guides/llms.txt')
})
