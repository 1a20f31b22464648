// `npm start`: builds if there is no build of the present sources, then runs adapters/start.ts.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, 'dist', 'start.js')
const sources = ['src', 'adapters', 'test/conformance', 'package.json', 'tsup.config.ts']

/** When the newest file of a path was changed, in milliseconds; 0 if there is none. */
function changedMs(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.mtimeMs
  const below = readdirSync(path).map((name) => changedMs(join(path, name)))
  return Math.max(0, ...below)
}

if (changedMs(built) <= Math.max(...sources.map((name) => changedMs(join(root, name))))) {
  console.log('building …')
  const tsup = join(root, 'node_modules', 'tsup', 'dist', 'cli-default.js')
  const build = spawnSync(process.execPath, [tsup, '--silent'], { cwd: root, stdio: 'inherit' })
  if (build.status !== 0) {
    console.error('The build failed; is `npm install` done?')
    process.exit(1)
  }
}

await import('../dist/start.js')
