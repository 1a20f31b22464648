// The runtimes and frameworks that `install-runtimes.mjs` installs.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/project.js'

const PACKAGES = join(ROOT, 'test/adapters/node_modules')

/** The binary of a package for this platform; undefined: it is not installed. */
function binaryOf(scope: string, path: string): string | undefined {
  const folder = join(PACKAGES, scope)
  if (!existsSync(folder)) return undefined
  return readdirSync(folder)
    .map((name) => join(folder, name, path))
    .find((binary) => existsSync(binary))
}

export const BUN = binaryOf('@oven', 'bin/bun')
export const DENO = binaryOf('@deno', 'deno')

/** The command of Next.js, a program of Node. */
const next = join(PACKAGES, 'next/dist/bin/next')
export const NEXT = existsSync(next) ? next : undefined
