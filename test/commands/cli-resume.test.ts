// Goal: an import into a directory that was interrupted or killed continues with --resume, and every row is there once.
// Method: the built program is stopped when the store has reached a size; the export after --resume must equal the
// imported file.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BuiltCli, buildCli, runCli } from '../support/built-cli.js'

const ROWS = 100_000
const CHUNK_ROWS = 250
/**
 * The size of the store at the interruption: it contains some chunks, but not most. Digests in the rows keep the whole
 * store above 4 MB with each compression.
 */
const STOPPED_AT_BYTES = 1_000_000

let cli: BuiltCli
let folder: string
let source: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-resume-'))
  source = join(folder, 'rows.csv')
  const noteOf = (n: number) => createHash('sha256').update(String(n)).digest('hex')
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},"row ${n}, ${noteOf(n)}"\n`)
  await writeFile(source, `id,note\n${lines.join('')}`)
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => [])
  const sizes = names.map((name) => stat(join(directory, name)).catch(() => undefined))
  const found = await Promise.all(sizes)
  return found.reduce((sum, file) => sum + (file?.isFile() === true ? file.size : 0), 0)
}

/** Stops a process when a store has reached a size. */
async function stopInTheMiddle(
  child: ChildProcess,
  directory: string,
  signal: NodeJS.Signals,
): Promise<unknown[]> {
  const closed = once(child, 'close')
  while ((await bytesIn(directory)) < STOPPED_AT_BYTES) {
    if (child.exitCode !== null) break
    await pause(5)
  }
  child.kill(signal)
  return closed
}

test.each([
  ['SIGINT', 130, null],
  ['SIGKILL', null, 'SIGKILL'],
] as const)(
  'an import into a directory goes on after %s, and has every row once',
  async (signal, code, killedBy) => {
    const directory = join(folder, signal)
    const place = ['--directory', directory]
    const args = ['import', source, ...place, '--table', 'Rows', '--resume', '--json']
    const chunks = ['--chunk-rows', String(CHUNK_ROWS)]
    const child = spawn(process.execPath, [cli.path, ...args, ...chunks], { stdio: 'ignore' })
    const ended = await stopInTheMiddle(child, directory, signal)
    const before = await runCli(cli.path, ['tables', ...place, '--json'])
    const again = await runCli(cli.path, [...args, ...chunks])
    const path = join(folder, `${signal}.csv`)
    await runCli(cli.path, ['export', path, ...place, '--table', 'Rows'])
    const after = await runCli(cli.path, ['tables', ...place, '--json'])

    expect(ended).toEqual([code, killedBy])
    expect(before).toMatchObject({ code: 0, stdout: '' })
    expect(again).toMatchObject({ code: 0 })
    const { rows, skippedChunks } = JSON.parse(again.stdout)
    expect(rows).toBe(ROWS)
    expect(skippedChunks).toBeGreaterThan(0)
    expect(skippedChunks).toBeLessThan(ROWS / CHUNK_ROWS)
    expect(after.stdout.trim().split('\n')).toHaveLength(1)
    expect((await readFile(path)).equals(await readFile(source))).toBe(true)
  },
)
