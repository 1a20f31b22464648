// Commits under a lease, a record that says who does a piece of work. Each commit of the work checks the bytes of the
// lease. So a process that has lost its lease changes nothing, however late its commit arrives.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'

/** The holder of a lease, and the number of times that the lease was taken. */
export type Holder = Readonly<{ owner: Bytes; epoch: number }>

/** Another process has the lease, or the work has ended: this process must not continue the work. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'

  constructor() {
    super('The lease was lost')
  }
}

/** Whether two leases have the same holder. */
export function isHeld(left: Holder, right: Holder): boolean {
  return left.epoch === right.epoch && sameBytes(left.owner, right.owner)
}

/**
 * The same partition, for work under a lease: every commit checks the lease, and fails with `LeaseLost` when the
 * lease is lost. `deleteRange` checks nothing: it deletes only what no reader and no commit needs.
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
