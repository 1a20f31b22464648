import { defineConfig } from 'tsup'

const library = {
  index: 'src/index.ts',
  node: 'adapters/node.ts',
  testing: 'test/conformance/testing.ts',
}

export default defineConfig({
  entry: { ...library, cli: 'adapters/cli.ts', start: 'adapters/start.ts' },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  dts: { entry: library },
  splitting: true,
  sourcemap: true,
  clean: true,
})
