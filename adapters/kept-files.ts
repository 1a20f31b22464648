// Files that stay open to be read again, of all stores of this process together: opening one costs as much as
// reading a frame of it.
//
// Invariants:
// - A descriptor is closed once, and never while a read of it is under way.
// - At most so many files as may be kept stay open, beyond those that are being read.
// - Keeping files never makes something else fail for want of a descriptor, as far as it is ours: whoever fails so
//   has them closed, and tries again.
import { closeSync, readFileSync } from 'node:fs'
import { systemCode } from './fs-error.js'

/** Files kept where the system does not say how many descriptors the process may have. */
const KEPT_MAX_UNKNOWN = 128

/** Files kept at most: each costs about 300 bytes, and as much as 1.5 KB in the system. */
const KEPT_MAX = 4_096

/** The share of its descriptors that a process spends on kept files: most containers have 1,024, so 256. */
const KEPT_SHARE = 1 / 4

/** From this share of descriptors in use on, no more files are kept than the one that is read now. */
const CROWDED_SHARE = 3 / 4

export class KeptFile {
  readonly descriptor: number
  /** Reads under way. */
  reads = 0
  /** Whether it was read since it was last considered for closing. */
  used = false
  /** Where the ring has it; -1: it is let go of. */
  place = -1
  readonly #onClose: () => void

  /** @param onClose - Called when it is let go of. */
  constructor(descriptor: number, onClose: () => void) {
    this.descriptor = descriptor
    this.#onClose = onClose
  }

  /** Must be called once for each time that `reads` grew. */
  endRead(): void {
    this.reads--
    if (this.reads === 0 && this.place < 0) closeSync(this.descriptor)
  }

  /** By the ring alone. */
  letGo(): void {
    this.place = -1
    this.#onClose()
    if (this.reads === 0) closeSync(this.descriptor)
  }
}

export type KeptLimits = Readonly<{
  /** Files kept at most. */
  keptMax: number
  /** A descriptor of this number or above says that few are left, as a new one gets the lowest that is free. */
  crowdedFrom: number
}>

export class KeptFiles {
  readonly #limits: KeptLimits
  /** A hand goes round: it passes by a file that was read since it was there last, and closes the first other one. */
  readonly #ring: KeptFile[] = []
  #hand = 0

  constructor(limits: KeptLimits) {
    this.#limits = limits
  }

  keep(file: KeptFile): void {
    if (file.descriptor >= this.#limits.crowdedFrom) this.release()
    if (this.#ring.length >= this.#limits.keptMax) this.#closeOne()
    file.place = this.#ring.push(file) - 1
  }

  /** Closes a file, or leaves it to the last read of it that is under way. */
  drop(file: KeptFile): void {
    const { place } = file
    const last = this.#ring.pop()
    if (last !== undefined && last !== file) {
      this.#ring[place] = last
      last.place = place
    }
    file.letGo()
  }

  /** Closes all. @returns whether there were any. */
  release(): boolean {
    const files = this.#ring.splice(0)
    for (const file of files) file.letGo()
    return files.length > 0
  }

  #closeOne(): void {
    for (let looked = 0; looked <= this.#ring.length; looked++) {
      this.#hand = this.#hand + 1 < this.#ring.length ? this.#hand + 1 : 0
      const file = this.#ring[this.#hand]
      if (file?.used === false) {
        this.drop(file)
        return
      }
      if (file !== undefined) file.used = false
    }
  }
}

/** @param limits - What the system says of the process, as Linux writes it. */
export function keptLimits(limits: string): KeptLimits {
  const [, soft = ''] = /^Max open files +(\d+|unlimited) /m.exec(limits) ?? []
  if (soft === '') return { keptMax: KEPT_MAX_UNKNOWN, crowdedFrom: Number.POSITIVE_INFINITY }
  const descriptors = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  return {
    keptMax: Math.max(1, Math.min(KEPT_MAX, Math.floor(KEPT_SHARE * descriptors))),
    crowdedFrom: CROWDED_SHARE * descriptors,
  }
}

function readLimits(): string {
  if (process.platform !== 'linux') return ''
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch (failure) {
    return `unknown: ${systemCode(failure)}` // A sandbox may hide it.
  }
}

let processFiles: KeptFiles | undefined

/** Those of this process, whose limit is read once: Node has raised it as far as it may before. */
export function keptFiles(): KeptFiles {
  processFiles ??= new KeptFiles(keptLimits(readLimits()))
  return processFiles
}

const TOO_MANY_CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

/** Whether something failed for want of a descriptor, and some are free now, so that it is worth to try again. */
export function freedFor(failure: unknown, kept = keptFiles()): boolean {
  return TOO_MANY_CODES.has(systemCode(failure)) && kept.release()
}

/** Runs what needs a descriptor; once more when there was none, and some could be freed. */
export async function withDescriptor<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (failure) {
    if (!freedFor(failure)) throw failure
    return await call()
  }
}
