// The code of the package, which tsup.config.ts makes first; by itself: node build-code.mjs FOLDER [PROGRAM], of the
// whole package, or of one program. Whatever is wrong rejects, also what rollup only warns of.
//
// esbuild translates each file, and rollup bundles what it gives. esbuild would bundle, too, but declares the constants
// of a bundle with `var`, which V8 reads anew at every use (PERFORMANCE.md, P12).
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

/** Characters of a line: a place in a stack trace tells something. */
const LINE_MAX = 120

/**
 * Translates sources, without comments and indentation: V8 holds the source of what is loaded in its heap
 * (PERFORMANCE.md, P48). Names stay, so a stack trace tells as much.
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

/** Puts the files of the page into the package as text, in a file that is loaded when somebody asks for the page. */
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

/** The core is one file: V8 reads a constant of another file at every use. The client is no part of it. */
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
      // `ports` has types alone.
      if (level === 'warn' && code !== 'EMPTY_BUNDLE') throw new Error(message)
    },
  })
  const names = { chunkFileNames: 'shared-[hash].js', hoistTransitiveImports: false }
  await bundle.write({ dir, ...names, ...output })
}

async function writePackage(dir) {
  await write(dir, LIBRARY, 'node20', { manualChunks: chunkOf })
  // Programs that only ask a server load nothing of a store.
  await write(dir, { client: 'src/client/client.ts' }, 'es2022')
  await chmod(join(dir, 'cli.js'), 0o755)
  // The text that a server sends, whose source has indentation.
  const document = JSON.parse(await readFile('src/contract/openapi/openapi.json', 'utf8'))
  await writeFile(join(dir, 'openapi.json'), `${JSON.stringify(document)}\n`)
}

/** @param program - Built instead of the package. */
export async function buildCode(dir, program) {
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  if (program === undefined) await writePackage(dir)
  else await write(dir, { [basename(program, '.ts')]: program }, 'node20')
}

const [, script, folder, program] = process.argv
if (import.meta.filename === script && folder !== undefined) await buildCode(folder, program)
