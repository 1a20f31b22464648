// API keys in files.
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli, runCli, serveCli } from '../support/built-cli.js'

let cli: BuiltCli
let folder: string
let rowsFile: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-keys-'))
  rowsFile = join(folder, 'rows.csv')
  await writeFile(rowsFile, 'a,b\n1,x\n2,y\n')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

const KEY = 'a-key-for-the-tests'

describe('a key file', () => {
  const hasModes = process.platform !== 'win32'

  async function keyFile(text: string, mode = 0o600): Promise<string> {
    const path = join(await mkdtemp(join(folder, 'keys-')), 'key')
    await writeFile(path, text)
    await chmod(path, mode)
    return path
  }

  test('gives the server its keys with their teams, and an import its key', async () => {
    const path = await keyFile(`${KEY}=one\n\nanother-key-for-the-tests\n`)
    const { url, stop } = await serveCli(cli.path, ['--memory', '--key-file', path])
    onTestFinished(async () => void (await stop()))
    const imported = ['import', rowsFile, '--url', url, '--table', 'T']
    const single = await keyFile('another-key-for-the-tests\n')

    const ended = await runCli(cli.path, [...imported, '--key-file', single])
    const tablesOf = async (key: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${key}` }
      return (await fetch(`${url}/tables`, { headers })).json()
    }

    expect(ended.code).toBe(0)
    expect(await tablesOf(KEY)).toEqual({ data: [] })
    expect(await tablesOf('another-key-for-the-tests')).toMatchObject({ data: [{ name: 'T' }] })
  })

  test('gives the server its admin keys', async () => {
    const admin = 'an-admin-key-for-the-tests'
    const path = await keyFile(`${admin}\n`)
    const { url, stop } = await serveCli(cli.path, ['--memory', '--admin-key-file', path])
    onTestFinished(async () => void (await stop()))
    const metrics = (key: string) =>
      fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })

    expect(await (await metrics(admin)).text()).toContain('rowstash_writable 1')
    expect((await metrics(KEY)).status).toBe(404)
    const short = await keyFile('too-short\n')
    const ended = await runCli(cli.path, ['serve', '--memory', '--admin-key-file', short])
    expect(ended.stderr).toContain(`${short} has an admin key of fewer than 16 characters`)
  })

  test.skipIf(!hasModes)('that others can read is refused', async () => {
    const path = await keyFile(KEY, 0o604)
    const refusal = `rowstash: Other users can read the key file ${path}; run: chmod 600 ${path}\n`
    const importing = ['import', rowsFile, '--url', 'http://localhost', '--table', 'T']

    for (const args of [['serve', '--memory', '--port', '0'], importing]) {
      const ended = await runCli(cli.path, [...args, '--key-file', path])

      expect(ended).toEqual({ code: 1, stdout: '', stderr: refusal })
    }
    const serving = ['serve', '--memory', '--port', '0', '--admin-key-file', path]
    expect(await runCli(cli.path, serving)).toEqual({ code: 1, stdout: '', stderr: refusal })
  })

  test.skipIf(!hasModes)(
    'that others can read is refused in the directory of a store',
    async () => {
      const directory = await mkdtemp(join(folder, 'served-'))
      const serving = ['--directory', directory]
      await (await serveCli(cli.path, serving)).stop()
      const path = join(directory, 'key')
      await chmod(path, 0o644)

      const ended = await runCli(cli.path, ['serve', '--port', '0', ...serving])

      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toContain(`Other users can read the key file ${path}`)
      await chmod(path, 0o600)
      expect(await (await serveCli(cli.path, serving)).stop()).toBe(0)
    },
  )

  test.each([
    ['is empty', ''],
    ['is not a key', 'two words\n'],
    ['has more than one key', `${KEY}\n${KEY}2\n`],
    ['has more than 65536 bytes', 'k'.repeat(70_000)],
  ])('of an import that %s is refused', async (problem, text) => {
    const path = await keyFile(text)
    const importing = ['import', rowsFile, '--url', 'http://localhost', '--table', 'T']

    const ended = await runCli(cli.path, [...importing, '--key-file', path])

    expect(ended.stdout).toBe('')
    expect(ended.stderr).toMatch(/^rowstash: [^\n]+\n$/)
    expect(ended.stderr).toContain(`${path} ${problem}`)
  })
})

test.skipIf(process.platform === 'win32')(
  'all files of a served store are its owner’s alone',
  async () => {
    const before = process.umask(0o022) // The umask of the server until it sets another.
    const directory = join(folder, 'private')
    const serving = serveCli(cli.path, ['--directory', directory]).finally(() =>
      process.umask(before),
    )
    const { url, stop, lines } = await serving
    onTestFinished(async () => void (await stop()))
    const [, key] = /^key (\S+)/.exec(lines[0] ?? '') ?? []
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const made = await fetch(`${url}/tables?name=t`, { method: 'POST', headers, body: '[{"a":1}]' })

    const paths = await readdir(directory, { recursive: true })
    const modes = await Promise.all(
      paths.map(async (path) => (await stat(join(directory, path))).mode),
    )

    expect(made.status).toBe(201)
    expect(paths).toContain(join('kv', 'LOCK'))
    expect(paths.filter((_, at) => ((modes[at] ?? 0) & 0o077) !== 0)).toEqual([])
  },
)
