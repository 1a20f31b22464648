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

/** Where a program runs: a folder of its own, and what is to be undone after it. */
export type Surroundings = Readonly<{ folder: string; onEnd(undo: () => Promise<unknown>): void }>

export type Program = Readonly<{
  document: string
  /** What its first line of code begins with; no other block begins so. */
  begins: string
  declared?: string
  /** Runs it, and checks what it did. */
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
 * Runs the text of a module. Each member of a module that it imports must be there.
 * @param given - Names that it uses and does not make, and those of the global object that it shall see instead.
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
  const program = outputText.replace(/^export \{\};?$/m, '') // TypeScript marks a module by it.
  await new AsyncFunction(...Object.keys(names), program)(...Object.values(names))
}

/** As `runModule`. @returns what it printed: the values of each call */
export async function runPrinting(text: string, given: Names): Promise<unknown[][]> {
  const printed: unknown[][] = []
  const log = (...values: unknown[]): unknown => printed.push(values)
  await runModule(text, { ...given, console: { log } })
  return printed
}

/** Replaces what must be another thing in a test, and is there once. */
export function replaced(text: string, from: string, to: string): string {
  assert.equal(text.split(from).length, 2, `"${from}" is there once`)
  return text.replace(from, to)
}

export async function memory({ onEnd }: Surroundings): Promise<core.Store> {
  const store = await core.openMemory()
  onEnd(() => store.close())
  return store
}
