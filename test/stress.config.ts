// The runs of `npm run test:stress`, which passes each file and its number of rounds in ROWSTASH_STRESS.
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import base, { SEPARATE_FILES } from './vitest.config.js'

const roundsOf = JSON.parse(process.env['ROWSTASH_STRESS'] ?? '{}') as Readonly<
  Record<string, number>
>
const { projects: _, ...shared } = base.test ?? {}

/** Whether the file shares a process with others in `npm test`. */
function sharesProcess(path: string): boolean {
  const folder = /^test\/(?:store|format|unit\/(?!adapters|tools))/
  return folder.test(path) && !SEPARATE_FILES.includes(path)
}

/** vitest runs a file once per project, so each round is a project. */
function projectsOf(round: number): object[] {
  const files = Object.keys(roundsOf).filter((path) => (roundsOf[path] ?? 0) >= round)
  return [false, true].flatMap((isShared) => {
    const include = files.filter((path) => sharesProcess(path) === isShared)
    const name = `round ${round}${isShared ? ', shared process' : ''}`
    return include.length === 0 ? [] : [{ test: { ...shared, name, include, isolate: !isShared } }]
  })
}

const rounds = Math.max(1, ...Object.values(roundsOf))

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    ...shared,
    maxWorkers: 10,
    runner: 'test/stress-runner.config.ts',
    projects: Array.from({ length: rounds }, (_, i) => projectsOf(i + 1)).flat(),
  },
})
