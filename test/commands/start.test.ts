// `npm start` in a fresh clone: what somebody sees of this project first.
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
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line.startsWith('listening on ')) break
  }
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')

  expect(lines[0]).toBe('building …')
  expect(lines).toContainEqual(expect.stringMatching(/^imported 231,083 rows in /))
  expect((await readdir(built)).sort()).toEqual(['start.js', 'start.js.map'])
  expect(code).toBe(0)
})
