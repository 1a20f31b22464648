import { defineConfig } from 'tsup'

const library = {
  index: 'src/index.ts',
  node: 'adapters/node.ts',
  testing: 'test/conformance/testing.ts',
}

/**
 * Declares the constants of a bundle as such. esbuild writes `var` for them, which V8 must read again at
 * every use; of a `const` that it has seen it knows the value, which saves an eighth of an import.
 */
const constants = {
  name: 'constants',
  renderChunk(code: string) {
    return { code: code.replace(/^var (?=[A-Z][A-Z0-9_]* = )/gm, 'const ') }
  },
}

export default defineConfig(({ outDir }) => ({
  entry: { ...library, cli: 'adapters/programs/cli.ts' },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  dts: { entry: library },
  splitting: true,
  sourcemap: true,
  clean: true,
  // package.json says what it is, for browsers and for all others. It says so in the package alone, so a build
  // that goes elsewhere takes it in.
  external: outDir === undefined ? ['#csv-parse'] : [],
  plugins: [constants],
}))
