// Goal: documents can be followed. Links lead somewhere, what comments cite exists, every folder is in the code map or
// in the README above it, and lines fit into a terminal.
import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../adapters/node.js'
import { openMemory } from '../../src/index.js'
import { projectFiles, ROOT, readText } from '../support/project.js'

const files = projectFiles()
const documents = files.filter((path) => path.endsWith('.md'))

type Link = Readonly<{ document: string; target: string; path: string; anchor: string }>

/** Links of a document into the repository. Fenced text contains no links. */
function linksOf(document: string, text = readText(document)): Link[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file = '', anchor = ''] = target.split('#')
    const path = file === '' ? document : posix.join(posix.dirname(document), file)
    return [{ document, target, path, anchor }]
  })
}

/** The anchors of headings, as GitHub makes them. */
function anchorsOf(document: string): string[] {
  return [...readText(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )
}

test('each table has its head, so that no line of one is shown as text', () => {
  const headless = documents.flatMap((document) => {
    const lines = readText(document).split('\n')
    return lines.flatMap((line, at) => {
      const isFirst = line.startsWith('|') && lines[at - 1]?.startsWith('|') !== true
      const isWell = !isFirst || /^\|[\s:|-]+\|$/.test(lines[at + 1] ?? '')
      return isWell ? [] : [`${document}:${at + 1}`]
    })
  })

  expect(headless).toEqual([])
})

describe('links', () => {
  const links = documents.flatMap((document) => linksOf(document))

  test('a link leads to a file, and its anchor to a heading', () => {
    const broken = links.filter(({ path, anchor }) => {
      if (!existsSync(join(ROOT, path))) return true
      return anchor !== '' && !anchorsOf(path).includes(anchor)
    })

    expect(links.length).toBeGreaterThan(30)
    expect(broken.map(({ document, target }) => `${document}: ${target}`)).toEqual([])
  })

  test('links are found outside of fences', () => {
    const text = '[a](b.md#c)\n```\n[d](e.md)\n```\n[f](https://g)\n'

    expect(linksOf('src/X.md', text)).toEqual([
      { document: 'src/X.md', target: 'b.md#c', path: 'src/b.md', anchor: 'c' },
    ])
  })

  test('the documents that the README links to are in the package', () => {
    const { files: shipped } = JSON.parse(readText('package.json')) as { files: string[] }
    const isShipped = (path: string) =>
      shipped.some((name) => path === name || path.startsWith(`${name}/`))
    const missing = linksOf('README.md').filter(({ path }) => !isShipped(path))

    expect(missing.map(({ target }) => target)).toEqual([])
  })
})

test('the README can be read in one go: at most 180 lines', () => {
  expect(readText('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(180)
})

test('the README has the two commands of a checkout on its first screen', () => {
  const screen = readText('README.md').split('\n').slice(0, 40)
  expect(screen.filter((line) => /^npm ci && npm (?:start|test) /.test(line))).toHaveLength(2)
})

test('the README names every framework that HOSTING.md lists, and leads to it', () => {
  const [, table = ''] = readText('src/guides/HOSTING.md').split('\n## Frameworks\n')
  const rows = [...table.matchAll(/^\| `?(none|AWS Lambda|[A-Za-z.:]+)[^|]*\|.*examples\/.*$/gm)]
  const names = rows.map(([, name = '']) => name).filter((name) => name !== 'none')
  const paragraphs = readText('README.md').split('\n\n')
  const mounts = paragraphs.find((text) => text.includes('(src/guides/HOSTING.md#frameworks)'))

  expect(names).toHaveLength(11)
  expect(names.filter((name) => !mounts?.includes(name))).toEqual([])
})

test('every option of a store is in a table of LIMITS.md', () => {
  const source = readText('src/engine/types/store-options.ts')
  const declared = [...source.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name = '']) => name)
  const cells = readText('src/guides/LIMITS.md').match(/^\| [^|]+ \|/gm) ?? []
  const listed = new Set(cells.join().match(/(?<=`)\w+(?=`)/g))

  expect(declared.length).toBeGreaterThan(50)
  expect(declared.filter((name) => !listed.has(name))).toEqual([])
})

test('every metric is named in HOSTING.md', async () => {
  const store = await openMemory()
  const key = 'the-key-of-the-operator'
  const server = await startServer(store, { storedKeys: true, adminKeys: [key], port: 0 })
  onTestFinished(() => server.close(0).then(() => store.close()))
  const answer = await fetch(`${server.url}/metrics`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const names = [...(await answer.text()).matchAll(/^# TYPE rowstash_(\w+) /gm)].map(([, n]) => n)
  const [, section = ''] = readText('src/guides/HOSTING.md').split('\n## Metrics\n')

  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !section.includes(`\`${name}\``))).toEqual([])
})

describe('citations', () => {
  const sources = files.filter((path) => /\.(?:ts|mjs|md)$/.test(path))

  test.each([
    ['LEVELDB.md', 'src/kv/LEVELDB.md', /\bF\d+/g],
    ['PERFORMANCE.md', 'src/PERFORMANCE.md', /\bP\d+/g],
  ])('every entry of %s that is cited is there', (name, path, form) => {
    const rows = readText(path).match(/^(?:\| |- \*\*)[FP\d, ]+(?: \||\*\*)/gm) ?? []
    const known = new Set(rows.flatMap((row) => row.match(form) ?? []))
    const citation = new RegExp(
      `${name.replace('.', '\\.')}, ((?:[FP]\\d+(?:, | and | to )?)+)`,
      'g',
    )
    const cited = sources.flatMap((source) =>
      [...readText(source).matchAll(citation)].flatMap(([, list = '']) =>
        (list.match(form) ?? []).map((entry) => ({ source, entry })),
      ),
    )

    expect(known.size).toBeGreaterThan(10)
    expect(cited.filter(({ entry }) => !known.has(entry))).toEqual([])
  })

  test('every section of CONTRACT.md that is cited is there', () => {
    const known = new Set(readText('src/contract/CONTRACT.md').match(/^## \d+/gm))
    const cited = sources.flatMap((source) =>
      [...readText(source).matchAll(/CONTRACT\.md, sections? (\d+)/g)].map(([, number]) => ({
        source,
        section: `## ${number}`,
      })),
    )

    expect(cited.length).toBeGreaterThan(30)
    expect(cited.filter(({ section }) => !known.has(section))).toEqual([])
  })
})

describe('folders', () => {
  const folders = [
    ...new Set(
      files.filter((path) => /^(?:src|adapters)\/.*\.ts$/.test(path)).map((path) => dirname(path)),
    ),
  ]

  test('the files that the tables of a README name are in its folder', () => {
    const missing = folders.flatMap((folder) => {
      const document = `${folder}/README.md`
      if (!files.includes(document)) return []
      const cells = readText(document).match(/^\| `[^|]*\|/gm) ?? []
      const names = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, n = '']) => n))
      return names.filter((name) => !isIn(folder, name)).map((name) => `${document}: ${name}`)
    })

    expect(missing).toEqual([])
  })

  test('a path that a document names is there', () => {
    // Media types look like paths, and results are not committed.
    const about = documents.filter((path) => path !== 'src/contract/CONTRACT.md')
    const missing = about.flatMap((document) =>
      [...readText(document).matchAll(/`((?:src|adapters|test|bench)\/[\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !/\/results\/?$/.test(path))
        .filter((path) => !isIn('', path) && !isIn(dirname(document), path))
        .map((path) => `${document}: ${path}`),
    )

    expect(missing).toEqual([])
  })

  test('a short path that a document of the code names is there', () => {
    const about = documents.filter(
      (path) => /^(?:src|adapters)\//.test(path) && !/^src\/(?:contract|guides)\//.test(path),
    )
    const missing = about.flatMap((document) =>
      [...readText(document).matchAll(/`((?!rowstash\/)[a-z]+(?:\/[a-z][\w-]*)+)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !files.some((file) => `/${file}`.match(`/${path}(?:\\.|/)`)))
        .map((path) => `${document}: ${path}`),
    )

    expect(missing).toEqual([])
  })

  test('the code map names every folder, or the README above does', () => {
    const map = readText('src/ARCHITECTURE.md')
    const isNamed = (folder: string) => {
      if (map.includes(`- \`${folder}\`: `)) return true
      const above = `${dirname(folder)}/README.md`
      return files.includes(above) && readText(above).includes(`\`${posix.basename(folder)}/\``)
    }

    expect(
      folders.filter((folder) => !['src', 'adapters'].includes(folder) && !isNamed(folder)),
    ).toEqual([])
  })
})

/** Whether a folder contains a file or folder with this name; `*` stands for the rest of a name. */
function isIn(folder: string, name: string): boolean {
  const path = posix.join(folder, name).replace(/\/$/, '')
  const rest = path.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
  const pattern = new RegExp(`^${rest}(?:\\.(?:test\\.)?(?:ts|mjs)$|/|$)`)
  return files.some((path) => pattern.test(path))
}

const LINE_CHARS_MAX = 200

test(`a line of a document has at most ${LINE_CHARS_MAX} characters, but for tables, links and code`, () => {
  const long = documents.flatMap((document) => {
    let isCode = false
    return readText(document)
      .split('\n')
      .flatMap((line, index) => {
        if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
        const isFree = isCode || line.startsWith('|') || line.includes('](')
        return isFree || line.length <= LINE_CHARS_MAX ? [] : [`${document}:${index + 1}`]
      })
  })

  expect(long).toEqual([])
})
