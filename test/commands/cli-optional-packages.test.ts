// The commands without the packages that only some installs have.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli, runCli, serveCli } from '../support/built-cli.js'
import { withoutPackage } from '../support/without-package.js'

let cli: BuiltCli
let folder: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-packages-'))
  await writeFile(join(folder, 'n.csv'), 'n\n1\n')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

test('Parquet without its package is refused with the package to install, and nothing is left', async () => {
  const place = ['--directory', join(folder, 'store'), '--table', 'N']
  const path = join(folder, 'n.parquet')
  await runCli(cli.path, ['import', join(folder, 'n.csv'), ...place])

  const unwritten = await runCli(
    cli.path,
    ['export', path, ...place],
    withoutPackage('hyparquet-writer'),
  )
  const written = await runCli(
    cli.path,
    ['export', path, ...place],
    withoutPackage('hyparquet-no-such'),
  )
  const target = [path, '--directory', join(folder, 'other'), '--table', 'N']
  const unread = await runCli(cli.path, ['import', ...target], withoutPackage('hyparquet'))
  const read = await runCli(cli.path, ['import', ...target], withoutPackage('hyparquet-no-such'))
  const table = await runCli(cli.path, ['tables', '--directory', join(folder, 'other')])

  const missing = (name: string) =>
    `Parquet needs the package ${name}, which is not installed; run: npm install ${name}\n`
  expect(unwritten).toEqual({
    code: 1,
    stdout: '',
    stderr: `rowstash: ${missing('hyparquet-writer')}`,
  })
  expect(written.code).toBe(0)
  expect(unread).toMatchObject({ code: 1, stdout: '' })
  expect(unread.stderr).toContain(missing('hyparquet'))
  expect(read.code).toBe(0)
  expect(table.stdout.split('\n')).toHaveLength(2)
})

test.each([
  ['hyparquet-writer', false],
  ['hyparquet-no-such', true],
])('a server without the package %s offers Parquet in its page: %s', async (name, parquet) => {
  const server = await serveCli(cli.path, ['--memory', '--page'], withoutPackage(name))
  onTestFinished(async () => void (await server.stop()))

  const session = await fetch(`${server.url}/page/session`)
  expect(await session.json()).toEqual({ mode: 'key', parquet })
})
