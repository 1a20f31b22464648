// `npm run test:quick`: the quick tests of each layer that find most, in small sizes, always with the same choices.
// Files share their modules, so that nothing is loaded twice. A file that changes global state permanently or needs a
// separate process does not belong here. Transformed code is kept in node_modules/.cache.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Slow even in small sizes. */
const SLOW = [
  'test/unit/base/codecs.test.ts',
  'test/unit/contract/{answer-memory,contract-admin,key-limits,row-ids-answer,page-pieces}.test.ts',
  'test/unit/engine/{compression,file-name,kv-objects,schema-cache,segment-codecs}.test.ts',
  'test/unit/format/{key-values,sealed-content,text-buffer}.test.ts',
  'test/unit/kv/{durability,level-recovery,version-base,high-water}.test.ts',
]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: [
      'test/tidy.test.ts',
      'test/format/golden.test.ts',
      'test/unit/{base,schema,format,kv,engine,contract}/*.test.ts',
      'test/unit/adapters/{leveldb-manifest,source-guard}.test.ts',
      'test/store/{compaction,files,preserved-ids,uploads}.test.ts',
      'test/quality/store-in-memory.ts',
      'test/quality/mutation-lists.test.ts',
      'test/rungs/model/model.test.ts',
    ],
    exclude: SLOW,
    env: { ROWSTASH_RUNS: '10', ROWSTASH_RUNS_SCALE: '0.02', ROWSTASH_SEED: '1' },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/rowstash-quick' },
    pool: 'threads',
    isolate: false,
    expect: { poll: { timeout: 60_000 } },
  },
})
