// Goal: cached open files never make anything else fail for lack of a descriptor.
// Method: a process with 96 descriptors reads from more files than that. Then all remaining descriptors are taken, and
// the process reads and writes.
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BuiltPrograms, buildPrograms } from '../../rungs/crash/writer-process.js'

const DESCRIPTORS = 96

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['few-descriptors'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-few-'))
})

afterAll(async () => {
  await programs.remove()
  await rm(folder, { recursive: true })
})

test.runIf(process.platform === 'linux')(
  'reads and writes go on where all descriptors but those of kept files are taken',
  () => {
    const limited = `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`
    const program = [process.execPath, programs.path('few-descriptors'), join(folder, 'store')]
    const { stdout, stderr } = spawnSync('sh', ['-c', limited, ...program], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const { idle, ...others } = JSON.parse(stdout) as Record<string, number>
    expect(others).toEqual({ before: 60, readInNeed: 60, after: 60 })
    expect(idle).toBeGreaterThan(DESCRIPTORS / 4)
    expect(idle).toBeLessThanOrEqual((3 / 4) * DESCRIPTORS)
  },
)
