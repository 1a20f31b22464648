// `rowstash demo` as a process: what it prints, how it ends, what it leaves behind.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli, runCli } from '../support/built-cli.js'

let cli: BuiltCli
let folder: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-demo-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** Runs the demo until it prints that it serves. Temporary files are in a folder of this test. */
async function startDemo(...args: string[]) {
  const env = { PATH: process.env['PATH'], TMPDIR: folder }
  const child = spawn(process.execPath, [cli.path, 'demo', ...args], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line === 'Ctrl-C stops it' || line.startsWith('{')) break
  }
  const end = async (): Promise<unknown> => {
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    return code
  }
  return { lines, end }
}

test('a demo serves a table and a page, and leaves nothing behind', async () => {
  const { lines, end } = await startDemo('--json')
  const { url, key, tableId, rows } = JSON.parse(lines[0] ?? '')
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${url}/tables/${tableId}`, { headers })
  const page = await fetch(`${url}/`)
  const during = await readdir(folder)

  expect(await answer.json()).toMatchObject({ data: { name: 'Orders', rowCount: rows } })
  expect(rows).toBe(20_000)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  expect(during).toEqual([expect.stringMatching(/^rowstash-demo-/)])
  expect(await end()).toBe(0)
  expect(await readdir(folder)).toEqual([])
})

test('a demo in a directory keeps it, and prints commands that work', async () => {
  const directory = join(folder, 'kept')
  const first = await startDemo(directory)
  const line = first.lines.find((text) => text.startsWith('npx rowstash rows ')) ?? ''
  const words = /^npx rowstash (.*) --where '(.*)'$/.exec(line) ?? []
  const args = [...(words[1] ?? '').split(' '), '--where', words[2] ?? '']
  const done = await runCli(cli.path, [...args, '--limit', '1', '--json'])
  expect(await first.end()).toBe(0)
  const second = await startDemo(directory, '--json')
  const { rows } = JSON.parse(second.lines[0] ?? '')

  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(done.stdout).total).toBeGreaterThan(990)
  expect(rows).toBe(20_000)
  expect(await second.end()).toBe(0)
  await rm(directory, { recursive: true })
})
