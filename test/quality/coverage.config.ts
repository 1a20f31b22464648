// A test run that counts executed lines and branches of src/. cover.mjs chooses the tests.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import base from '../vitest.config.js'

function pathOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

const COUNT_BLOCKS = ['test/store/hostile-input.test.ts']

export default defineConfig({
  root: pathOf('../..'),
  test: {
    ...base.test,
    maxWorkers: 2,
    // These tests measure work by V8's block counts, which serve only one user at a time.
    exclude: COUNT_BLOCKS,
    coverage: {
      enabled: true,
      reportOnFailure: true,
      provider: 'custom',
      customProviderModule: pathOf('coverage-provider.config.ts'),
      include: ['src/**/*.ts'],
      reporter: ['json'],
      reportsDirectory: process.env['ROWSTASH_COVERAGE'] ?? pathOf('../../coverage'),
    },
  },
})
