// Goal: each limit of a team refuses one item more, changes nothing then, is the same after a restart and after a
// garbage collection, and does not affect other teams.
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { heldKey } from '../../src/engine/commit/idempotency.js'
import { createContract, openMemory, type Store, type StoreOptions } from '../../src/index.js'

const HOUR_MS = 3_600_000

const exceeded = (limit: string) => ({
  code: 'LIMIT_EXCEEDED',
  message: expect.stringContaining(limit),
})

/** A store in a directory; `reopen` opens it again. */
async function openAgain(options: StoreOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-limits-'))
  let now = Date.now()
  const open = () =>
    openDirectory(join(folder, 'a'), { maintenance: false, clock: { now: () => now }, ...options })
  let store: Store = await open()
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    team: (id = 'first') => store.team(id),
    maintain: () => store.maintain(),
    pass(milliseconds: number) {
      now += milliseconds
    },
    async reopen() {
      await store.close()
      store = await open()
    },
  }
}

describe('tables', () => {
  test('one more than tablesMax is refused, also by an import and a job, and after a restart', async () => {
    const { team, reopen } = await openAgain({ tablesMax: 2 })
    const create = (id?: string) => team(id).createTable({ name: 'T', rows: [{ n: 1 }] })
    const { tableId } = await create()
    await create()
    await reopen()

    await expect(create()).rejects.toMatchObject(exceeded('2 tables (tablesMax)'))

    const job = await team().startJob({ create: { name: 'U', rows: [] } })
    expect(await job.wait()).toMatchObject({ status: 'failed', error: { code: 'LIMIT_EXCEEDED' } })
    expect((await team().tables()).length).toBe(2)
    expect((await create('second')).version).toBe(1)
    expect(
      (
        await team()
          .table(tableId)
          .addRows([{ n: 2 }])
      ).version,
    ).toBe(2)
  })

  test('names beyond tableNamesBytesMax are refused, of creates and renames, until a table is deleted', async () => {
    const { team, reopen } = await openAgain({ tablesMax: 100, tableNamesBytesMax: 1_000 })
    const create = (name: string, id?: string) => team(id).createTable({ name, rows: [] })
    const first = await create('é'.repeat(200))
    const { tableId } = await create('b'.repeat(500))
    await reopen()

    const refusal = exceeded('(tableNamesBytesMax)')
    await expect(create('c'.repeat(101))).rejects.toMatchObject(refusal)
    await expect(team().table(tableId).rename('b'.repeat(601))).rejects.toMatchObject(refusal)
    expect((await create('c'.repeat(10))).version).toBe(1) // no longer than the share of a table
    expect((await create('c'.repeat(101), 'second')).version).toBe(1)
    expect((await team().table(tableId).rename('d')).version).toBe(2)
    await create('c'.repeat(500))
    await expect(create('c'.repeat(101))).rejects.toMatchObject(refusal)

    await team().table(first.tableId).delete()
    expect((await create('c'.repeat(400))).version).toBe(1)
    await expect(create('c'.repeat(101))).rejects.toMatchObject(refusal)
  })

  test('creates at the same time do not pass together', async () => {
    const store = await openMemory({ tablesMax: 3 })
    onTestFinished(() => store.close())
    const creates = Array.from({ length: 10 }, () =>
      store.team('first').createTable({ name: 'T', rows: [] }),
    )

    const settled = await Promise.allSettled(creates)

    expect(settled.filter(({ status }) => status === 'fulfilled').length).toBe(3)
    expect((await store.team('first').tables()).length).toBe(3)
  })

  test('a repeat of a create is answered at the limit', async () => {
    const store = await openMemory({ tablesMax: 1 })
    onTestFinished(() => store.close())
    const create = () =>
      store.team('first').createTable({ name: 'T', rows: [{ n: 1 }], idempotencyKey: 'k' })

    const first = await create()

    expect((await create()).tableId).toBe(first.tableId)
  })
})

