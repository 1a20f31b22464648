import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { transform } from 'esbuild'
import { defineConfig, type Options } from 'tsup'
import { buildPage } from './adapters/page/build-page.js'

const library = {
  index: 'src/index.ts',
  ports: 'src/ports.ts',
  node: 'adapters/node.ts',
  postgres: 'adapters/postgres.ts',
  s3: 'adapters/s3.ts',
  testing: 'test/conformance/testing.ts',
}

/** The client of a server shares no code with the core: programs that only ask a server load nothing of a store. */
const client = { client: 'src/client/client.ts' }

/** The files that are entries, or imported when they are needed, and use a part of the core. */
const BEGINS_BUNDLE = /[\\/](?:adapters[\\/](?:postgres|s3)|s3[\\/]s3-objects)\.ts$/

/** What other entries import of the core in their declarations: it stays an import, of the core's own files. */
const CORE = /(?:\.\.\/)+src\/(index|ports)\.js/

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

/**
 * Leaves out comments and indentation. V8 holds the source of what is loaded in its heap: an import of 1,000,000 rows
 * takes 3 MB less (PERFORMANCE.md, P48). Names stay, and lines are short, so a stack trace tells as much.
 */
const compact = {
  name: 'compact',
  async renderChunk(code: string) {
    return transform(code, { minifyWhitespace: true, lineLimit: 120 })
  },
}

/**
 * Lets each file that begins a bundle reach the whole core, which esbuild then keeps in one file: V8 reads a constant
 * of another file at every use (PERFORMANCE.md, P12).
 */
const oneCore: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'one-core',
  setup(build) {
    const core = JSON.stringify(resolve('src/index.ts'))
    build.onLoad({ filter: BEGINS_BUNDLE }, ({ path }) => {
      return { contents: `${readFileSync(path, 'utf8')}\nimport ${core}`, loader: 'ts' }
    })
  },
}

/** Puts the files of the page into the package as text, in a file that is loaded when somebody asks for the page. */
const builtPage: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'built-page',
  setup(build) {
    build.onLoad({ filter: /[\\/]adapters[\\/]page[\\/]page-files\.ts$/ }, async () => {
      const files = JSON.stringify(await buildPage())
      return { contents: `export const pageFiles = async () => (${files})`, loader: 'ts' }
    })
  },
}

/**
 * Of the core only the OpenAPI document is in another file: it is read when somebody asks for it. The command line has a
 * copy of the client, whose own bundle must stand alone.
 */
function checkedCore() {
  const files: string[] = []
  return {
    name: 'checked-core',
    renderChunk(code: string, { path }: Readonly<{ path: string }>) {
      if (/^\/\/ src\/(?!client\/|contract\/openapi\.json)/m.test(code)) files.push(path)
      return undefined
    },
    buildEnd() {
      if (files.length === 1) return
      throw new Error(`The core is in ${files.join(', ')}: BEGINS_BUNDLE lacks what divides it`)
    },
  }
}

const entries = { ...library, ...client }

/** The declarations of the core: those of two entries, which are one type each by a file that both import. */
function coreDeclarations(outDir: string): Options {
  const { index, ports } = entries
  return { entry: { index, ports }, format: 'esm', dts: { only: true }, outDir }
}

/** One file of declarations for an entry, with nothing in it that the entry does not need. */
function declarations(name: keyof typeof entries, outDir: string): Options {
  return {
    entry: { [name]: entries[name] },
    format: 'esm',
    dts: { only: true },
    external: [CORE],
    outDir,
  }
}

/** tsup has no hook for the end of declarations, so this runs at the end of its process. */
function pointToIndex(outDir: string): void {
  for (const name of ['node', 'postgres', 's3', 'testing']) {
    const path = `${outDir}/${name}.d.ts`
    if (!existsSync(path)) continue
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(new RegExp(CORE, 'g'), './$1.js'))
  }
}

