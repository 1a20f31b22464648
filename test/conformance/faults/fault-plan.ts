// The faults of a port, and the plan that tells where they happen.
//
// Every step of a port first asks the plan. A plan sees steps in the order in which they happen, so with the same calls
// and the same seed the same step gets the same fault.
import { booleanOption, checkFunctionOption, checkOptionNames } from '../../../src/base/options.js'
import { CRASHES, checkArguments, checkInteger, checkWord } from '../argument-checks.js'

/** The next step of a port. A `put` of an object has four steps: put, sync, rename, syncFolder. */
export type PortStep = Readonly<{
  /** The port that takes the step. */
  port: 'level' | 'objects' | 'file'
  /** The operation that the port begins. */
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
  /** 0-based number of this step among all steps of the disk. */
  index: number
}>

/** A fault of a step of a port. */
export type Fault = Readonly<
  /** The step fails without an effect; the next one works. */
  | { kind: 'fail' }
  /** No space is left: the step fails. Later writes of the database are acknowledged, and lost at its next open. */
  | { kind: 'full' }
  /** A write fails and is not visible, but is there after the next open. Until then all writes fail. */
  | { kind: 'zombie' }
  /** The process or the machine crashes here: see `FaultDisk.crash`. */
  | { kind: 'crash'; side: 'before' | 'after'; of: 'process' | 'machine' }
  /** A read, a scan or a get returns data with one bit flipped. */
  | { kind: 'flip' }
  /** A read, a scan or a get returns the data of another key. */
  | { kind: 'misdirect' }
  /** The step takes this many more turns of the promise queue. Range: 0 to 2^53 - 1. */
  | { kind: 'delay'; turns: number }
>

/** Decides the fault of a step; null: none. */
export type FaultPlan = (step: PortStep) => Fault | null

export const NO_FAULTS: FaultPlan = () => null

/**
 * The n-th step (0-based) that fits gets the fault; with `lasting`, each later one does too.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, OPTION_NOT_ALLOWED
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
  options: NthStepOptions = {},
): FaultPlan & Readonly<{ met: () => number }> {
  checkInteger('n', n, 0, Number.MAX_SAFE_INTEGER)
  checkFault(fault)

  checkOptionNames('nthStep', options, (name) => ['lasting', 'fits'].includes(name))
  const lasting = booleanOption('lasting', options.lasting, false)
  checkFunctionOption('fits', options.fits)
  const { fits = () => true } = options
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

const FAULT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  fail: ['kind'],
  full: ['kind'],
  zombie: ['kind'],
  crash: ['kind', 'side', 'of'],
  flip: ['kind'],
  misdirect: ['kind'],
  delay: ['kind', 'turns'],
} satisfies Record<Fault['kind'], readonly string[]>

function checkFault(fault: Fault): void {
  checkArguments('fault', fault, Object.values(FAULT_MEMBERS).flat())
  const { kind } = fault
  checkWord('kind', kind, Object.keys(FAULT_MEMBERS))
  checkArguments(`fault of kind "${kind}"`, fault, FAULT_MEMBERS[kind] ?? [])
  if (kind === 'delay') checkInteger('turns', fault.turns, 0, Number.MAX_SAFE_INTEGER)
  if (kind !== 'crash') return
  checkWord('side', fault.side, ['before', 'after'])
  checkWord('of', fault.of, CRASHES)
}

/** Options of `nthStep`. Unknown names are rejected. */
export type NthStepOptions = Readonly<{
  /** Whether each later step that fits gets the fault too. Default: false. */
  lasting?: boolean
  /** Which steps count. Default: all. */
  fits?: (step: PortStep) => boolean
}>

/** The failure of every step on a disk whose process or machine has crashed. */
export class DiskGone extends Error {
  override readonly name = 'DiskGone'
  readonly code = 'EIO'
}

/** A fault that the system reports, in the form of Node and LevelDB. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault'
  readonly code: 'EIO' | 'ENOSPC'

  constructor(code: 'EIO' | 'ENOSPC') {
    super(code === 'EIO' ? 'Input/output error' : 'No space left on device')
    this.code = code
  }
}
