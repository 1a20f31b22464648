// `npm test`: decides in five minutes whether a change is right, and needs only Node. With ROWSTASH_ALL=1, which `npm
// run test:all` sets, or with names of files or folders: everything.
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import leftToAll from './left-to-all.json' with { type: 'json' }
import { LeftOutReporter } from './support/left-out-reporter.js'

/**
 * Tests of modules and of stores in memory: many short files that load the same modules. One process runs many of them,
 * and loads each module once. A file that measures memory, mocks a module or changes global state permanently does not
 * belong here.
 */
export const SHARED_FILES = [
  'test/unit/{base,schema,format,kv,engine,contract,client,adapters}/*.test.ts',
  'test/{store,format}/*.test.ts',
]

/** Files that share a process at the size of `npm test`. At full size they would fill its memory. */
const SHARED_IF_SMALL = [
  'test/{model,rungs/*}/*.test.ts',
  'test/conformance/{contract,find,keys,ports,store}.test.ts',
  'test/commands/{help,limit-options}.test.ts',
  'test/{documents,page}/*.test.ts',
]

/** Files that never share a process: they measure its memory, work or descriptors, or mock a module. */
export const SEPARATE_FILES = [
  'test/store/hostile-input.test.ts',
  'test/store/keyed-rows-max.test.ts',
  'test/store/memory.test.ts',
  'test/unit/contract/answer-memory.test.ts',
  'test/unit/client/networks.test.ts',
  'test/conformance/fetch-handler.test.ts',
  'test/unit/adapters/{framing-cost,fs-objects,import-files,object-files,s3-objects,source-answers,source-guard}.test.ts',
]

/**
 * Tests whose result is the same on every version of Node: sources, lists and documents; examples in frameworks; the
 * contract suite's answers; options and texts of commands; steps of ports in memory. Other files test what depends on
 * Node, such as streams, signals and exits. ROWSTASH_PLATFORM_ONLY=1 omits them.
 */
export const SAME_EVERYWHERE = [
  'test/{tidy,public-api}.test.ts',
  'test/package/*.test.ts',
  'test/documents/*.test.ts',
  'test/adapters/*.test.ts',
  'test/conformance/{openapi,fetch-handler,postgres}.test.ts',
  'test/commands/cli-{demo,export,import-lines,import-warnings,key-file,move,parquet,postgres,resume}.test.ts',
  'test/quality/*.test.ts',
  'test/rungs/ladder/*.test.ts',
  'test/rungs/sim/fault-loop.test.ts',
]

const isPlatformOnly = process.env['ROWSTASH_PLATFORM_ONLY'] === '1'

/** Files and folders that `npm test` leaves to `npm run test:all`, by what they need. */
export const LEFT_TO_ALL: Readonly<Record<string, readonly string[]>> = leftToAll

const isForAll = process.env['ROWSTASH_ALL'] === '1'
const isNamed = process.argv.some((word) => /^test\/.*(?<!\.config\.ts)$/.test(word))
const runsAll = isForAll || isNamed
const shared = runsAll ? SHARED_FILES : [...SHARED_FILES, ...SHARED_IF_SMALL]
const leftOut = (runsAll ? [] : Object.values(LEFT_TO_ALL).flat()).map((path) =>
  path.endsWith('/') ? `${path}**` : path,
)

/** The share of a random test's runs, except in `npm run test:all`. */
const SCALE = '0.02'

/** The longest files, in descending order: one that begins late runs alone at the end. */
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
  'test/page/browse.test.ts',
  'test/page/import.test.ts',
  'test/browser/files.test.ts',
  'test/rungs/crash/kill.test.ts',
  'test/rungs/fleet/fleet.test.ts',
  'test/rungs/pauses/pauses.test.ts',
  'test/rungs/versions/versions.test.ts',
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

/** Files with a separate process, then files that share one. In both groups the long ones come first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification): number => {
      const long = LONG_FILES.findIndex((path) => moduleId.endsWith(path))
      const within = long >= 0 ? long : LONG_FILES.length
      return project.config.isolate ? within : LONG_FILES.length + 1 + within
    }
    return files.toSorted((left, right) => place(left) - place(right))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    globalSetup: ['test/support/built-cli.ts'],
    setupFiles: ['test/support/openapi-watch.ts'],
    // Only a hang reaches these deadlines.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 3, // For two cores: files mostly wait for processes, disks and timers.
    expect: { poll: { timeout: 60_000 } },
    env: {
      ROWSTASH_TEST_RUN: String(process.pid),
      ROWSTASH_WAIT_MS: '0',
      ROWSTASH_ALL: runsAll ? '1' : '0',
      ROWSTASH_RUNS_SCALE: process.env['ROWSTASH_RUNS_SCALE'] ?? (isForAll ? '1' : SCALE),
    },
    reporters: ['default', ...(runsAll ? [] : [new LeftOutReporter(LEFT_TO_ALL)])],
    silent: runsAll ? false : 'passed-only',
    slowTestThreshold: 60_000, // one line per file
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'own process',
          include: ['test/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            ...shared,
            ...SEPARATE_FILES,
            ...leftOut,
            ...(isPlatformOnly ? SAME_EVERYWHERE : []),
          ],
        },
      },
      {
        extends: true,
        test: { name: 'separate process', include: SEPARATE_FILES, exclude: leftOut },
      },
      {
        extends: true,
        test: {
          name: 'shared process',
          include: shared,
          exclude: [...SEPARATE_FILES, ...leftOut],
          isolate: false,
        },
      },
    ],
  },
})