describe('stashes', () => {
  test('one more than stashesMax is refused; chunks of others, and stashes of other teams, are not', async () => {
    const { team, reopen } = await openAgain({ stashesMax: 2 })
    const put = (stash: string, serial: string, id?: string) =>
      team(id)
        .stash(stash)
        .put(serial, [{ n: 1 }])
    await put('a', '0')
    await put('b', '0')
    for (const restart of [false, true]) {
      if (restart) await reopen()
      await expect(put('c', '0')).rejects.toMatchObject(exceeded('2 stashes (stashesMax)'))
      await put('b', '1')
      await put('c', '0', 'second')
    }
    await expect(team().createTable({ name: 'T', rows: team().stash('c') })).rejects.toMatchObject({
      code: 'STASH_NOT_FOUND',
    })

    await team().stash('a').delete()

    await put('c', '0')
    await expect(put('a', '0')).rejects.toMatchObject(exceeded('stashesMax'))
  })

  test('an expired stash does not count, and neither does a chunk that was refused', async () => {
    const { team, maintain, pass } = await openAgain({ stashesMax: 1, stashTtlMs: HOUR_MS })
    await expect(
      team()
        .stash('x')
        .put('0', { json: Buffer.from('[nonsense') }),
    ).rejects.toThrow()
    await team()
      .stash('a')
      .put('0', [{ n: 1 }])
    await maintain()
    await expect(team().stash('b').put('0', [])).rejects.toMatchObject(exceeded('stashesMax'))
    pass(2 * HOUR_MS)
    await maintain()

    await team().stash('b').put('0', [])
  })

  test('bytes beyond stashBytesMax are refused until a stash is deleted', async () => {
    const { team, reopen } = await openAgain({ stashBytesMax: 10_000, compression: 'none' })
    const put = (stash: string, serial: string, bytes = 4_000) =>
      team()
        .stash(stash)
        .put(serial, [{ text: 'x'.repeat(bytes) }])
    await put('a', '0')
    await put('b', '0')
    for (const restart of [false, true]) {
      if (restart) await reopen()
      await expect(put('b', '1')).rejects.toMatchObject(exceeded('(stashBytesMax)'))
      await put('b', '0') // It replaces as many bytes.
    }
    await put('a', '0', 100)
    await put('b', '1')
    await expect(put('b', '2')).rejects.toMatchObject(exceeded('(stashBytesMax)'))

    await team().stash('b').delete()

    await put('c', '0')
    await team('second')
      .stash('a')
      .put('0', [{ text: 'x'.repeat(4_000) }])
  })
})

test('rows beyond teamRowBytesMax are refused until a garbage collection has dropped overwritten ones', async () => {
  const limits = {
    teamRowBytesMax: 250_000,
    compression: 'none',
    overwrittenRowSetsMax: 0,
  } as const
  const { team, reopen, maintain } = await openAgain({ ...limits, inlineRowsMax: 0 })
  const rows = [{ text: 'x'.repeat(100_000) }]
  const { tableId } = await team().createTable({ name: 'T', rows })
  const table = () => team().table(tableId)
  await table().addRows(rows)
  for (const restart of [false, true]) {
    if (restart) await reopen()
    const refused = exceeded('(teamRowBytesMax)')
    await expect(table().addRows(rows)).rejects.toMatchObject(refused)
    await expect(table().overwrite({ rows })).rejects.toMatchObject(refused)
    await expect(team().createTable({ name: 'U', rows })).rejects.toMatchObject(refused)
    await team('second').createTable({ name: 'U', rows })
  }
  expect([await table().version(), (await team().tables()).length]).toEqual([2, 1])

  await table().overwrite({ rows: [] })
  await maintain()
  await maintain()

  await table().overwrite({ rows })
  expect((await table().page()).rows.length).toBe(1)
})

test('history, receipts and jobs count for teamRowBytesMax', async () => {
  const text = 'x'.repeat(60_000)
  const columns = Array.from({ length: 1_000 }, (_, n) => {
    return { id: `${text.slice(0, 60)}${n}`, type: 'string' as const }
  })
  const limits = { teamRowBytesMax: 250_000, historyRetentionMs: HOUR_MS, jobTtlMs: HOUR_MS }
  for (const kept of ['history', 'receipts', 'jobs']) {
    const { team, reopen, pass, maintain } = await openAgain(limits)
    const { tableId, rowIds } = await team().createTable({ name: 'T', rows: [{ text }] })
    const add = () => team().table(tableId).addRows([{ text }])
    const overwrite = { tableId, rows: [{ text: 'a' }] }
    for (let n = 0; n < 4; n++) {
      if (kept === 'history') {
        const row = rowIds.at(0) ?? ''
        await team()
          .table(tableId)
          .updateRow(row, { text: text + n })
      } else if (kept === 'receipts') {
        await team().createTable({ name: 'U', schema: { columns }, rows: [], receipt: true })
      } else {
        const started = team().startJob({ overwrite, note: text })
        if (n < 3) await (await started).wait()
        else await expect(started).rejects.toMatchObject(exceeded('(teamRowBytesMax)'))
      }
    }
    await maintain()
    await expect(add()).rejects.toMatchObject(exceeded('(teamRowBytesMax)'))
    await reopen()
    await expect(add()).rejects.toMatchObject(exceeded('(teamRowBytesMax)'))
    if (kept === 'receipts') continue
    pass(2 * HOUR_MS)
    await maintain()
    expect((await add()).rowIds.length).toBe(1)
  }
})

