// The faults of a port, and the plan that says where they happen.
//
// Every step of a port asks the plan first. A plan sees steps in the order in which they happen, so with the
// same calls and the same seed the same step meets the same fault.

/** The next step of a port. A `put` of an object has four steps: put, sync, rename, syncFolder. */
export type PortStep = Readonly<{
  /** The port that takes the step. */
  port: 'level' | 'objects' | 'file'
  /** What the port is about to do. */
  operation:
    | 'open'
    | 'close'
    | 'read'
    | 'iterate'
    | 'write'
    | 'compact'
    | 'put'
    | 'sync'
    | 'rename'
    | 'syncFolder'
    | 'get'
    | 'stream'
    | 'delete'
    | 'list'
    | 'replace'
    | 'overwrite'
    | 'probe'
  /** 0-based number of this step among all of the disk. */
  index: number
}>

/** What a step of a port meets. */
export type Fault = Readonly<
  /** The step fails and has no effect; the next one works. */
  | { kind: 'fail' }
  /** No space is left: the step fails. Later writes of the database are acknowledged, and lost at its next open. */
  | { kind: 'full' }
  /** A write fails, is not to be seen, and is there after the next open. Until then all writes fail. */
  | { kind: 'zombie' }
  /** The process ends here, or the machine does: see `FaultDisk.crash`. */
  | { kind: 'crash'; side: 'before' | 'after'; of: 'process' | 'machine' }
  /** One bit of what a read, a scan or a get gives is another one. */
  | { kind: 'flip' }
  /** A read, a scan or a get gives what stands at another key. */
  | { kind: 'misdirect' }
  /** The step takes a number of turns of the promise queue longer. */
  | { kind: 'delay'; turns: number }
>

/** Decides what a step meets; null: nothing. */
export type FaultPlan = (step: PortStep) => Fault | null

export const NO_FAULTS: FaultPlan = () => null

/**
 * The n-th step (0-based) of those that fit meets the fault: only that one, or with `lasting` each from it on.
 * @example
 * import { isStoreError, openLevelKv, openStore } from 'rowstash'
 * import { FaultDisk, nthStep } from 'rowstash/testing'
 *
 * const disk = new FaultDisk()
 * const store = await openStore({ kv: await openLevelKv(disk.level()), objects: disk.objects() })
 * disk.faults = nthStep(0, { kind: 'full' }, { fits: ({ operation }) => operation === 'write' })
 * const failure = await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] }).catch((reason) => reason)
 * console.log(isStoreError(failure) && failure.code) // INSUFFICIENT_STORAGE
 * await store.close()
 */
export function nthStep(
  n: number,
  fault: Fault,
  { lasting = false, fits = () => true }: NthStepOptions = {},
): FaultPlan & Readonly<{ met: () => number }> {
  let seen = 0
  let met = 0
  const plan = (step: PortStep): Fault | null => {
    if (!fits(step)) return null
    const isIt = lasting ? seen >= n : seen === n
    seen++
    if (!isIt) return null
    met++
    return fault
  }
  return Object.assign(plan, { met: () => met })
}

/** Options of `nthStep`. */
export type NthStepOptions = Readonly<{
  /** Default: false. */
  lasting?: boolean
  /** Which steps count. Default: all. */
  fits?: (step: PortStep) => boolean
}>

/** The failure of every step on a disk whose process, or machine, has ended. */
export class DiskGone extends Error {
  override readonly name = 'DiskGone'
  readonly code = 'EIO'
}

/** A fault that the system reports, as Node and LevelDB do. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault'
  readonly code: 'EIO' | 'ENOSPC'

  constructor(code: 'EIO' | 'ENOSPC') {
    super(code === 'EIO' ? 'Input/output error' : 'No space left on device')
    this.code = code
  }
}
