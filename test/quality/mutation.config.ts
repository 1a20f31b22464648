// The tests run against mutants: the quick ones that find most, in small sizes, always with the same choices.
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The order of the tests after those of a module: those that find most come first, because the first failure ends a
 * run.
 */
const QUICK = [
  'test/format/golden.test.ts',
  'test/unit/format/segment.test.ts',
  'test/unit/format/damaged-records.test.ts',
  'test/unit/format/file-references.test.ts',
  'test/unit/format/sealed-content.test.ts',
  'test/unit/format/ids-and-tokens.test.ts',
  'test/unit/format/row-text.test.ts',
  'test/store/preserved-ids.test.ts',
  'test/store/finalize-race.test.ts',
  'test/store/object-collection.test.ts',
  'test/unit/engine/media-type.test.ts',
  'test/unit/schema/infer.test.ts',
  'test/quality/store-in-memory.ts',
  'test/rungs/model/model.test.ts',
  ...[
    'files',
    'uploads',
    'backup',
    'restore-frames',
    'verify',
    'verify-contradictions',
    'page-ends',
    'store-background',
  ].map((name) => `test/store/${name}.test.ts`),
]

/** Also run against mutants that survive the quick tests. These take minutes. */
const SLOW = [
  'test/rungs/sim/meta.test.ts',
  'test/rungs/sqlite/sqlite.test.ts',
  'test/store/idempotency.test.ts',
  'test/store/file-retention.test.ts',
  'test/rungs/scan/rows.test.ts',
  'test/rungs/scan/walks.test.ts',
  'test/rungs/scan/update-schema.test.ts',
  'test/rungs/files-model/files-model.test.ts',
  'test/unit/engine/compression.test.ts',
  'test/unit/schema/widen.test.ts',
  'test/store/compaction.test.ts',
  'test/unit/kv/version-base.test.ts',
  'test/store/signing-keys.test.ts',
  'test/store/file-collection-races.test.ts',
  'test/unit/contract/row-ids-answer.test.ts',
  'test/unit/adapters/import-files.test.ts',
  'test/unit/engine/file-name.test.ts',
]

const isWide = process.env['ROWSTASH_MUTANTS_WIDE'] === '1'
/** Tests of the changed modules, which run first. */
const ofModules = (process.env['ROWSTASH_MUTANTS_TESTS'] ?? '').split('\n').filter(Boolean)
const tests = [...new Set([...ofModules, ...QUICK, ...(isWide ? SLOW : [])])]

class FixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // A module's tests are patterns, and have no place in the list.
    const place = ({ moduleId }: TestSpecification): number => {
      return tests.findIndex((path) => moduleId.endsWith(path))
    }
    return files.toSorted((left, right) => place(left) - place(right))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: tests,
    env: {
      ROWSTASH_RUNS: isWide ? '40' : '15',
      ROWSTASH_RUNS_SCALE: isWide ? '0.05' : '0.03',
      ROWSTASH_SEED: '1',
    },
    setupFiles: ['test/quality/first-failure.ts'],
    testTimeout: isWide ? 60_000 : 20_000,
    maxWorkers: 1,
    pool: 'threads',
    isolate: false,
    sequence: { sequencer: FixedOrder },
    expect: { poll: { timeout: 60_000 } },
  },
})
