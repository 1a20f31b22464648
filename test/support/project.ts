// The project's folder and files. This module does not import the compiler, which takes longer to load than most tests
// run.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Paths, below the root, of all files that are committed or would be. */
export function projectFiles(): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n')
  return listed.filter((path) => path !== '' && existsSync(join(ROOT, path)))
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
