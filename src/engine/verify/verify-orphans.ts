// Finds the objects that no record names. They are harmless: the sweep deletes them later.
//
// Objects are listed in windows, and a walk over all names removes the named ones from a window, so memory is bounded
// by the window. An object that was listed before the walk and not named in it is an orphan, or pending.
import type { KvPartition } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import { namedObjects, objectOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import type { Findings } from './verify-findings.js'

/** Objects of one window, at most; each takes about 100 bytes. */
const WINDOW_MAX = 100_000

export async function verifyOrphans(
  context: StoreContext,
  findings: Findings,
  partitions: () => Promise<readonly KvPartition[]>,
): Promise<void> {
  const { objects } = context
  let after: ObjectId | undefined
  for (;;) {
    const unnamed = new Set<ObjectId>()
    let isDone = false
    while (unnamed.size < WINDOW_MAX && !isDone) {
      findings.checkGoesOn()
      const listed = await objects.list('', after)
      for (const id of listed) unnamed.add(id)
      after = listed[listed.length - 1] ?? after
      isDone = listed.length === 0
    }
    // An object stops being pending when a record names it, so this check comes before the names.
    const { isPending } = await readInUse(context)
    for (const id of [...unnamed]) if (isPending(id)) unnamed.delete(id)
    for (const partition of unnamed.size === 0 ? [] : await partitions()) {
      await partition.read(async (view) => {
        for await (const named of namedObjects(view)) {
          findings.checkGoesOn()
          unnamed.delete(objectOf(named))
        }
      })
    }
    for (const object of unnamed) {
      findings.add(
        { kind: 'orphan-object', message: `No record names object ${object}` },
        { object },
      )
    }
    if (isDone) return
  }
}
