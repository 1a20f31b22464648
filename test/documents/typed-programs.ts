// The program in TABLES.md with a typed table.
import assert from 'node:assert/strict'
import { memory, type Program, runPrinting } from './run-module.js'

const typedTable: Program = {
  document: 'src/guides/TABLES.md',
  begins: "import { defineSchema } from 'rowstash'",
  declared: "declare const team: import('rowstash').Team",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const printed = await runPrinting(text, { team })

    assert.deepEqual(printed, [[['Ada: 34.50']]])
  },
}

export const TYPED_PROGRAMS: readonly Program[] = [typedTable]