/** Lets the compiler name types of `rowstash/ports` in the declarations of a program that imports `rowstash` alone. */
function nameOfPorts(outDir: string): void {
  appendFileSync(`${outDir}/index.d.ts`, "import type {} from './ports.js';\n")
}

/** What the declarations of an entry import of a package that a program may lack. */
const OPTIONAL_TYPES = /^import .* from 'fast-check';$/m

/**
 * Lets a program without fast-check compile: the generators, which it cannot call, then take and return `any`. The bundler
 * of declarations drops the comments of imports.
 */
function markOptionalTypes(outDir: string): void {
  const path = `${outDir}/testing.d.ts`
  if (!existsSync(path)) return
  const text = readFileSync(path, 'utf8')
  if (!OPTIONAL_TYPES.test(text)) throw new Error(`${path} imports no types of fast-check`)
  const comment = '// @ts-ignore fast-check is an optional peer dependency'
  writeFileSync(
    path,
    text.replace(OPTIONAL_TYPES, (line) => `${comment}\n${line}`),
  )
}

/** The last list of exports in a file, without the braces. */
const EXPORTS = /export ?\{([^}]*)\};?\s*$/

/**
 * Marks classes that an entry exports as types alone, such as `FaultFile`: the bundler of declarations drops the word,
 * and a program that constructs one would compile and fail.
 */
function markTypes(outDir: string): void {
  for (const name of readdirSync(outDir).filter((file) => file.endsWith('.d.ts'))) {
    const entry = name.replace(/d\.ts$/, 'js')
    // What the core's entries share has no code, and `ports` has no values.
    if (!existsSync(`${outDir}/${entry}`) || entry === 'ports.js') continue
    const [, code] = EXPORTS.exec(readFileSync(`${outDir}/${entry}`, 'utf8')) ?? []
    if (code === undefined) throw new Error(`${entry} has no list of exports`)
    const values = new Set(code.split(',').map((part) => part.trim().replace(/^.* as /, '')))
    const text = readFileSync(`${outDir}/${name}`, 'utf8').replace(EXPORTS, (_, list: string) => {
      const parts = list.split(',').map((part) => part.trim())
      const marked = parts.map((part) =>
        part.startsWith('type ') || values.has(part) ? part : `type ${part}`,
      )
      return `export { ${marked.join(', ')} };\n`
    })
    writeFileSync(`${outDir}/${name}`, text)
  }
}

/** The text that a server sends, whose source has indentation. */
function writeOpenApi(): void {
  const document: unknown = JSON.parse(readFileSync('src/contract/openapi.json', 'utf8'))
  writeFileSync('dist/openapi.json', `${JSON.stringify(document)}\n`)
}

export default defineConfig(({ entry, outDir = 'dist', dts }) => {
  if (dts !== false) {
    process.once('exit', () => {
      pointToIndex(outDir)
      markOptionalTypes(outDir)
      markTypes(outDir)
      nameOfPorts(outDir)
    })
  }
  const packed = outDir === 'dist' ? [compact] : []
  const core: Options[] = [
    {
      entry: { ...library, cli: 'adapters/programs/cli.ts' },
      format: 'esm',
      target: 'node20',
      platform: 'node',
      splitting: true,
      sourcemap: outDir !== 'dist',
      clean: true,
      outDir,
      plugins: [constants, checkedCore(), ...packed],
      esbuildPlugins: [oneCore, builtPage],
      esbuildOptions(options) {
        options.chunkNames = 'shared-[hash]'
      },
      async onSuccess() {
        if (outDir === 'dist') writeOpenApi()
      },
    },
  ]
  // An entry of the command line takes the place of those of each build, so that two builds would write one file.
  if (entry !== undefined) return core
  return [
    ...core,
    { entry: client, format: 'esm', target: 'es2022', splitting: false, outDir, plugins: packed },
    ...(dts === false
      ? []
      : [
          coreDeclarations(outDir),
          declarations('node', outDir),
          declarations('postgres', outDir),
          declarations('s3', outDir),
          declarations('testing', outDir),
          declarations('client', outDir),
        ]),
  ]
})
