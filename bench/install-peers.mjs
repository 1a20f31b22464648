// Installs the peers in the bench's folder, at their first use.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = import.meta.dirname

/** Loads the binary of better-sqlite3, which fits only one version of Node's ABI. */
const TRY_SQLITE = "const Database = require('better-sqlite3'); new Database(':memory:').close()"

/**
 * No install scripts run here: a package whose build fails must not block the others, and all but better-sqlite3
 * include their binaries.
 */
export function installPeers() {
  const { dependencies } = readManifest(FOLDER)
  const isThere = ([name, version]) =>
    readManifest(join(FOLDER, 'node_modules', name))?.version === version
  if (Object.entries(dependencies).every(isThere)) return
  console.log('installing the peers of the bench …')
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts']
  if (npm(args) !== 0) throw new Error('The peers could not be installed')
}

/**
 * Fetches or builds the binary of better-sqlite3 if this Node lacks one. From version 12, npm runs only the scripts of
 * packages that `allowScripts` of package.json names.
 */
export function buildSqlite() {
  const isLoadable = () => {
    const options = { cwd: FOLDER, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' }
    return spawnSync(process.execPath, ['-e', TRY_SQLITE], options).status === 0
  }
  if (isLoadable()) return
  console.log(
    'building better-sqlite3 for this Node; without a binary to fetch, it takes minutes …',
  )
  const status = npm(['rebuild', 'better-sqlite3', '--ignore-scripts=false'])
  if (status === 0 && isLoadable()) return
  console.log(
    `better-sqlite3 has no binary for Node ${process.version}: npm rebuild ended with ${status}.\n` +
      `It needs a compiler and Python, or the network. Try again in ${FOLDER} with: npm rebuild better-sqlite3`,
  )
}

function npm(args) {
  return spawnSync('npm', args, { cwd: FOLDER, stdio: 'inherit' }).status
}

function readManifest(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch (failure) {
    if (failure.code === 'ENOENT') return undefined
    throw failure
  }
}
