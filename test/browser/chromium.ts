// Finds the browser of this machine. None is downloaded: one that is not there is a reason to skip.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

export type FoundChromium =
  | Readonly<{ path: string }>
  /** Why there is none. */
  | Readonly<{ path?: never; reason: string }>

/** ROWSTASH_CHROMIUM names another browser than the one in PATH; empty: none shall be used. */
export function findChromium(): FoundChromium {
  const named = process.env['ROWSTASH_CHROMIUM']
  if (named === '') return { reason: 'ROWSTASH_CHROMIUM is empty' }
  const path = named ?? inPath()
  if (path === undefined) return { reason: `none of ${NAMES.join(', ')} is in PATH` }
  // Some systems have a script of this name that only says how to get the browser.
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
    return false // There is none of this name here.
  }
}
