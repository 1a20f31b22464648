// The package: its code, and then the declarations of its entries, each type of all entries but the client declared once.
// `--no-dts` leaves the declarations out.
import { defineConfig } from 'tsup'
import { buildCode } from './adapters/build/build-code.mjs'

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

export default defineConfig(async ({ dts }) => {
  await buildCode('dist')
  if (dts === false) return []
  return [
    { entry: ENTRIES, format: 'esm', dts: { only: true, footer: NAMES_PORTS } },
    // A program that only asks a server compiles nothing of a store.
    { entry: { client: 'src/client/client.ts' }, format: 'esm', dts: { only: true } },
  ]
})
