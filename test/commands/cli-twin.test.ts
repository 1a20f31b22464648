// Goal: a twin has the tables of a server, brings back exactly what was changed, and never over somebody else's change.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import type { CommandIo } from '../../adapters/programs/cli-command.js'
import { runTwin } from '../../adapters/programs/cli-twin.js'
import type { Table, Team } from '../../src/index.js'
import { createTestServer, type TestServer } from '../conformance/testing.js'
import { runOptions } from '../support/fast-check-options.js'

let folder: string
let server: TestServer
/** Called before the server does what it is asked for. */
let onOperation: (operation: string) => Promise<void>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-twin-'))
  onOperation = async () => undefined
  server = await createTestServer({
    handler: { rateLimit: ({ operation }) => onOperation(operation).then(() => undefined) },
  })
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** Runs the command. @returns what it printed. */
async function twin(...args: string[]): Promise<string[]> {
  const lines: string[] = []
  const io: CommandIo = {
    print: (line) => void lines.push(line),
    warn: (line) => void lines.push(line),
    env: { ROWSTASH_KEY: server.key },
    signal: new AbortController().signal,
  }
  const places = ['--upstream', server.url, '--directory', join(folder, 'twin')]
  await runTwin([...args, ...places], io, async () => undefined).catch((failure: Error) => {
    failure.message = [...lines, failure.message].join('\n')
    throw failure
  })
  return lines
}

function upstream(): Team {
  return server.store.team('test')
}

async function makeTable(rows: object[], name = 'Orders'): Promise<Table> {
  const { tableId } = await upstream().createTable({
    name,
    rows: rows as Record<string, unknown>[],
  })
  return upstream().table(tableId)
}

/** Works on the only table of the twin, as a program does that has opened the directory. */
async function inTwin<T>(
  use: (table: Table, team: Team) => Promise<T>,
  teamId = 'default',
): Promise<T> {
  const store = await openDirectory(join(folder, 'twin'))
  try {
    const team = store.team(teamId)
    const [info] = await team.tables()
    return await use(team.table(info?.id ?? ''), team)
  } finally {
    await store.close()
  }
}

async function cellsOf(table: Table): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...cells } of table.scan()) rows.push(cells)
  return rows
}

async function idsOf(table: Table): Promise<string[]> {
  const ids: string[] = []
  for await (const { $rowID } of table.scan()) ids.push($rowID)
  return ids
}

const changesAsked = () => {
  return server.requests
    .map(({ method, path }) => `${method} ${path.replace(/[\w-]{22,36}/g, '*')}`)
    .filter((line) => !/^(?:GET|HEAD)/.test(line))
}

