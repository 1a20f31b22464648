// Goal: a walk of pages sees the rows of one generation, each once and in order, whatever happens meanwhile.
// Method: readers page through a table at their own pace while it is overwritten repeatedly. Each row contains its
// generation and its place.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import type { RowsInput, Store, StoreOptions, Table, Team } from '../../../src/index.js'
import { isStoreError, openMemory } from '../../../src/index.js'
import { runs } from '../../support/runs.js'
import { seededNumbers } from '../model/seeded.js'

const OVERWRITES = runs(50)
const READERS = 6
/** Fewest walks that must have continued after their rows were overwritten. */
const SPANNING_WALKS_MIN = Math.min(30, OVERWRITES)

const OPTIONS: StoreOptions = {
  maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
  segmentRowsMax: 16,
  inlineRowsMax: 8,
  // A walk is slow compared with an overwrite here, and this test checks what it reads, not how long it may take.
  overwrittenRowSetsMax: 100,
}

/** Some generations are a few row records, others many segments. */
function rowCountOf(generation: number): number {
  return 5 + ((generation * 37) % 90)
}

function rowsOf(generation: number): Record<string, unknown>[] {
  return Array.from({ length: rowCountOf(generation) }, (_, index) => ({ generation, index }))
}

type Walks = { ended: number; spanning: number }

/** Overwrites alternately from a body and a stash; then adds, changes and deletes, which no walk may miss. */
async function write(team: Team, table: Table): Promise<void> {
  for (let generation = 1; generation <= OVERWRITES; generation++) {
    const rows = rowsOf(generation)
    let input: RowsInput | ReturnType<Team['stash']> = rows
    if (generation % 3 === 0) {
      const stash = team.stash(`g${generation}`)
      await Promise.all([
        stash.put('10', rows.slice(7)),
        stash.put('9', { json: JSON.stringify(rows.slice(0, 7)) }),
      ])
      input = stash
    }
    const { rowIds } = await table.overwrite({ rows: input })
    await table.updateRow(rowIds.at(0) ?? '', { changed: true })
    await turns(10)
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done))
}

/** Walks until the writer is done. Each walk is checked when it ends. */
async function read(table: Table, seed: number, isDone: () => boolean): Promise<Walks> {
  const next = seededNumbers(seed)
  const walks: Walks = { ended: 0, spanning: 0 }
  while (!isDone()) {
    const generations: number[] = []
    const indexes: unknown[] = []
    const versions: number[] = []
    let spans = false
    let continuation: string | undefined
    do {
      // An overwrite and an update for each generation: the version tells which one is current.
      spans ||=
        continuation !== undefined && (await table.version()) / 2 >= (generations[0] ?? 0) + 1
      const page = await table.page({
        limit: 1 + Math.floor(next() * 9),
        ...(continuation !== undefined && { continuation }),
      })
      for (const row of page.rows) {
        generations.push(Number(row['generation']))
        indexes.push(row['index'])
      }
      versions.push(page.version)
      continuation = page.continuation
      await turns(Math.floor(next() * 4))
    } while (continuation !== undefined)
    const [generation] = generations
    expect(new Set(generations)).toEqual(new Set([generation]))
    expect(indexes).toEqual(Array.from({ length: rowCountOf(generation ?? 0) }, (_, i) => i))
    expect(versions).toEqual([...versions].sort((left, right) => left - right))
    walks.ended++
    if (spans) walks.spanning++
  }
  return walks
}

async function checkWalks(store: Store): Promise<void> {
  const team = store.team('acme')
  const schema = {
    columns: [
      { id: 'generation', type: 'number' },
      { id: 'index', type: 'number' },
      { id: 'changed', type: 'boolean' },
    ],
  } as const
  const { tableId } = await team.createTable({ name: 'walked', schema, rows: rowsOf(0) })
  const table = team.table(tableId)
  let done = false
  const readers = Array.from({ length: READERS }, (_, seed) => read(table, seed, () => done))
  const writing = write(team, table).finally(() => {
    done = true
  })
  const [walks] = await Promise.all([Promise.all(readers), writing])

  const spanning = walks.reduce((sum, { spanning }) => sum + spanning, 0)
  expect(await table.version()).toBe(1 + 2 * OVERWRITES)
  expect(spanning).toBeGreaterThanOrEqual(SPANNING_WALKS_MIN)
}

test('walks of a store in memory see one generation each, while it is overwritten', async () => {
  const store = await openMemory(OPTIONS)
  onTestFinished(() => store.close())

  await checkWalks(store)
})

test('walks of a store in a directory see one generation each, while it is overwritten', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-walks-'))
  const store = await openDirectory(join(directory, 'store'), OPTIONS)
  onTestFinished(async () => {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  })

  await checkWalks(store)
})

test('a walk that began too many overwrites ago is refused, and says so', async () => {
  const store = await openMemory({ ...OPTIONS, overwrittenRowSetsMax: 2 })
  onTestFinished(() => store.close())
  const team = store.team('acme')
  const { tableId } = await team.createTable({ name: 'walked', rows: rowsOf(0) })
  const table = team.table(tableId)
  const { continuation = '' } = await table.page({ limit: 2 })
  for (const generation of [1, 2]) await table.overwrite({ rows: rowsOf(generation) })

  const { rows } = await table.page({ limit: 2, continuation })
  expect(rows.map(({ index }) => index)).toEqual([2, 3])

  await table.overwrite({ rows: rowsOf(3) })
  const refused = await table.page({ continuation }).catch((failure: unknown) => failure)
  expect(isStoreError(refused) && refused.code).toBe('CONTINUATION_INVALID')
})
