// The tests that mutants meet: those that are quick and say most, in small sizes, always with the same choices.
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** In the order in which they run: what finds most comes first, as the first failure ends a run. */
const QUICK = [
  'test/format/golden.test.ts',
  ...[
    'segment',
    'damaged-records',
    'file-references',
    'sealed-content',
    'ids-and-tokens',
    'row-text',
    'kept-ids',
    'finalize-race',
    'object-sweep',
    'media-type',
    'infer',
  ].map(unit),
  'test/quality/store-in-memory.ts',
  'test/property/model.test.ts',
  ...['files', 'uploads', 'backup', 'restore-frames', 'verify', 'verify-contradictions'].map(unit),
  ...['page-ends', 'store-background'].map(unit),
]

/** Met too by what survives the quick ones: these take minutes. */
const SLOW = [
  'test/sim/meta.test.ts',
  'test/property/sqlite.test.ts',
  ...['repeat-safe', 'file-retention'].map(unit),
  ...['property/rows', 'property/walks', 'property/update-schema', 'property/files-model'].map(
    (name) => `test/${name}.test.ts`,
  ),
  ...['compression', 'widen', 'fold', 'version-base', 'signing-keys', 'file-sweep-races'].map(unit),
  ...['row-ids-answer', 'import-files', 'file-name'].map(unit),
]

function unit(name: string): string {
  return `test/unit/${name}.test.ts`
}

const isWide = process.env['ROWSTASH_MUTANTS_WIDE'] === '1'
const tests = isWide ? [...QUICK, ...SLOW] : QUICK

class FixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
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
    expect: { poll: { timeout: 15_000 } },
  },
})
