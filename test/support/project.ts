// The folder of the project and its files. The compiler stays out: loading it takes longer than most tests.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Paths below the root, of all files that are or would be committed. */
export function projectFiles(): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n')
  return listed.filter((path) => path !== '' && existsSync(join(ROOT, path)))
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
