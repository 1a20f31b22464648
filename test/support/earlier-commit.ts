// The tree of an earlier commit, for tests of two versions on the same data. It represents a release until there is
// one: from the first release on, use its tag.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './project.js'

/** Before logs, owner records and sorted pages existed. */
const EARLIER = 'ff13b8501c527275617e6759ab4ca4e3864c8e2f'

const FOLDERS = ['src', 'adapters', 'test', 'package.json', 'tsconfig.json']

/** Below node_modules, so that packages are found, and nothing else looks there. */
const CACHE = join(ROOT, 'node_modules/.cache')

export type EarlierTree = Readonly<{ root: string; remove(): Promise<void> }>

/**
 * Extracts the tree from the repository. @returns the tree, or why it is not available: a shallow clone and a package
 * lack it
 */
export function earlierTree(): EarlierTree | string {
  const found = spawnSync('git', ['cat-file', '-e', `${EARLIER}^{commit}`], { cwd: ROOT })
  if (found.status !== 0) return `the repository lacks the commit ${EARLIER}`
  mkdirSync(CACHE, { recursive: true })
  const root = mkdtempSync(join(CACHE, 'rowstash-earlier-'))
  const archive = execFileSync('git', ['archive', EARLIER, ...FOLDERS], {
    cwd: ROOT,
    maxBuffer: 256 * 1_048_576,
  })
  execFileSync('tar', ['-x', '-C', root], { input: archive })
  return { root, remove: () => rm(root, { recursive: true }) }
}
