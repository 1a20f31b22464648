// The programs of the guides: imports, versions, files, operations.
import assert from 'node:assert/strict'
import * as core from '../../src/index.js'
import { createTestServer } from '../conformance/testing.js'
import { memory, type Program, replaced, runModule, runPrinting } from './run-module.js'

const TEAM = "declare const team: import('rowstash').Team"
const TABLE = "declare const table: import('rowstash').Table"

const fromStash: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: "const stash = team.stash('orders-2026-11')",
  declared: `${TEAM};declare const parts: ReadableStream<Uint8Array>[]`,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const parts = [1, 2].map((id) => new Blob([`id\n${id}\n`]).stream())
    const printed = await runPrinting(text, { team, parts })

    assert.deepEqual(printed.flat(), [2, 2])
    assert.deepEqual(await team.stashes(), [])
  },
}

const resumed: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: "import { createClient } from 'rowstash/client'",
  declared: 'declare const url: string, key: string; declare const file: File',
  async run({ text }, surroundings) {
    const server = await createTestServer()
    surroundings.onEnd(() => server.close())
    const given = { url: server.url, key: server.key, file: new File(['id\n1\n2\n'], 'a.csv') }
    const [[line] = []] = await runPrinting(text, given)
    await runPrinting(text, given)

    assert.equal(line, '2 rows, 0 chunks were there already')
    assert.equal((await server.store.team('test').tables()).length, 1)
  },
}

const retried: Program = {
  document: 'src/guides/CLIENT.md',
  begins: "import { ClientError, createClient } from 'rowstash/client'",
  declared: 'declare const url: string, key: string',
  async run({ text }, { onEnd }) {
    const server = await createTestServer()
    onEnd(() => server.close())
    const fault = { status: 503, type: 'overloaded', headers: { 'retry-after': '0' } }
    server.fail({ method: 'GET', path: '/tables', fault, times: 4 })
    const printed: unknown[][] = []
    const console = { log: (...all: unknown[]) => printed.push(all) }
    await runModule(text, { url: server.url, key: server.key, console, AbortSignal })

    const [failed] = printed.splice(3)
    assert.equal(printed.filter(([line]) => /; trying again in 0 ms$/.test(String(line))).length, 3)
    assert.deepEqual(failed?.slice(0, 2), [503, 'overloaded'])
    assert.match(String(failed?.[2]), /gave up after 4 tries in [0-9.]+ s\)$/)
  },
}

const guarded: Program = {
  document: 'src/guides/VERSIONS.md',
  begins: 'const found = await table.get(rowId)',
  declared: `import { isStoreError } from 'rowstash';${TABLE};declare const rowId: string`,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const made = await team.createTable({ name: 'Orders', rows: [{ id: 1, paid: false }] })
    const table = team.table(made.tableId)
    const { isStoreError } = core
    await runModule(text, { table, rowId: made.rowIds.get(0), isStoreError })

    assert.equal(await table.version(), 3)
  },
}

/** As printed: who, why, when, from what, to what. */
function checkWhoChanged([line]: readonly unknown[][], expected: readonly unknown[]): void {
  assert.equal(line?.find((value) => value instanceof Date)?.getTime(), Date.UTC(2027, 0, 1))
  assert.deepEqual(
    line?.filter((value) => !(value instanceof Date)),
    expected,
  )
}

const NEW_YEAR = { now: () => Date.UTC(2027, 0, 1) }

const whoChanged: Program = {
  document: 'src/guides/VERSIONS.md',
  begins: "import { openMemory } from 'rowstash'",
  async run({ text }) {
    const program = replaced(text, 'openMemory({', 'openMemory({ clock,')
    const printed = await runPrinting(program, { clock: NEW_YEAR })

    checkWhoChanged(printed, ['ann', 'new supplier', 4, 5])
  },
}

const urlInCell: Program = {
  document: 'src/guides/FILES.md',
  begins: "const { path } = await team.files.put('hello'",
  declared: TEAM,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const printed = await runPrinting(text, { team })

    assert.deepEqual(printed.flat(), [1, 5, 1])
  },
}

const nightly: Program = {
  document: 'src/guides/OPERATIONS.md',
  begins: "import { backupToFile } from 'rowstash/node'",
  declared: "declare const store: import('rowstash').Store; declare const directory: string",
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const printed = (await runPrinting(text, { store, directory: surroundings.folder })).flat()

    assert.deepEqual(printed.slice(1), [true, 0])
    assert(Number(printed[0]) > 0)
  },
}

export const GUIDE_PROGRAMS: readonly Program[] = [
  fromStash,
  resumed,
  retried,
  guarded,
  whoChanged,
  urlInCell,
  nightly,
]
