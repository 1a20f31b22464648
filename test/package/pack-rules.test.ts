// Goal: `npm run check:package` reports correctly: each rule finds what breaks it.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { projectFiles, ROOT, readText } from '../support/project.js'
import {
  absentPaths,
  wrongFiles,
  wrongLinks,
  wrongManifest,
  wrongOwner,
  wrongPictures,
} from './pack-rules.mjs'

const manifest = JSON.parse(readText('package.json')) as Record<string, unknown> & {
  scripts: Record<string, string>
  exports: Record<string, unknown>
}

/** The files of a package that contains everything named in package.json. */
const FILES = [
  ...['index', 'ports', 'node', 'postgres', 's3', 'testing', 'client', 'cli'].map(
    (name) => `dist/${name}.js`,
  ),
  ...['index', 'ports', 'node', 'postgres', 's3', 'testing', 'client'].map(
    (name) => `dist/${name}.d.ts`,
  ),
  ...['dist/openapi.json', 'package.json', 'README.md', 'src/format/FORMAT.md'],
].map((path) => ({ path, size: 1_000 }))

test('files of other kinds, and files that are too large, are found', () => {
  expect(wrongFiles(FILES)).toEqual([])
  for (const path of ['dist/index.js.map', 'test/tidy.test.ts', 'src/index.ts', '.env', 'a.tgz']) {
    expect(wrongFiles([...FILES, { path, size: 1 }])).toEqual([expect.stringContaining(path)])
  }
  expect(wrongFiles([{ path: 'dist/index.js', size: 2_000_000 }])).toEqual([
    'dist/index.js has 2000000 bytes; 1310000 are the most',
  ])
})

test('a file that package.json names and the package lacks, and an install script, are found', () => {
  expect(wrongManifest(manifest, FILES)).toEqual([])
  const without = FILES.filter(({ path }) => path !== 'dist/s3.d.ts')
  expect(wrongManifest(manifest, without)).toEqual([expect.stringContaining('dist/s3.d.ts')])
  const scripts = { ...manifest.scripts, postinstall: 'node build.mjs' }
  expect(wrongManifest({ ...manifest, scripts }, FILES)).toEqual([
    expect.stringContaining('"postinstall"'),
  ])
})

test('pictures that a reader of the package does not see are found', () => {
  const svg = [{ path: 'bench/results/a.svg' }]
  const shown = '![a](results/a.svg) ![b](https://example.com/b.png)'
  expect(wrongPictures('bench/RESULTS.md', shown, svg)).toEqual([])
  expect(wrongPictures('README.md', '![a](bench/results/a.svg)', svg)).toEqual([])
  expect(wrongPictures('README.md', '![a](results/a.svg)', svg)).toHaveLength(1)
  expect(wrongPictures('README.md', '<img alt="a" src="a.png">', [])).toHaveLength(1)
  expect(wrongPictures('bench/RESULTS.md', '![c](results/c.svg)', svg)).toHaveLength(1)
})

test('links to what the package lacks are found', () => {
  const files = [{ path: 'src/A.md' }, { path: 'test/adapters/examples/next-app/page.js' }]
  const good = '[a](A.md#x) [b](#here) [c](https://a.dev) [d](../test/adapters/examples/next-app)'
  expect(wrongLinks('src/B.md', `${good}\n\`\`\`\n[e](E.md)\n\`\`\`\n`, files)).toEqual([])
  expect(wrongLinks('src/B.md', '[a](../test/README.md#x) [b](../src)', files)).toEqual([
    'src/B.md links to ../test/README.md, which is not in the package',
  ])
})

test('paths that the package lacks are found', () => {
  const files = [{ path: 'src/A.md' }, { path: 'test/adapters/examples/next-app/page.js' }]
  const text = '`src/A.md` `test/adapters/examples` `src/a.ts` `src/A` "test/b.ts" `x src/c.ts`'
  expect(absentPaths(text, files)).toEqual(['src/a.ts', 'src/A'])
})

function packedFiles(): readonly { path: string }[] {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  return files
}

test('no document of the package names a path that the package lacks', () => {
  const files = packedFiles()
  const documents = files.map(({ path }) => path).filter((path) => path.endsWith('.md'))
  const absent = documents.map((path) => [path, absentPaths(readText(path), files)])

  expect(absent).toEqual(documents.map((path) => [path, []]))
})

test('no README of a folder is in the package but the index of the guides', () => {
  const documents = packedFiles().map(({ path }) => path)
  const named = documents.filter((path) => path.endsWith('/README.md'))

  expect(named).toEqual(['src/guides/README.md'])
})

test('every link of a document of the package leads to a file of it', () => {
  const files = packedFiles()
  const documents = files.map(({ path }) => path).filter((path) => path.endsWith('.md'))

  expect(documents.length).toBeGreaterThan(20)
  expect(documents.flatMap((path) => wrongLinks(path, readText(path), files))).toEqual([])
})

test('fields of the owner are there, and a publication with a placeholder is refused', () => {
  expect(wrongOwner(manifest, { isPublication: false })).toEqual([])
  expect(wrongOwner({ ...manifest, bugs: undefined }, { isPublication: false })).toHaveLength(1)
  const placed = { repository: 'https://example.com/r', homepage: 'https://a.dev', bugs: 'b@a.dev' }
  expect(wrongOwner(placed, { isPublication: true })).toEqual([
    expect.stringContaining('"repository"'),
  ])
})

test('the pictures of every document of the project are there for its readers', () => {
  const files = projectFiles().map((path) => ({ path }))
  const documents = files.filter(({ path }) => path.endsWith('.md'))

  expect(documents.flatMap(({ path }) => wrongPictures(path, readText(path), files))).toEqual([])
})
