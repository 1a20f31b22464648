// Patterns in lists of tests, as vitest and Stryker read them.
import { projectFiles } from '../support/project.js'

const FILES = projectFiles()

/** Expands `a/{b,c}.ts` to `a/b.ts` and `a/c.ts`. Nested braces are not supported. */
export function expand(pattern: string): string[] {
  const [, before = '', choices, after = ''] = /^(.*?)\{([^{}]*)\}(.*)$/.exec(pattern) ?? []
  if (choices === undefined) return [pattern]
  return choices.split(',').flatMap((choice) => expand(before + choice + after))
}

/** The files of the project that match a pattern without braces. */
export function filesOf(pattern: string): string[] {
  const form = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}$`)
  return FILES.filter((path) => form.test(path))
}
