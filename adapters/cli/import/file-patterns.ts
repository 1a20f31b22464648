// File names with wildcards, for shells that do not expand them, such as those of Windows.
import { type Dirent, existsSync, readdirSync } from 'node:fs'
import { sep } from 'node:path'
import { ProgramFailure } from '../command/program-failure.js'

const WILDCARD = /[*?]/

/**
 * The files that match names, in the order of the names, and sorted per pattern. `*` matches any text without a
 * separator, `?` one character; a leading period must be in the pattern. A name that exists is not a pattern.
 * @throws {ProgramFailure} for a pattern that no file matches
 */
export function filesOf(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (!WILDCARD.test(name) || existsSync(name)) return name
    const found = pathsOfPattern(name)
    if (found.length > 0) return found
    throw new ProgramFailure('failed', `No file matches ${name}`)
  })
}

function pathsOfPattern(pattern: string): string[] {
  const parts = pattern.split(sep === '\\' ? /[\\/]/ : '/')
  const last = parts.length - 1
  let found = ['']
  for (const [index, part] of parts.entries()) {
    const isWanted = (entry: Dirent) => (index === last ? !entry.isDirectory() : !entry.isFile())
    found = WILDCARD.test(part)
      ? found.flatMap((folder) =>
          matchingNames(folder, part, isWanted).map((name) => folder + name),
        )
      : found.map((folder) => folder + part)
    if (index < last) found = found.map((path) => `${path}/`)
  }
  return found.filter((path) => existsSync(path))
}

function matchingNames(
  folder: string,
  pattern: string,
  isWanted: (entry: Dirent) => boolean,
): readonly string[] {
  const text = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&')
  const wanted = new RegExp(`^${text.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su')
  return entriesOfFolder(folder === '' ? '.' : folder)
    .filter((entry) => wanted.test(entry.name) && isWanted(entry))
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.') || pattern.startsWith('.'))
    .sort()
}

/** The entries of a folder. A path that is not a readable folder has none. */
function entriesOfFolder(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
