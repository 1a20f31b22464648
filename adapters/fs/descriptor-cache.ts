// Files that stay open to be read again (PERFORMANCE.md, P19). All stores of a process share one cache of them:
// process-descriptors.
//
// Invariants:
// - A descriptor is closed once, and never while a read of it is under way.
// - The number of cached files is bounded; files that are being read come on top.
// - No file is cached for which the kernel's table of descriptors would have to grow on the thread that reads.
// - The cache never makes another call of ours fail for want of a descriptor: on EMFILE all cached files are closed,
//   and the call is repeated.
import { close, closeSync, open } from 'node:fs'
import { systemCode } from './fs-error.js'

/** Files kept where the system does not say how many descriptors the process may have. */
const KEPT_MAX_UNKNOWN = 128

/** Files kept at most: each costs about 300 bytes, and as much as 1.5 KB in the system. */
const KEPT_MAX = 4_096

/** The share of the process's descriptors for cached files: most containers have 1,024, so 256. */
const KEPT_SHARE = 1 / 4

/** From this share of descriptors in use on, no more files are kept than the one that is read now. */
const CROWDED_SHARE = 3 / 4

/**
 * Linux doubles a process's table of descriptors at the 257th, 513th and so on, and the thread that opens it stalls
 * (PERFORMANCE.md, P21). So before the table is full, another thread makes it grow.
 */
export const TABLE_FIRST = 256

/** Descriptors that are left to others until the table has grown. */
const TABLE_SPARE = 16

/** Descriptors that are taken at most to let it grow; there are fewer free ones below its end, but others may close some. */
const GROW_OPENS_MAX = 64

export class CachedDescriptor {
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

export type DescriptorLimits = Readonly<{
  /** Files kept at most. */
  keptMax: number
  /** A descriptor of this number or above says that few are left, as a new one gets the lowest that is free. */
  crowdedFrom: number
}>

/** The table of descriptors of the process. */
export type DescriptorTable = Readonly<{
  /** How many it has room for; a power of two. */
  room: number
  /** Lets it grow, without holding up this thread. @returns whether it did. */
  grow(room: number): Promise<boolean>
}>

export class DescriptorCache {
  readonly #limits: DescriptorLimits
  /** A hand goes round: it passes by a file that was read since it was there last, and closes the first other one. */
  readonly #ring: CachedDescriptor[] = []
  #hand = 0
  readonly #grow: DescriptorTable['grow']
  #room: number
  #isGrowing = false

  constructor(limits: DescriptorLimits, { room, grow }: DescriptorTable = ENDLESS) {
    this.#limits = limits
    this.#room = room
    this.#grow = grow
  }

  keep(file: CachedDescriptor): void {
    if (file.descriptor >= this.#limits.crowdedFrom) this.release()
    if (this.#ring.length >= this.#limits.keptMax || this.#isGrowing) this.#closeOne()
    else if (file.descriptor >= this.#room - TABLE_SPARE) {
      this.#closeOne()
      void this.#makeRoom()
    }
    file.place = this.#ring.push(file) - 1
  }

  /** Closes a file, or leaves it to the last read of it that is under way. */
  drop(file: CachedDescriptor): void {
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

  async #makeRoom(): Promise<void> {
    this.#isGrowing = true
    if (await this.#grow(this.#room)) this.#room *= 2
    this.#isGrowing = false
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

const ENDLESS: DescriptorTable = {
  room: Number.POSITIVE_INFINITY,
  grow: () => Promise.resolve(true),
}

/** Opens files on other threads, until one has a descriptor that the table had no room for, and closes them. */
export async function growTable(room: number): Promise<boolean> {
  const opened: number[] = []
  let last: number | undefined = 0
  while (last !== undefined && last < room && opened.length < GROW_OPENS_MAX) {
    last = await new Promise<number | undefined>((resolve) => {
      open('/dev/null', 'r', (failure, descriptor) => resolve(failure ? undefined : descriptor))
    })
    if (last !== undefined) opened.push(last)
  }
  for (const descriptor of opened) {
    await new Promise((resolve) => {
      close(descriptor, resolve)
    })
  }
  return last !== undefined && last >= room
}

/** @param limits - What the system says of the process, as Linux writes it. */
export function descriptorLimits(limits: string): DescriptorLimits {
  const [, soft = ''] = /^Max open files +(\d+|unlimited) /m.exec(limits) ?? []
  if (soft === '') return { keptMax: KEPT_MAX_UNKNOWN, crowdedFrom: Number.POSITIVE_INFINITY }
  const descriptors = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  return {
    keptMax: Math.max(1, Math.min(KEPT_MAX, Math.floor(KEPT_SHARE * descriptors))),
    crowdedFrom: CROWDED_SHARE * descriptors,
  }
}

const TOO_MANY_CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

/** Whether something failed for want of a descriptor, and some are free now, so that it is worth to try again. */
export function freedFor(failure: unknown, kept: DescriptorCache): boolean {
  return TOO_MANY_CODES.has(systemCode(failure)) && kept.release()
}
