import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Tests of modules and of stores in memory: many short files, which load the same modules. One process runs many of
 * them, and loads these once. A file that measures memory, mocks a module or leaves a change of global state behind
 * does not belong here.
 */
export const SHARED_FILES = [
  'test/unit/{base,schema,format,kv,engine,contract,client}/*.test.ts',
  'test/{store,format}/*.test.ts',
]

/** Files of those folders with a process of their own: they measure its memory, or mock a module. */
export const MEMORY_FILES = [
  'test/store/keyed-rows-max.test.ts',
  'test/store/memory.test.ts',
  'test/unit/contract/answer-memory.test.ts',
]

/**
 * What these compare says the same on every version of Node: sources, lists, documents, whose programs call what other
 * files test too, examples of mounts in frameworks, answers of the contract suite, whose cases contract.test.ts runs
 * too, options and texts of commands, whose streams, signals and exits others test, and steps of ports in memory. With
 * ROWSTASH_PLATFORM_ONLY=1 they are left out.
 */
export const SAME_EVERYWHERE = [
  'test/{tidy,public-api}.test.ts',
  'test/package/*.test.ts',
  'test/documents/*.test.ts',
  'test/adapters/*.test.ts',
  'test/conformance/{openapi,fetch-handler,postgres}.test.ts',
  'test/commands/cli-{demo,export,import-lines,import-warnings,key-file,move,parquet,postgres,resume,twin}.test.ts',
  'test/quality/*.test.ts',
  'test/rungs/{ladder,planted}/*.test.ts',
  'test/rungs/sim/fault-loop.test.ts',
]

const isPlatformOnly = process.env['ROWSTASH_PLATFORM_ONLY'] === '1'

/** The longest files, the longest first: one that begins late runs alone at the end. */
export const LONG_FILES = [
  'test/rungs/sim/fault-loop.test.ts',
  'test/rungs/model/model.test.ts',
  'test/conformance/contract.test.ts',
  'test/conformance/openapi.test.ts',
  'test/conformance/fetch-handler.test.ts',
  'test/conformance/postgres.test.ts',
  'test/rungs/files-model/files-model.test.ts',
  'test/rungs/http-fuzz/http-fuzz.test.ts',
  'test/rungs/sim/crash-sim.test.ts',
  'test/rungs/planted/planted-bugs.test.ts',
  'test/page/browse.test.ts',
  'test/page/import.test.ts',
  'test/browser/files.test.ts',
  'test/rungs/crash/kill.test.ts',
  'test/rungs/fleet/fleet.test.ts',
  'test/rungs/corrupt/corrupt.test.ts',
  'test/rungs/scan/update-schema.test.ts',
  'test/rungs/crash/jobs-killed.test.ts',
  'test/adapters/examples.test.ts',
  'test/rungs/crash/power-cut.test.ts',
  'test/rungs/failover/faults.test.ts',
  'test/rungs/sqlite/sqlite.test.ts',
  'test/rungs/model/postgres-model.test.ts',
  'test/rungs/scan/scan-json-bytes.test.ts',
  'test/rungs/scan/scan-csv-bytes.test.ts',
  'test/rungs/crash/disk-full.test.ts',
  'test/browser/bundle.test.ts',
  'test/rungs/crash/full-open.test.ts',
  'test/page/stored.test.ts',
  'test/conformance/ports.test.ts',
  'test/conformance/store.test.ts',
  'test/commands/cli-import.test.ts',
  'test/commands/cli.test.ts',
]

/** The long files first, then the others with a process of their own, then those that share one. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification): number => {
      const long = LONG_FILES.findIndex((path) => moduleId.endsWith(path))
      if (long >= 0) return long
      return project.config.isolate ? LONG_FILES.length : LONG_FILES.length + 1
    }
    return files.toSorted((left, right) => place(left) - place(right))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: ['test/support/openapi-watch.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 3, // For two cores: much of the time is spent waiting for processes, disks and timers.
    expect: { poll: { timeout: 15_000 } }, // The machine may do other work, too.
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'own process',
          include: ['test/**/*.test.ts'],
          exclude: [...SHARED_FILES, ...(isPlatformOnly ? SAME_EVERYWHERE : [])],
        },
      },
      { extends: true, test: { name: 'memory', include: MEMORY_FILES } },
      {
        extends: true,
        test: {
          name: 'shared process',
          include: SHARED_FILES,
          exclude: MEMORY_FILES,
          isolate: false,
        },
      },
    ],
  },
})
