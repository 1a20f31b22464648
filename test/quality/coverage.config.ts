import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

function pathOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

export default defineConfig({
  root: pathOf('../..'),
  test: {
    include: [
      'test/{conformance,format,store,unit,rungs/{backup,corrupt,files-model,model,planted,scan,sim,sqlite,upgrade}}/**/*.test.ts',
    ],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    maxWorkers: 1,
    expect: { poll: { timeout: 15_000 } },
    coverage: {
      enabled: true,
      provider: 'custom',
      customProviderModule: pathOf('coverage-provider.config.ts'),
      include: ['src/{engine,format}/**/*.ts'],
      reporter: ['json', 'json-summary'],
      reportsDirectory: pathOf('../../coverage'),
      clean: false, // Beside it stands what came of mutants.
    },
  },
})
