// The README's first program is the product's face: it must run as it stands.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../adapters/node.js'

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
