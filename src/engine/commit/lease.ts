// Commits under a lease: a record that says who does a piece of work. Each commit of the work checks its bytes, so
// that nothing of a process that has lost the lease takes effect, however late it comes.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'

/** The holder of a lease, and how often the lease was taken. */
export type Holder = Readonly<{ owner: Bytes; epoch: number }>

/** Another process has the lease, or the work has ended: nothing more may be done for it here. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'

  constructor() {
    super('The lease was lost')
  }
}

/** Whether two leases are of one holder. */
export function isHeld(left: Holder, right: Holder): boolean {
  return left.epoch === right.epoch && sameBytes(left.owner, right.owner)
}

/**
 * The same partition for work under a lease. Every commit checks the lease, and fails with `LeaseLost` without it. A
 * `garbageCollection` does not: it deletes what no reader and no commit needs, whoever asks for it.
 */
export function underLease(partition: KvPartition, lease: KvCheck): KvPartition {
  return {
    read: (use) => partition.read(use),
    deleteRange: (range, count) => partition.deleteRange(range, count),
    async commit(commit) {
      const checks = [...(commit.checks ?? []), lease]
      const result = await partition.commit({ ...commit, checks })
      if (result.ok || !result.failed.some(({ key }) => sameBytes(key, lease.key))) return result
      throw new LeaseLost()
    },
  }
}
