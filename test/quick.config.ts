// `npm run test:quick`: something of each layer, in small sizes and always with the same choices. Files share
// their modules, so that nothing is loaded twice: a file belongs here only if it changes no global state.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: [
      'test/tidy.test.ts',
      'test/format/golden.test.ts',
      'test/rungs/planted/planted-bugs.test.ts',
      'test/rungs/model/model.test.ts',
      'test/unit/{base,format,schema,kv,contract}/*.test.ts',
    ],
    env: { ROWSTASH_RUNS: '15', ROWSTASH_RUNS_SCALE: '0.03', ROWSTASH_SEED: '1' },
    testTimeout: 30_000,
    maxWorkers: 2,
    pool: 'threads',
    isolate: false,
    expect: { poll: { timeout: 15_000 } },
  },
})
