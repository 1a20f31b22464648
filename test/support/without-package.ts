/**
 * The environment of a process that lacks a package: Node searches a folder without it, so that the failure is Node's
 * own.
 */
export function withoutPackage(name: string): Readonly<Record<string, string>> {
  const hook = `export const resolve = (specifier, context, next) => next(specifier,
    specifier === '${name}' ? { ...context, parentURL: 'file:///none/index.js' } : context)`
  const hookUrl = `data:text/javascript,${encodeURIComponent(hook)}`
  const start = `import { register } from 'node:module'; register(${JSON.stringify(hookUrl)})`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(start)}` }
}
