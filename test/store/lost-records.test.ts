// A store that has lost a record reports it when the record is needed, and never returns an incomplete result.
import { expect, test } from 'vitest'
import { decodeExtentPage, encodeExtentPage } from '../../src/format/extent-page.js'
import * as keys from '../../src/format/keys.js'
import * as records from '../../src/format/records.js'
import { isStoreError, openStore, type Store, type Team } from '../../src/index.js'
import { all, type Opened, openRich } from '../support/rich-database.js'
import { RICH_SIZES } from '../support/rich-store.js'

type Damage = (opened: Opened) => Promise<void>

function without(space: keyof typeof keys.KEY_SPACE): Damage {
  return async ({ acme }) => {
    const found = await all(acme, keys.KEY_SPACE[space])
    await acme.commit({ deletes: found.map(([key]) => key) })
  }
}

const withoutEntries: Damage = async ({ acme }) => {
  const pages = await all(acme, keys.KEY_SPACE.extentPage)
  await acme.commit({
    puts: pages.map(([key, page]) => [key, encodeExtentPage(decodeExtentPage(page).slice(0, 0))]),
  })
}

const withoutForward: Damage = async ({ acme, objects }) => {
  for (const [, head] of await all(acme, keys.KEY_SPACE.tableHead)) {
    const { forward } = records.decodeTableHead(head).generation
    if (forward !== null) await objects.delete([forward.object])
  }
}

/** A store on the same ports, with nothing in memory. */
async function reopened({ kv, objects, clock }: Opened): Promise<Store> {
  return await openStore({ ...RICH_SIZES, kv, objects, clock, cacheBytesMax: 0 })
}

async function tableOf(team: Team, name: string) {
  const found = (await team.tableNames()).find((entry) => entry.name === name)
  return team.table(found?.id ?? '')
}

/** The result of each read: `rows` for the rows that existed before, or the code of its failure. */
async function readAll(team: Team, rowId: string): Promise<Record<string, unknown>> {
  const [people, kept] = [await tableOf(team, 'people'), await tableOf(team, 'kept')]
  const tried = (run: () => Promise<unknown>): Promise<unknown> =>
    run().catch((failure: unknown) => (isStoreError(failure) ? failure.code : failure))
  return {
    page: await tried(async () => (await people.page()).rows.length),
    keptPage: await tried(async () => (await kept.page()).rows.length),
    get: await tried(async () => (await people.get(rowId))?.row['n']),
    update: await tried(async () => (await people.updateRow(rowId, { n: 1 })).version > 0),
    finalize: await tried(async () => {
      await people.addRows(team.stash('import'))
      return 'rows'
    }),
  }
}

const GOOD = { page: 130, keptPage: 52, get: 50, update: true, finalize: 'rows' }

test.each([
  ['nothing', async () => undefined, {}],
  ['extent pages', without('extentPage'), { page: 0, keptPage: 0, get: 0, update: 0, finalize: 0 }],
  ['entries of extents', withoutEntries, { page: 0, keptPage: 0, get: 0, update: 0, finalize: 0 }],
  ['schemas', without('schema'), { update: 0, finalize: 0 }],
  ['row records', without('row'), { page: 0, keptPage: 0 }],
  ['lists of columns', without('columnList'), { finalize: 0 }],
  ['forward objects', withoutForward, { keptPage: 0 }],
] as const)(
  'a store that lost %s fails the operations that need them, and no others',
  async (_, damage, failing) => {
    const opened = await openRich()
    const people = await tableOf(opened.store.team('acme'), 'people')
    const { rows } = await people.page()
    const rowId = rows.find(({ n }) => n === 50)?.$rowID ?? ''
    await damage(opened)

    const store = await reopened(opened)

    const found = await readAll(store.team('acme'), rowId)
    const corrupt = Object.fromEntries(Object.keys(failing).map((what) => [what, 'DATA_CORRUPT']))
    expect(found).toEqual({ ...GOOD, ...corrupt })
  },
)
