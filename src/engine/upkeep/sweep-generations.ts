// The sweep of overwritten rows and of schemas that are out of use.
//
// Invariant: a retirement is marked as being dropped by a commit before anything that it names is deleted.
import { type Bytes, toHex } from '../../base/bytes.js'
import { decodeExtentPage } from '../../format/extent-page.js'
import {
  extentPagesRange,
  RETIREMENTS_RANGE,
  retirementKey,
  rowsRange,
  SCHEMAS_RANGE,
  schemaKey,
  type TableKey,
  tableOfKey,
} from '../../format/keys.js'
import {
  decodeRetirement,
  encodeRetirement,
  type Generation,
  type Retirement,
} from '../../format/records.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import { DELETE_COUNT, sweepRange } from '../commit/delete-records.js'
import { generationsOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { isRetained } from '../read/generations.js'

type Retired = Readonly<{ table: TableKey; bytes: Bytes; retirement: Retirement }>

/** Drops the generations that are past retention. @returns the number of dropped generations */
export async function sweepGenerations(
  context: StoreContext,
  partition: KvPartition,
): Promise<number> {
  const over = await partition.read((view) => findOver(context, view))
  if (over.length === 0) return 0
  const { isPinned } = await readInUse(context)
  const dropped = over.filter(({ retirement: { dropping, generation } }) => {
    return dropping || !isPinned(generation.nonce)
  })
  for (const retired of dropped) await dropGeneration(partition, retired)
  return dropped.length
}

/** Retired generations that are past retention. */
async function findOver({ options }: StoreContext, view: KvView): Promise<Retired[]> {
  const over: Retired[] = []
  const newer = new Map<string, { count: number; bytes: number }>()
  const all: Retired[] = []
  for await (const entries of scanBatches(view, RETIREMENTS_RANGE)) {
    for (const [key, bytes] of entries) {
      all.push({ table: tableOfKey(key), bytes, retirement: decodeRetirement(bytes) })
    }
  }
  const now = options.clock.now()
  for (const retired of all.reverse()) {
    const { table, retirement } = retired
    const name = table.join('.')
    const { count, bytes } = newer.get(name) ?? { count: 0, bytes: 0 }
    const total = bytes + (await segmentBytes(view, table, retirement.generation))
    newer.set(name, { count: count + 1, bytes: total })
    const isWithin =
      isRetained(retirement, count, options, now) && total <= options.overwrittenBytesMax
    if (retirement.dropping || !isWithin) over.push(retired)
  }
  return over
}

async function segmentBytes(
  view: KvView,
  table: TableKey,
  { firstExtent, nextExtent }: Generation,
): Promise<number> {
  let bytes = 0
  const pages = extentPagesRange(table, firstExtent, nextExtent)
  for await (const entries of scanBatches(view, pages)) {
    for (const [, page] of entries) {
      for (const { segment } of decodeExtentPage(page)) bytes += segment?.objectBytes ?? 0
    }
  }
  return bytes
}

async function dropGeneration(
  partition: KvPartition,
  { table, bytes, retirement }: Retired,
): Promise<void> {
  const { firstExtent, nextExtent } = retirement.generation
  const key = retirementKey(table, firstExtent)
  const marked = encodeRetirement({ ...retirement, dropping: true })
  const mark = { checks: [{ key, equals: bytes }], puts: [[key, marked] as const] }
  if (!(await partition.commit(mark)).ok) return // Another sweep is at it.
  await sweepRange(partition, rowsRange(table, { extent: firstExtent, slot: 0 }, nextExtent))
  await sweepRange(partition, extentPagesRange(table, firstExtent, nextExtent))
  await partition.commit({ checks: [{ key, equals: marked }], deletes: [key] })
}

/**
 * Deletes the schemas that neither their table nor a retired generation uses. Their numbers are not reused: the next
 * schema of a table gets the next number.
 */
export async function sweepSchemas(partition: KvPartition): Promise<void> {
  const unused = await partition.read(async (view) => {
    const used = await usedSchemas(view)
    const found: Bytes[] = []
    for await (const keys of scanKeys(view, SCHEMAS_RANGE)) {
      for (const key of keys) if (!used.has(toHex(key))) found.push(key)
    }
    return found
  })
  for (let i = 0; i < unused.length; i += DELETE_COUNT) {
    await partition.commit({ deletes: unused.slice(i, i + DELETE_COUNT) })
  }
}

async function usedSchemas(view: KvView): Promise<Set<string>> {
  const generations = await generationsOf(view)
  return new Set(
    generations.map(({ table, schemaNumber }) => toHex(schemaKey(table, schemaNumber))),
  )
}
