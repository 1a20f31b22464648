// Installs the tools that measure the tests, in a separate folder, at their first use: 190 packages that the project
// does not need otherwise.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = import.meta.dirname

/** Installs without peers, so that the project's vitest is the only one. No install script runs. */
export function installTools() {
  const { dependencies } = readManifest(FOLDER)
  const isThere = ([name, version]) =>
    readManifest(join(FOLDER, 'node_modules', name))?.version === version
  if (Object.entries(dependencies).every(isThere)) return
  console.log('installing what measures the tests …')
  const args = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts']
  const { status } = spawnSync('npm', ['install', '--legacy-peer-deps', ...args], {
    cwd: FOLDER,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('What measures the tests could not be installed')
}

function readManifest(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch (failure) {
    if (failure.code === 'ENOENT') return undefined
    throw failure
  }
}
