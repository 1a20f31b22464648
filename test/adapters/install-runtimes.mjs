// Installs Bun, Deno and Next.js for the examples, in a separate folder: they are half a gigabyte that no other test
// needs. Without them their examples are skipped.
import { spawnSync } from 'node:child_process'
import process from 'node:process'

const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline']
const { status } = spawnSync('npm', ['install', '--ignore-scripts', ...quiet], {
  cwd: import.meta.dirname,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