describe('a pull', () => {
  test('copies all tables with their columns, and no table twice', async () => {
    const rows = [{ id: 1, note: 'x' }, { id: 2 }, {}]
    const orders = await makeTable(rows)
    await makeTable([], 'Empty')

    const first = await twin('pull')
    const again = await twin('pull')
    const schemas = await inTwin(async (_, team) =>
      (await team.tables()).map(({ schema }) => schema),
    )

    expect(first).toEqual([
      expect.stringMatching(/^Orders: 3 rows, table /),
      expect.stringMatching(/^Empty: 0 rows, table /),
    ])
    expect(again).toEqual(['Orders: unchanged', 'Empty: unchanged'])
    expect(await inTwin((table) => cellsOf(table))).toEqual(rows)
    expect(schemas).toEqual([await orders.schema(), { columns: [] }])
  })

  test('goes on in the only team that has tables, as a push does', async () => {
    const orders = await makeTable([{ id: 1 }])
    await twin('pull', '--team', 'shop')

    expect(await twin('pull')).toEqual([
      'Using the team "shop", the only one with tables',
      'Orders: unchanged',
    ])
    await inTwin((table) => table.addRows([{ id: 2 }]), 'shop')
    await twin('push', '--yes')
    expect(await cellsOf(orders)).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('takes what has changed upstream, and rows keep their IDs in the twin', async () => {
    const orders = await makeTable([{ id: 1 }, { id: 2 }, { id: 3 }])
    await twin('pull')
    const before = await inTwin(idsOf)
    const [first = '', second = ''] = await idsOf(orders)
    await orders.updateRow(first, { id: 10 })
    await orders.deleteRow(second)
    await orders.addRows([{ id: 4, more: 'x' }], { onSchemaError: 'updateSchema' })

    await twin('pull')

    expect(await inTwin(cellsOf)).toEqual([{ id: 10 }, { id: 3 }, { id: 4, more: 'x' }])
    expect((await inTwin(idsOf)).slice(0, 2)).toEqual([before[0], before[2]])
    expect(await twin('pull')).toEqual(['Orders: unchanged'])
  })

  test('keeps changes that were not pushed, unless they are given up', async () => {
    const orders = await makeTable([{ id: 1 }])
    await twin('pull')
    await inTwin((table) => table.addRows([{ id: 2 }]))
    await orders.addRows([{ id: 3 }])

    await expect(twin('pull')).rejects.toThrow(/1 rows of the table "Orders" were changed here/)
    expect(await inTwin(cellsOf)).toEqual([{ id: 1 }, { id: 2 }])
    await twin('pull', '--discard')
    expect(await inTwin(cellsOf)).toEqual([{ id: 1 }, { id: 3 }])
  })

  test('reads a table again that was changed while it was read, and gives up when it always is', async () => {
    const orders = await makeTable([{ id: 0 }, { id: 1 }])
    const [rowId = ''] = await idsOf(orders)
    let changes = 0
    let changesMax = 1
    onOperation = async (operation) => {
      if (operation !== 'GET /tables/{tableID}/rows' || changes === changesMax) return
      await orders.updateRow(rowId, { id: 100 + changes++ })
    }

    await twin('pull')
    expect(await inTwin(cellsOf)).toEqual([{ id: 100 }, { id: 1 }])
    changesMax = 10
    await orders.addRows([{ id: 2 }])
    await expect(twin('pull')).rejects.toThrow(/changed during each read, 3 in all/)
    expect(await inTwin(cellsOf)).toEqual([{ id: 100 }, { id: 1 }])
  })

  test('that failed is repeated, with the same table', async () => {
    await makeTable([{ id: 1 }])
    server.fail({ method: 'GET', path: /rows/, fault: { status: 400 } })
    await expect(twin('pull')).rejects.toThrow()
    await expect(twin('push', '--yes')).rejects.toThrow(
      /The last pull of the table "Orders" was not completed/,
    )

    await twin('pull')

    expect(await inTwin(async (_, team) => (await team.tables()).length)).toBe(1)
    expect(await inTwin(cellsOf)).toEqual([{ id: 1 }])
  })

  test('refuses a number whose digits JSON would lose', async () => {
    await makeTable([{ big: 9007199254740993n }])

    await expect(twin('pull')).rejects.toThrow(/Row [\w-]{22}, column big: .* too large for a twin/)
  })
})

describe('a push', () => {
  test('sends what was changed, and nothing else', async () => {
    const orders = await makeTable([{ id: 1, note: 'a' }, { id: 2 }, { id: 3 }, { id: 4 }])
    await twin('pull')
    const kept = await idsOf(orders)
    await inTwin(async (table) => {
      const [first = '', second = ''] = await idsOf(table)
      await table.updateRow(first, { note: null, id: 11 })
      await table.deleteRow(second)
      await table.addRows([{ id: 5 }, { id: 6 }])
    })
    const before = changesAsked().length

    const lines = await twin('push', '--yes')

    expect(lines).toEqual(['Orders: 1 rows changed, 2 added, 1 deleted', '4 rows pushed'])
    expect(await cellsOf(orders)).toEqual([{ id: 11 }, { id: 3 }, { id: 4 }, { id: 5 }, { id: 6 }])
    expect((await idsOf(orders)).slice(0, 3)).toEqual([kept[0], kept[2], kept[3]])
    expect(changesAsked().slice(before)).toEqual([
      'PATCH /tables/*/rows/*',
      'DELETE /tables/*/rows/*',
      'POST /tables/*/rows',
    ])
    expect(server.requests.findLast(({ method }) => method === 'PATCH')?.headers['if-match']).toBe(
      '"1"',
    )
    expect(await twin('push', '--yes')).toEqual(['Nothing to push'])
    expect(await twin('pull')).toEqual(['Orders: unchanged'])
  })

  test('asks first, and tells how many rows it would update', async () => {
    const orders = await makeTable([{ id: 1 }])
    await twin('pull')
    await inTwin((table) => table.addRows([{ id: 2 }]))

    await expect(twin('push')).rejects.toThrow(
      'Orders: 0 rows changed, 1 added, 0 deleted\n1 rows would be updated upstream; add --yes',
    )
    expect(await cellsOf(orders)).toEqual([{ id: 1 }])
  })

  test('is refused if the table has changed upstream, and forced only on request', async () => {
    const orders = await makeTable([{ id: 1 }, { id: 2 }])
    await twin('pull')
    const [first = '', second = ''] = await idsOf(orders)
    await inTwin(async (table) => table.updateRow((await idsOf(table))[0] ?? '', { id: 10 }))
    await orders.updateRow(first, { id: 7 })
    await orders.updateRow(second, { id: 8 })

    await expect(twin('push', '--yes')).rejects.toThrow(
      /has changed upstream since it was pulled: version 3, not 1; pull with --discard .* --force/,
    )
    expect(await cellsOf(orders)).toEqual([{ id: 7 }, { id: 8 }])
    await twin('push', '--yes', '--force')
    expect(await cellsOf(orders)).toEqual([{ id: 10 }, { id: 8 }])
  })

  test('that meets a change of somebody else stops, and does not repeat what it has done', async () => {
    const orders = await makeTable(Array.from({ length: 5 }, (_, id) => ({ id })))
    await twin('pull')
    await inTwin(async (table) => {
      for (const rowId of await idsOf(table)) await table.updateRow(rowId, { id: 50 })
    })
    server.fail({ method: 'PATCH', after: 2, fault: { status: 412, type: 'precondition_failed' } })

    await expect(twin('push', '--yes')).rejects.toThrow(/was changed upstream during the push/)
    expect(await cellsOf(orders)).toEqual([{ id: 50 }, { id: 50 }, { id: 2 }, { id: 3 }, { id: 4 }])
    expect(await twin('push', '--yes')).toEqual([
      'Orders: 3 rows changed, 0 added, 0 deleted',
      '3 rows pushed',
    ])
  })

  test('changes no row that somebody else changes meanwhile, and the next pull has what they did', async () => {
    const orders = await makeTable(Array.from({ length: 4 }, (_, id) => ({ id })))
    await twin('pull')
    const [, second = '', third = '', fourth = ''] = await idsOf(orders)
    await inTwin(async (table) => {
      const ids = await idsOf(table)
      await table.updateRow(ids[0] ?? '', { id: 50 })
      await table.updateRow(ids[1] ?? '', { id: 51 })
      await table.deleteRow(ids[2] ?? '')
    })
    let isFirst = true
    onOperation = async (operation) => {
      if (!operation.startsWith('PATCH') || !isFirst) return
      isFirst = false
      for (const rowId of [second, third, fourth]) await orders.updateRow(rowId, { id: 90 })
    }

    const changed = /version of the row|was changed upstream during the push/
    await expect(twin('push', '--yes')).rejects.toThrow(changed)
    await expect(twin('push', '--yes')).rejects.toThrow(changed)
    expect(await cellsOf(orders)).toEqual([{ id: 50 }, { id: 90 }, { id: 90 }, { id: 90 }])
    await twin('pull', '--discard')
    expect(await inTwin(cellsOf)).toEqual(await cellsOf(orders))
  })

  test('deletes no row that somebody else changes meanwhile', async () => {
    const orders = await makeTable([{ id: 0 }, { id: 1 }, { id: 2 }])
    await twin('pull')
    const [, second = '', third = ''] = await idsOf(orders)
    await inTwin(async (table) => {
      const ids = await idsOf(table)
      await table.updateRow(ids[0] ?? '', { id: 50 })
      await table.deleteRow(ids[1] ?? '')
    })
    onOperation = async (operation) => {
      if (!operation.startsWith('PATCH')) return
      for (const rowId of [second, third]) await orders.updateRow(rowId, { id: 90 })
    }

    await expect(twin('push', '--yes')).rejects.toThrow(/was changed upstream during the push/)
    expect(await cellsOf(orders)).toEqual([{ id: 50 }, { id: 90 }, { id: 90 }])
  })

  test('after which a pull reads what others changed meanwhile', async () => {
    const orders = await makeTable([{ id: 0 }, { id: 1 }])
    await twin('pull')
    const [, second = ''] = await idsOf(orders)
    await inTwin(async (table) => table.updateRow((await idsOf(table))[0] ?? '', { id: 50 }))
    onOperation = async (operation) => {
      if (operation.startsWith('PATCH')) await orders.updateRow(second, { id: 90 })
    }
    expect(await twin('push', '--yes')).toContain('1 rows pushed')
    await twin('pull')

    expect(await inTwin(cellsOf)).toEqual([{ id: 50 }, { id: 90 }])
    expect(await twin('pull')).toEqual(['Orders: unchanged'])
  })

  test('adds no row twice when the answer to an add is lost', async () => {
    const orders = await makeTable([{ id: 1 }])
    await twin('pull')
    await inTwin((table) => table.addRows([{ id: 2 }]))
    server.fail({ method: 'POST', path: /rows/, fault: { cut: 'answer' } })

    await expect(twin('push', '--yes')).rejects.toThrow(
      /added 1 rows.*whether it took effect is unknown/,
    )
    await expect(twin('push', '--yes')).rejects.toThrow(
      /maybe by this twin: the last push ended while it added 1 rows/,
    )
    expect(await cellsOf(orders)).toEqual([{ id: 1 }, { id: 2 }])
    await twin('pull', '--discard')
    expect(await inTwin(cellsOf)).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('finds what was changed whatever the order of the rows is', async () => {
    const orders = await makeTable(Array.from({ length: 40 }, (_, id) => ({ id })))
    await twin('pull')
    await inTwin(async (table) => {
      const rows: Record<string, unknown>[] = []
      for await (const row of table.scan()) rows.unshift(row)
      await table.overwrite({ rows: [{ id: 100 }, ...rows.slice(3)] })
    })

    expect(await twin('push', '--yes')).toEqual([
      'Orders: 0 rows changed, 1 added, 3 deleted',
      '4 rows pushed',
    ])
    expect((await cellsOf(orders)).length).toBe(38)
  })
})

test('after any changes on both sides in turn, both have the same rows', async () => {
  const orders = await makeTable([{ id: 0 }, { id: 1 }, { id: 2 }])
  await twin('pull')
  let ids = 3
  const change = fc.record({
    of: fc.constantFrom('twin', 'upstream'),
    what: fc.nat(2),
    at: fc.nat(9),
  })
  async function apply(table: Table, what: number, at: number): Promise<void> {
    const rows = await idsOf(table)
    const rowId = rows[at % Math.max(rows.length, 1)] ?? ''
    if (what === 0 || rows.length === 0) await table.addRows([{ id: ids++ }])
    else if (what === 1) await table.updateRow(rowId, { id: ids++ })
    else await table.deleteRow(rowId)
  }
  const sorted = async (table: Table) =>
    (await cellsOf(table)).map((row) => (row as { id: number }).id).sort()
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      for (const { what, at } of changes.filter(({ of }) => of === 'twin')) {
        await inTwin((table) => apply(table, what, at))
      }
      await twin('push', '--yes')
      for (const { what, at } of changes.filter(({ of }) => of === 'upstream')) {
        await apply(orders, what, at)
      }
      await twin('pull')
      expect(await inTwin(sorted)).toEqual(await sorted(orders))
    }),
    runOptions(15),
  )
})

test.each([
  [[], 'Specify pull or push'],
  [['sync'], 'Specify pull or push'],
  [['pull', '--force'], '--force cannot be combined with pull'],
  [['push', '--discard'], '--discard cannot be combined with push'],
  [['pull', '--table', 'Nope'], 'There is no table "Nope"'],
  [['push'], 'There is no store in'],
])('twin %j is refused', async (args, message) => {
  await expect(twin(...args)).rejects.toThrow(message)
})
