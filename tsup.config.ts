import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { defineConfig, type Options } from 'tsup'
import { openApiJson } from './src/contract/openapi/document.js'

const library = {
  index: 'src/index.ts',
  node: 'adapters/node.ts',
  postgres: 'adapters/postgres.ts',
  s3: 'adapters/s3.ts',
  testing: 'test/conformance/testing.ts',
}

/** What other entries import of the core in their declarations: it stays an import, of the core's own file. */
const CORE = /(?:\.\.\/)+src\/index\.js/

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

/** One file of declarations for an entry, with nothing in it that the entry does not need. */
function declarations(name: keyof typeof library, outDir: string): Options {
  return {
    entry: { [name]: library[name] },
    format: 'esm',
    dts: { only: true },
    external: name === 'index' ? [] : [CORE],
    outDir,
  }
}

/** tsup has no hook for the end of declarations, so this runs at the end of its process. */
function pointToIndex(outDir: string): void {
  for (const name of ['node', 'postgres', 's3', 'testing']) {
    const path = `${outDir}/${name}.d.ts`
    if (!existsSync(path)) continue
    writeFileSync(path, readFileSync(path, 'utf8').replace(CORE, './index.js'))
  }
}

export default defineConfig(({ outDir = 'dist', dts }) => {
  if (dts !== false) process.once('exit', () => pointToIndex(outDir))
  return [
    {
      entry: { ...library, cli: 'adapters/programs/cli.ts' },
      format: 'esm',
      target: 'node20',
      platform: 'node',
      splitting: true,
      sourcemap: true,
      clean: true,
      outDir,
      // package.json says what it is, for browsers and for all others. It says so in the package alone, so a build
      // that goes elsewhere takes it in.
      external: outDir === 'dist' ? ['#csv-parse'] : [],
      plugins: [constants],
      async onSuccess() {
        if (outDir === 'dist') writeFileSync('dist/openapi.json', openApiJson())
      },
    },
    ...(dts === false
      ? []
      : [
          declarations('index', outDir),
          declarations('node', outDir),
          declarations('postgres', outDir),
          declarations('s3', outDir),
          declarations('testing', outDir),
        ]),
  ]
})
