// A rich store in memory, with access to its ports, so that a test can damage its content.
import { MemoryLevel } from 'memory-level'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import type { KvPartition, KvStore, ObjectStore } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { fillRichly, RICH_SIZES } from './rich-store.js'

export type Opened = Readonly<{
  store: Store
  kv: KvStore
  acme: KvPartition
  objects: ObjectStore
  database: MemoryLevel<Uint8Array, Uint8Array>
  clock: TestClock
}>

export async function openRich(fills = true): Promise<Opened> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
    storeEncoding: 'view',
  })
  const [kv, objects, clock] = [await openLevelKv(database), memoryObjects(), testClock()]
  const store = await openStore({ ...RICH_SIZES, clock, kv, objects })
  onTestFinished(() => store.close())
  if (fills) await fillRichly(store, clock)
  return { store, kv, acme: kv.partition('acme'), objects, database, clock }
}

export type Entry = readonly [key: Uint8Array, value: Uint8Array]

export async function all(partition: KvPartition, space: number): Promise<Entry[]> {
  const range = { start: Uint8Array.of(space), limit: Uint8Array.of(space + 1), count: 10_000 }
  return partition.read((view) => view.scan(range))
}

export async function firstOf(partition: KvPartition, space: number): Promise<Entry> {
  const [found] = await all(partition, space)
  if (found === undefined) throw new Error(`No record in space ${space}`)
  return found
}

/** Replaces the bytes of an object. */
export async function replaceObject(
  objects: ObjectStore,
  id: string,
  change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | null,
): Promise<void> {
  const bytes = await objects.get(id)
  if (bytes === null) throw new Error('The object is not there')
  const changed = change(Uint8Array.from(bytes))
  await objects.delete([id])
  if (changed !== null) await objects.put(id, changed)
}
