// `npm start`: builds adapters/cli/commands/start.ts unless its build is newer than all sources, then runs it. The
// build is JavaScript alone and has a folder of its own: the type declarations of the package take half a minute.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'node_modules', '.cache', 'rowstash-start')
const built = join(folder, 'start.js')
const sources = ['src', 'adapters', 'package.json', 'package-lock.json']

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
  const args = [
    join(root, 'adapters/build/build-code.mjs'),
    folder,
    'adapters/cli/commands/start.ts',
  ]
  const build = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (build.status !== 0) {
    console.error('The build failed; is `npm install` done?')
    process.exit(1)
  }
}

await import(pathToFileURL(built).href)
