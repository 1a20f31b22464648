// Keeps files open for further reads (PERFORMANCE.md, P19). All stores of a process share one cache:
// process-descriptors.
//
// Invariants:
// - A descriptor is closed once, and never during a read.
// - The number of cached files is bounded. Files that are being read are not counted.
// - No file is cached if that would make the kernel's descriptor table grow on the reading thread.
// - The cache never causes our other calls to run out of descriptors: on EMFILE, all cached files are closed, and the
//   call is repeated.
import { close, closeSync, open } from 'node:fs'
import { systemCode } from './fs-error.js'

/** The maximum number of cached files if the system does not report the limit of descriptors. */
const KEPT_MAX_UNKNOWN = 128

/** The maximum number of cached files: each costs about 300 bytes, and up to 1.5 KB in the system. */
const KEPT_MAX = 4_096

/** The share of descriptors for cached files: in most containers 256 of 1,024. */
const KEPT_SHARE = 1 / 4

/** If at least this share of descriptors is in use, only the file being read is kept. */
const CROWDED_SHARE = 3 / 4

/**
 * Linux doubles a process's descriptor table at the 257th descriptor, the 513th and so on, and the opening thread
 * stalls (PERFORMANCE.md, P21). So another thread makes it grow before it is full.
 */
export const TABLE_FIRST = 256

/** Descriptors left free until the table has grown. */
const TABLE_SPARE = 16

/**
 * The maximum number of descriptors opened to make the table grow. About `TABLE_SPARE` are free below its end, but more
 * may become free meanwhile.
 */
const GROW_OPENS_MAX = 64

export class CachedDescriptor {
  readonly descriptor: number
  /** Number of current reads. */
  reads = 0
  /** Whether the file was read since it was last considered for closing. */
  used = false
  /** The index of the descriptor in the ring. -1: it was dropped. */
  place = -1
  readonly #onClose: () => void

  /** @param onClose - Called when the descriptor is dropped. */
  constructor(descriptor: number, onClose: () => void) {
    this.descriptor = descriptor
    this.#onClose = onClose
  }

  /** Must be called once per increment of `reads`. */
  endRead(): void {
    this.reads--
    if (this.reads === 0 && this.place < 0) closeSync(this.descriptor)
  }

  /** Called only by the ring. */
  letGo(): void {
    this.place = -1
    this.#onClose()
    if (this.reads === 0) closeSync(this.descriptor)
  }
}

export type DescriptorLimits = Readonly<{
  /** The maximum number of cached files. */
  keptMax: number
  /** A new descriptor from this number on means that few are free, because it gets the lowest free number. */
  crowdedFrom: number
}>

/** The descriptor table of the process. */
export type DescriptorTable = Readonly<{
  /** The capacity of the table: a power of two. */
  room: number
  /** Makes the table grow without blocking this thread. @returns whether the table has grown. */
  grow(room: number): Promise<boolean>
}>

export class DescriptorCache {
  readonly #limits: DescriptorLimits
  /** Cached files. A clock hand passes over files read since its last visit, and closes the first file not read. */
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

  /** Closes a file, at once or after its last current read. */
  drop(file: CachedDescriptor): void {
    const { place } = file
    const last = this.#ring.pop()
    if (last !== undefined && last !== file) {
      this.#ring[place] = last
      last.place = place
    }
    file.letGo()
  }

  /** Closes all cached files. @returns whether there were any. */
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

/** Opens files on other threads until a descriptor exceeds the table, and closes them. */
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

/** @param limits - The limits of the process, in Linux's format. */
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

/** Whether something failed for lack of descriptors, and some were freed, so that it is worth retrying. */
export function freedFor(failure: unknown, kept: DescriptorCache): boolean {
  return TOO_MANY_CODES.has(systemCode(failure)) && kept.release()
}
