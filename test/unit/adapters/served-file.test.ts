// Goal: a server serves even if it cannot record its address, and records it as soon as it can.
import { mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { noteServed, readServed } from '../../../adapters/cli/stores/served-file.js'

const SERVED = { url: 'http://127.0.0.1:8080', adminKey: 'an-admin-key-for-the-tests' }

let directory: string
let warnings: string[]
const warn = (warning: string): void => void warnings.push(warning)

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rowstash-served-'))
  warnings = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})

afterEach(async () => {
  vi.useRealTimers()
  await rm(directory, { recursive: true })
})

test('a note is there until it is taken back', async () => {
  const takeBack = await noteServed(directory, SERVED, warn)
  const note = await readServed(directory)
  await takeBack()

  expect(note).toEqual(SERVED)
  expect(await readdir(directory)).toEqual([])
  expect(warnings).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a note that cannot be written is one warning, and is written as soon as it can be', async () => {
  const inTheWay = join(directory, 'served')
  await mkdir(inTheWay)
  const takeBack = await noteServed(directory, SERVED, warn)
  await vi.advanceTimersByTimeAsync(25_000)
  expect((await stat(inTheWay)).isDirectory()).toBe(true)
  await rmdir(inTheWay)
  await vi.advanceTimersByTimeAsync(10_000)
  await expect.poll(() => readServed(directory)).toEqual(SERVED)
  await takeBack()

  expect(warnings).toEqual([expect.stringMatching(/^verify and backup cannot reach this server /)])
  expect(await readdir(directory)).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a note whose directory is gone is taken back without a failure', async () => {
  const takeBack = await noteServed(join(directory, 'none'), SERVED, warn)
  await takeBack()

  expect(warnings).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})
