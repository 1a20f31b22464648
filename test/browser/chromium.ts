// Finds the browser of this machine. Nothing is downloaded: without a browser, tests are skipped.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

export type FoundChromium =
  | Readonly<{ path: string }>
  /** Why no browser is used. */
  | Readonly<{ path?: never; reason: string }>

/** ROWSTASH_CHROMIUM names the browser instead of PATH; if it is empty, none is used. */
export function findChromium(): FoundChromium {
  const named = process.env['ROWSTASH_CHROMIUM']
  if (named === '') return { reason: 'ROWSTASH_CHROMIUM is empty' }
  const path = named ?? inPath()
  if (path === undefined) return { reason: `none of ${NAMES.join(', ')} is in PATH` }
  // On some systems a script of this name only says how to get the browser.
  const asked = spawnSync(path, ['--version', '--no-sandbox'], {
    timeout: 60_000,
    encoding: 'utf8',
  })
  if (asked.status === 0) return { path }
  return { reason: `${path} does not start: ${asked.error?.message ?? asked.stderr.trim()}` }
}

function inPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // no file of this name in this folder
  }
}
