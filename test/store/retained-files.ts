// Stores on the same ports, and files whose retention a test checks.
import { MemoryLevel } from 'memory-level'
import { onTestFinished } from 'vitest'
import type {
  ColumnKind,
  ColumnType,
  Store,
  StoredFile,
  StoreOptions,
  Table,
  Team,
} from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import type { KvStore, ObjectStore } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { Hooks, hookedKv, hookedObjects } from './hooked-ports.js'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** See FORMAT.md, section 3. */
export const SPACE = Object.freeze({ extentPage: 0x05, row: 0x06, chunk: 0x09, file: 0x0d })

export type Opened = Readonly<{ store: Store; team: Team; hooks: Hooks }>

export type World = Opened &
  Readonly<{
    clock: TestClock
    kv: KvStore
    objects: ObjectStore
    /** Opens the store once more. */
    open(options?: StoreOptions): Promise<Opened>
    file(name?: string): Promise<StoredFile>
    isThere(file: StoredFile): Promise<boolean>
    /** Lets a file grow old enough for deletion, and collects garbage. */
    outlive(): Promise<void>
    maintain(): Promise<void>
    create(rows: readonly object[], kind?: ColumnType | ColumnKind): Promise<Table>
  }>

export const RETENTION_MS = 24 * HOUR_MS

export async function openWorld(options: StoreOptions = {}, shared = false): Promise<World> {
  const clock = testClock()
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const kv = await openLevelKv(database)
  const objects = memoryObjects()
  onTestFinished(async () => {
    await kv.close()
    await objects.close()
  })
  const base: StoreOptions = {
    maintenance: false,
    fileRetentionMs: RETENTION_MS,
    stashTtlMs: 30 * DAY_MS,
    orphanGraceMs: 0,
    clock,
    ...options,
  }
  const open = async (more: StoreOptions = {}): Promise<Opened> => {
    const hooks = new Hooks()
    const ports = { kv: hookedKv(kv, hooks, shared), objects: hookedObjects(objects, hooks) }
    const store = await openStore({ ...base, ...more, ...ports })
    onTestFinished(() => store.close())
    return { store, team: store.team('acme'), hooks }
  }
  const first = await open()
  const maintain = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await first.store.maintain() // Each deletes what the previous one released.
  }
  return {
    ...first,
    clock,
    kv,
    objects,
    open,
    file: (fileName = 'a.txt') =>
      first.team.files.put(`bytes of ${fileName}`, { fileName, contentType: 'text/plain' }),
    isThere: async (file) => (await first.store.files.open(file.id)) !== null,
    maintain,
    async outlive() {
      clock.pass(RETENTION_MS + 1)
      await maintain()
    },
    async create(rows, kind = 'string') {
      const schema = {
        columns: [
          { id: 'n', type: 'number' as const },
          { id: 'f', type: kind },
        ],
      }
      const { tableId } = await first.team.createTable({
        name: 'x',
        schema,
        rows: rows as Record<string, unknown>[],
      })
      return first.team.table(tableId)
    },
  }
}

export function urlOf({ path }: StoredFile): string {
  return `https://api.example/v2/${path}`
}

export async function rowIdAt(table: Table, index: number): Promise<string> {
  const { rows } = await table.page()
  const row = rows[index]
  if (row === undefined) throw new Error(`There is no row ${index}`)
  return row.$rowID
}
