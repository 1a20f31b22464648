// What the README tells people to paste must run as it stands.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { nodeHandler, openDirectory } from '../adapters/node.js'
import { openMemory } from '../src/index.js'

const README = fileURLToPath(new URL('../README.md', import.meta.url))

/** An async function from source text, with the names that the text may use. */
const AsyncFunction = (async () => undefined).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<void>

test('the first program of the README runs in a directory and prints the rows it made', async () => {
  const [, program = ''] = /```js\n(.*?)```/s.exec(await readFile(README, 'utf8')) ?? []
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-readme-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const [imported, ...rest] = program.split('\n')
  const printed: unknown[] = []

  expect(imported).toBe("import { openDirectory } from 'rowstash/node'")
  const run = new AsyncFunction(
    'openDirectory',
    'directory',
    'console',
    rest.join('\n').replace("'./data'", 'directory'),
  )
  await run(openDirectory, join(directory, 'data'), { log: (row: unknown) => printed.push(row) })

  expect(printed).toMatchObject([
    { id: 1, total: 34.5, paid: true },
    { id: 2, total: 12, paid: false },
    { id: 3, total: 7.25, paid: true },
  ])
})

const run = promisify(execFile)

const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

test.skipIf(!hasCurl)('the three curl commands of the README bring in a file', async () => {
  const [, section = ''] = /## Files\n(.*?)\n## /s.exec(await readFile(README, 'utf8')) ?? []
  const [, script = ''] = /```sh\n(.*?)```/s.exec(section) ?? []
  const [create = '', put = '', complete = ''] = script.replaceAll('\\\n', ' ').split('\n')
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-readme-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'cat.png'), 'a picture of a cat')
  const store = await openMemory()
  const server = createServer(nodeHandler(store, { keys: [{ key: 'a-key', teamId: 'acme' }] }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close(() => store.close()))
  const env: Record<string, string | undefined> = {
    PATH: process.env['PATH'],
    API: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    KEY: 'a-key',
  }
  const paste = async (command: string): Promise<Record<string, string>> => {
    const { stdout } = await run('sh', ['-c', command], { cwd: folder, env })
    return (JSON.parse(stdout) as { data?: Record<string, string> }).data ?? {}
  }

  Object.assign(env, await paste(create))
  expect(await paste(put)).toEqual({})
  const { url = '' } = await paste(complete)

  expect(url).toMatch(/\/files\/rsf-[^/]{32}\/cat\.png$/)
  expect(await (await fetch(url)).text()).toBe('a picture of a cat')
})
