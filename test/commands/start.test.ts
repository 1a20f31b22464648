// `npm start` in a fresh clone: the first that a newcomer sees.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/project.js'

test('npm start builds JavaScript alone, imports the flights and serves them', async () => {
  const built = join(ROOT, 'node_modules', '.cache', 'rowstash-start')
  await rm(built, { recursive: true, force: true })
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-start-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const child = spawn(process.execPath, [join(ROOT, 'adapters', 'start.mjs')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let complaints = ''
  child.stderr.on('data', (piece) => {
    complaints += piece
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line.startsWith('listening on ')) break
  }
  const page = lines
    .map((line) => /^the page: (\S+) \(enter the key \S+\)$/.exec(line)?.[1])
    .join('')
  const parts = await Promise.all(
    ['', 'page/app.js', 'page/style.css'].map(async (path) => (await fetch(page + path)).status),
  )
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')

  expect(lines[0], complaints).toBe('building …')
  expect(lines, complaints).toContainEqual(expect.stringMatching(/^imported 231,083 rows in /))
  expect([page, parts]).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/),
    [200, 200, 200],
  ])
  const files = await readdir(built)
  expect(files.filter((name) => !name.endsWith('.js'))).toEqual([])
  expect(code).toBe(0)
})
