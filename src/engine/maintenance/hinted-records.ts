// The records that a step of a garbage collection examines: all records of a range, or only the records that hints
// name.
import type { Awaitable } from '../../base/awaitable.js'
import { inBatches } from '../../base/batches.js'
import type { Bytes } from '../../base/bytes.js'
import type { Hint, HintKind } from '../../format/work-records.js'
import type { KeyRange, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { Visit } from './team-visits.js'

/** Maximum number of records that one query reads by their keys. */
const READ_COUNT = 500

type Entry = [key: Bytes, value: Bytes]

/** Names to examine; null: everything is examined. */
export type Names = readonly Bytes[] | null

export function hintedNames({ isFull, about }: Visit, kind: HintKind): Names {
  return isFull ? null : about(kind)
}

/** The records of a range in batches: all records, or only the records with the given keys. */
export async function* scanHintedRecords(
  view: KvView,
  range: KeyRange,
  keys: readonly Bytes[] | null,
): AsyncGenerator<Entry[], void> {
  if (keys === null) {
    yield* scanBatches(view, range)
    return
  }
  for (const some of inBatches(keys, READ_COUNT)) {
    const values = await view.getMany(some)
    yield some.flatMap((key, at): Entry[] => {
      const value = values[at] ?? null
      return value === null ? [] : [[key, value]]
    })
  }
}

/**
 * Later hints for the records that hints named and that still exist, because they were examined too early.
 * @param dueOf - When to examine the record again.
 */
export async function laterHints(
  { partition, about }: Visit,
  kind: HintKind,
  keyOf: (name: Bytes) => Bytes,
  dueOf: (record: Bytes, view: KvView) => Awaitable<number>,
): Promise<Hint[]> {
  const names = about(kind)
  const later: Hint[] = []
  for (const some of inBatches(names, READ_COUNT)) {
    await partition.read(async (view) => {
      const records = await view.getMany(some.map(keyOf))
      for (const [at, name] of some.entries()) {
        const record = records[at] ?? null
        if (record !== null) later.push({ due: await dueOf(record, view), kind, about: name })
      }
    })
  }
  return later
}
