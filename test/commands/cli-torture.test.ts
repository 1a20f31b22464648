// `rowstash torture`: killed writers lose nothing, and a writer that reports what it has not done is detected.
import { access, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reportDisk } from '../../adapters/cli/torture/disk.js'
import { runKills } from '../../adapters/cli/torture/kills.js'
import { stateAfter } from '../../adapters/cli/torture/lane.js'
import { buildCli, runCli } from '../support/built-cli.js'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-torture-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

const signal = new AbortController().signal

/** Rounds with a script as the writer. */
function runScript(name: string, script: string): ReturnType<typeof runKills> {
  const plan = { directory: join(folder, name), seed: 1, seconds: 1 }
  return runKills({ ...plan, writerArgs: () => ['-e', script] }, { signal, env: {} })
}

test('writers are killed, all they told is there, and the store is deleted', async () => {
  const { path } = await buildCli()
  const { code, stdout } = await runCli(path, [
    'torture',
    folder,
    '--seconds',
    '2',
    '--seed',
    '7',
    '--json',
  ])
  const report = JSON.parse(stdout)

  expect(code).toBe(0)
  expect(report).toMatchObject({ seed: 7, verified: 1, problem: null })
  expect(report.kills).toBeGreaterThan(0)
  expect(report.commits).toBeGreaterThan(0)
  expect(report.disk.flushMicros.median).toBeGreaterThan(0)
  expect(await readdir(folder)).toEqual([])
})

test('a store that an earlier run has left is not touched', async () => {
  const { path } = await buildCli()
  const directory = join(folder, 'left')
  await mkdir(join(directory, 'rowstash-torture'), { recursive: true })
  const { code, stderr } = await runCli(path, ['torture', directory])

  expect(code).toBe(1)
  expect(stderr).toContain('already exists')
  await access(join(directory, 'rowstash-torture'))
})

test('operations that were told and are not there are a problem', async () => {
  const told = "console.log('ready'); console.log('1 40'); setInterval(() => {}, 1000)"
  const { kills, problem } = await runScript('told', told)
  const lost = stateAfter(1, 1, 40, 0)

  expect(kills).toBe(1)
  expect(problem).toBe(
    `Lane 1 differs from what was acknowledged: rows: ${lost.rows.size} lost, 0 more, 0 changed; ` +
      `files: ${lost.files.size} lost, 0 more, 0 changed`,
  )
})

test('a writer that ends by itself is told with its message', async () => {
  await expect(runScript('ended', "throw new Error('no room')")).rejects.toThrow(
    /^The writer has failed: .*no room/s,
  )
})

test('what a lane holds does not need the operations before its last whole overwrite', () => {
  const whole = stateAfter(3, 0, 1_234, 0)
  const late = stateAfter(3, 0, 1_234, 1_200)

  expect([...late.rows]).toEqual([...whole.rows])
  expect([...late.files.keys()]).toEqual(
    [...whole.files.keys()].filter((name) => Number.parseInt(name, 10) > 1_200),
  )
})

test.runIf(process.platform === 'linux')('the file system of a folder is known', async () => {
  const { fileSystem, flushMicros } = await reportDisk(folder)

  expect(fileSystem).toMatch(/^\S+ on \S+ \(\S+\)$/)
  expect(flushMicros.p99).toBeGreaterThanOrEqual(flushMicros.median)
})
