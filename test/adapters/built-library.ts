// Builds the library into the folder from which the examples import it.
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../support/project.js'

const ENTRIES = {
  index: 'src/index.ts',
  node: 'adapters/node.ts',
  postgres: 'adapters/postgres.ts',
}

/** Builds the library. @returns removes the build */
export async function buildLibrary(): Promise<() => Promise<void>> {
  const folder = join(ROOT, 'test/adapters/node_modules/rowstash')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const entries = Object.entries(ENTRIES).flatMap(([name, path]) => [`--entry.${name}`, path])
  const target = ['--format', 'esm', '--target', 'node20', '--out-dir', folder, '--silent']
  const tsup = join(ROOT, 'node_modules/tsup/dist/cli-default.js')
  await promisify(execFile)(process.execPath, [tsup, '--no-config', ...entries, ...target], {
    cwd: ROOT,
  })
  const exports = { '.': './index.js', './node': './node.js', './postgres': './postgres.js' }
  const manifest = { name: 'rowstash', type: 'module', exports }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  return () => rm(folder, { recursive: true, force: true })
}
