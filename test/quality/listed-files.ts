// Patterns in the lists of the tests, as vitest and Stryker read them.
import { projectFiles } from '../support/project.js'

const FILES = projectFiles()

/** `a/{b,c}.ts` as `a/b.ts` and `a/c.ts`; braces within braces are not known here. */
export function expand(pattern: string): string[] {
  const [, before = '', choices, after = ''] = /^(.*?)\{([^{}]*)\}(.*)$/.exec(pattern) ?? []
  if (choices === undefined) return [pattern]
  return choices.split(',').flatMap((choice) => expand(before + choice + after))
}

/** The files of the project that fit a pattern without braces. */
export function filesOf(pattern: string): string[] {
  const form = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}$`)
  return FILES.filter((path) => form.test(path))
}
