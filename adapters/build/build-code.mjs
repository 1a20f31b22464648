// Builds the code of the package; called first by tsup.config.ts. Alone: node build-code.mjs FOLDER [PROGRAM], for the
// whole package or one program. Fails on any problem, also on rollup's warnings.
//
// esbuild translates each file, and rollup bundles the output. esbuild could bundle too, but declares a bundle's
// constants with `var`, which V8 reads again at every use (PERFORMANCE.md, P12).
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import process from 'node:process'
import { build, transform } from 'esbuild'
import { rollup } from 'rollup'

const LIBRARY = {
  index: 'src/index.ts',
  ports: 'src/ports.ts',
  node: 'adapters/node.ts',
  postgres: 'adapters/postgres.ts',
  s3: 'adapters/s3.ts',
  testing: 'test/conformance/testing.ts',
  cli: 'adapters/cli/cli.ts',
}

/** The maximum number of characters per line, so that places in a stack trace are useful. */
const LINE_MAX = 120

/**
 * Translates sources, without comments and indentation, because V8 keeps loaded source in its heap (PERFORMANCE.md,
 * P48). Names stay, for stack traces.
 */
function translated(target) {
  return {
    name: 'translated',
    resolveId(id, importer) {
      if (importer === undefined || !id.startsWith('.')) return null
      const path = resolve(dirname(importer), id)
      return existsSync(path) ? path : path.replace(/\.js$/, '.ts')
    },
    async transform(code, id) {
      if (id.endsWith('.json')) {
        return { code: `export default ${JSON.stringify(JSON.parse(code))}`, map: null }
      }
      const settings = { loader: 'ts', target, minifyWhitespace: true, lineLimit: LINE_MAX }
      return { code: (await transform(code, settings)).code, map: null }
    },
  }
}

/** Puts the files of the page into the package as text, in a module that is loaded when the page is first requested. */
const builtPage = {
  name: 'built-page',
  async load(id) {
    if (!/[\\/]adapters[\\/]page[\\/]page-files\.ts$/.test(id)) return null
    const outfile = 'node_modules/.cache/rowstash-build-page.mjs'
    const settings = { bundle: true, format: 'esm', platform: 'node', outfile }
    await build({ entryPoints: ['adapters/page/build-page.ts'], ...settings })
    const { buildPage } = await import(resolve(outfile))
    return `export const pageFiles = async () => (${JSON.stringify(await buildPage())})`
  },
}

/** The core is one file, because V8 reads a constant of another file again at every use. The client is separate. */
function chunkOf(id) {
  return /[\\/]src[\\/](?!client[\\/]).*\.ts$/.test(id) ? 'core' : undefined
}

async function write(dir, input, target, output) {
  const bundle = await rollup({
    input,
    preserveEntrySignatures: 'strict',
    plugins: [builtPage, translated(target)],
    external: (id) => !id.startsWith('.') && !isAbsolute(id) && !id.endsWith('.ts'),
    treeshake: { moduleSideEffects: false },
    onLog(level, { code, message }) {
      // `ports` has only types, so that its bundle is empty.
      if (level === 'warn' && code !== 'EMPTY_BUNDLE') throw new Error(message)
    },
  })
  const names = { chunkFileNames: 'shared-[hash].js', hoistTransitiveImports: false }
  await bundle.write({ dir, ...names, ...output })
}

async function writePackage(dir) {
  await write(dir, LIBRARY, 'node20', { manualChunks: chunkOf })
  // A bundle of its own: programs that only use a server load nothing of a store.
  await write(dir, { client: 'src/client/client.ts' }, 'es2022')
  await chmod(join(dir, 'cli.js'), 0o755)
  // As servers send it: without the indentation of the source.
  const document = JSON.parse(await readFile('src/contract/openapi/openapi.json', 'utf8'))
  await writeFile(join(dir, 'openapi.json'), `${JSON.stringify(document)}\n`)
}

/** @param program - A program to build instead of the package. */
export async function buildCode(dir, program) {
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  if (program === undefined) await writePackage(dir)
  else await write(dir, { [basename(program, '.ts')]: program }, 'node20')
}

const [, script, folder, program] = process.argv
if (import.meta.filename === script && folder !== undefined) await buildCode(folder, program)
