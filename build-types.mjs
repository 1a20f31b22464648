// `npm run build`, after the code: the declarations of the package, each type of all entries but the client declared once.
// Whatever is wrong rejects, and so ends the build.
import { readFile, writeFile } from 'node:fs/promises'
import { build } from 'tsup'

const OUT_DIR = 'dist'
const ENTRIES = {
  index: 'src/index.ts',
  ports: 'src/ports.ts',
  node: 'adapters/node.ts',
  postgres: 'adapters/postgres.ts',
  s3: 'adapters/s3.ts',
  testing: 'test/conformance/testing.ts',
}

/** Lets the compiler name types of `rowstash/ports` in the declarations of a program that imports other entries alone. */
const NAMES_PORTS = "import type {} from './ports.js';"

/** Lets a program without fast-check compile: the generators, which it cannot call, then take and return `any`. */
const OPTIONAL = "import fastCheck from 'fast-check';\n"
const MARK = '// @ts-ignore fast-check is an optional peer dependency\n'

const settings = { config: false, format: 'esm', outDir: OUT_DIR, silent: true }
await build({ ...settings, entry: ENTRIES, dts: { only: true, footer: NAMES_PORTS } })
// A program that only asks a server compiles nothing of a store.
await build({ ...settings, entry: { client: 'src/client/client.ts' }, dts: { only: true } })

const path = `${OUT_DIR}/testing.d.ts`
const text = await readFile(path, 'utf8')
const at = text.indexOf(OPTIONAL)
if (at < 0) throw new Error(`${path} lacks the line ${OPTIONAL}`)
await writeFile(path, text.slice(0, at) + MARK + text.slice(at))