test('keys beyond idempotencyKeysMax are refused until some have expired; repeats are not', async () => {
  const { team, reopen, pass, maintain } = await openAgain({
    idempotencyKeysMax: 2,
    idempotencyTtlMs: HOUR_MS,
  })
  const { tableId } = await team().createTable({ name: 'T', rows: [{ n: 1 }], idempotencyKey: 'a' })
  const add = (idempotencyKey?: string) =>
    team()
      .table(tableId)
      .addRows([{ n: 1 }], idempotencyKey === undefined ? {} : { idempotencyKey })
  await add('b')
  for (const restart of [false, true]) {
    if (restart) await reopen()
    await expect(add('c')).rejects.toMatchObject(
      exceeded('2 idempotency keys (idempotencyKeysMax)'),
    )
    const create = { name: 'U', rows: [], idempotencyKey: 'c' }
    await expect(team().createTable(create)).rejects.toMatchObject(exceeded('idempotencyKeysMax'))
    expect((await add('b')).version).toBe(2)
  }
  expect(await team().table(tableId).version()).toBe(2)
  expect((await add()).version).toBe(3)
  pass(2 * HOUR_MS)
  await maintain()

  expect((await add('c')).version).toBe(4)
})

test('a holder leaves as much room for idempotency keys as it takes, also after a restart', async () => {
  const { team, reopen } = await openAgain({ idempotencyKeysMax: 8 })
  const { tableId } = await team().createTable({ name: 'T', rows: [] })
  const add = (n: number, idempotencyKey: string) =>
    team().table(tableId).addRows([{ n }], { idempotencyKey, onSchemaError: 'updateSchema' })
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const keep = (holder: string, n: number) =>
    add(n, heldKey(digest(holder), digest(`${holder} ${n}`)))
  for (const n of [1, 2, 3, 4]) await keep('one', n)
  for (const restart of [false, true]) {
    if (restart) await reopen()
    await expect(keep('one', 5)).rejects.toMatchObject(
      exceeded('4 idempotency keys, and must leave as many of 8 free (idempotencyKeysMax)'),
    )
    await keep('one', 1) // a repeat
  }
  await keep('two', 1)
  await keep('two', 2)
  await expect(keep('two', 3)).rejects.toMatchObject(exceeded('2 idempotency keys'))
  await add(6, 'of the team')
  expect(await team().table(tableId).count()).toBe(7)
})

test('over HTTP it is 403 limit_exceeded, and a client of another team goes on', async () => {
  const store = await openMemory({ stashesMax: 1 })
  onTestFinished(() => store.close())
  const keys = ['first', 'second'].map((teamId) => ({ key: `a-key-of-the-${teamId}-team`, teamId }))
  const contract = createContract(store, { keys })
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('[]')
  }
  const put = (stash: string, at: number) =>
    contract.handle({
      method: 'PUT',
      path: `/stashes/${stash}/0`,
      query: '',
      headers: [
        ['authorization', `Bearer ${keys[at]?.key}`],
        ['content-type', 'application/json'],
      ],
      body: body(),
    })
  expect((await put('a', 0)).status).toBe(200)

  const [refused, beside] = await Promise.all([put('b', 0), put('b', 1)])

  expect(beside.status).toBe(200)
  expect([refused.status, JSON.parse(String(refused.body))]).toEqual([
    403,
    {
      error: {
        type: 'limit_exceeded',
        message:
          'The team has 1 stashes (stashesMax), which is its limit: delete those that are no longer needed',
      },
    },
  ])
})
