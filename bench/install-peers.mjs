// Installs what the bench compares with, in the bench's own folder, when it is first used.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function installPeers() {
  const folder = import.meta.dirname
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const isThere = (name) => existsSync(join(folder, 'node_modules', name, 'package.json'))
  if (Object.keys(dependencies).every(isThere)) return
  console.log('installing the peers of the bench …')
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error('The peers could not be installed')
}
