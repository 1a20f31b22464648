// Runs a program of a document, as a user would paste it.
import assert from 'node:assert/strict'
import ts from 'typescript'
import * as node from '../../adapters/node.js'
import * as postgres from '../../adapters/postgres.js'
import * as s3 from '../../adapters/s3.js'
import * as client from '../../src/client/client.js'
import * as core from '../../src/index.js'
import * as testing from '../conformance/testing.js'
import type { Block } from './blocks.js'

export type Names = Readonly<Record<string, unknown>>

/** The folder in which a program runs, and a way to register what is undone after it. */
export type Surroundings = Readonly<{ folder: string; onEnd(undo: () => Promise<unknown>): void }>

export type Program = Readonly<{
  document: string
  /** The beginning of its first line of code. No other block begins so. */
  begins: string
  declared?: string
  /** Runs the program, and checks its effects. */
  run(block: Block, surroundings: Surroundings): Promise<void>
}>

const MODULES: Readonly<Record<string, Names>> = {
  rowstash: core,
  'rowstash/client': client,
  'rowstash/node': node,
  'rowstash/postgres': postgres,
  'rowstash/s3': s3,
  'rowstash/testing': testing,
}

const AsyncFunction = (async () => undefined).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<void>

const IMPORT = /^import \{([^}]+)\} from '([^']+)'.*$/gm

/**
 * Runs the text of a module. Each member that it imports from a module must exist.
 * @param given - Names that it uses and does not define, and replacements of global names.
 * @param modules - Modules besides those of this package.
 */
export async function runModule(text: string, given: Names, modules: Names = {}): Promise<void> {
  const load = (name: string): unknown => {
    const found = { ...MODULES, ...modules }[name] as Names | undefined
    assert(found !== undefined, `no module ${name} is known to this test`)
    return new Proxy(found, {
      get(target, member) {
        assert(member in target, `${name} exports no ${String(member)}`)
        return Reflect.get(target, member)
      },
    })
  }
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
  const { outputText } = ts.transpileModule(text.replace(IMPORT, "const {$1} = load('$2')"), {
    compilerOptions: options,
  })
  const names = { ...given, load }
  const program = outputText.replace(/^export \{\};?$/m, '') // TypeScript marks a module with it.
  await new AsyncFunction(...Object.keys(names), program)(...Object.values(names))
}

/** Runs a module. @returns what it prints: the values of each call */
export async function runPrinting(text: string, given: Names): Promise<unknown[][]> {
  const printed: unknown[][] = []
  const log = (...values: unknown[]): unknown => printed.push(values)
  await runModule(text, { ...given, console: { log } })
  return printed
}

/** Replaces text that a test must change. It must occur once. */
export function replaced(text: string, from: string, to: string): string {
  assert.equal(text.split(from).length, 2, `"${from}" is there once`)
  return text.replace(from, to)
}

export async function memory({ onEnd }: Surroundings): Promise<core.Store> {
  const store = await core.openMemory()
  onEnd(() => store.close())
  return store
}
