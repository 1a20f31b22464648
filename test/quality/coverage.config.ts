// A run of the tests that counts the lines and branches of src/ which it goes through; cover.mjs says which tests.
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
    // V8 counts blocks for one of two at a time, and these tests count the work of calls by them.
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
