// Objects in memory, on a disk that may fail: an object is written under a temporary name, synced and renamed, and is
// durable when the folder was synced.

import { concatBytes } from '../../../src/base/bytes.js'
import { invariant } from '../../../src/base/invariant.js'
import { StoreError } from '../../../src/base/store-error.js'
import {
  assertObjectId,
  assertRange,
  LIST_COUNT_MAX,
  WHOLE_RANGE,
} from '../../../src/objects/object-arguments.js'
import { inPieces } from '../../../src/objects/object-parts.js'
import type { ByteRange, ObjectId, ObjectStore } from '../../../src/objects/objects.js'
import { type DiskAccess, flipBit, type Life } from './fault-level.js'
import { DiskFault, DiskGone, type Fault, type PortStep } from './fault-plan.js'
import { portError } from './port-error.js'

type StoredObject = {
  bytes: Uint8Array
  /** Whether its bytes are on the disk. */
  isSynced: boolean
  /** Whether its name is durable: the folder was synced after the rename. */
  isDurable: boolean
}

/** The objects on the disk, and the objects that only the system has yet. */
export class ObjectFiles {
  readonly named = new Map<ObjectId, StoredObject>()
  /** Deleted before the folder was synced: they may return. */
  readonly #deleted = new Map<ObjectId, StoredObject>()

  rename(id: ObjectId, object: StoredObject): void {
    this.named.set(id, object)
  }

  syncFolder(id: ObjectId): void {
    const object = this.named.get(id)
    if (object !== undefined) object.isDurable = true
    this.#deleted.clear()
  }

  delete(id: ObjectId): void {
    const object = this.named.get(id)
    if (object === undefined) return
    this.named.delete(id)
    if (object.isDurable) this.#deleted.set(id, object)
  }

  /** The machine crashes: unsynced data is lost, kept, or kept in part. */
  losePower(below: (limit: number) => number): void {
    for (const [id, object] of [...this.named]) {
      if (!object.isDurable && below(2) === 0) {
        this.named.delete(id)
        continue
      }
      if (!object.isSynced) object.bytes = object.bytes.slice(0, below(object.bytes.length + 1))
      object.isSynced = true
      object.isDurable = true
    }
    for (const [id, object] of this.#deleted) if (below(2) === 0) this.named.set(id, object)
    this.#deleted.clear()
  }

  /** Damages one object at rest. @returns its ID; null: there is none */
  damage(kind: 'flip' | 'cut' | 'lose' | 'swap', below: (limit: number) => number): string | null {
    const ids = [...this.named.keys()]
    const id = ids[below(Math.max(1, ids.length))]
    const object = id === undefined ? undefined : this.named.get(id)
    if (id === undefined || object === undefined || object.bytes.length === 0) return null
    if (kind === 'lose') this.named.delete(id)
    if (kind === 'flip') object.bytes = flipBit(object.bytes, below(object.bytes.length * 8))
    if (kind === 'cut') object.bytes = object.bytes.slice(0, below(object.bytes.length))
    if (kind === 'swap') {
      const other = this.named.get(ids[below(ids.length)] ?? id)
      if (other === undefined || other === object) return null
      const { bytes } = object
      object.bytes = other.bytes
      other.bytes = bytes
    }
    return id
  }
}

/** An object store on a `FaultDisk`. */
export class FaultObjects implements ObjectStore {
  readonly #disk: DiskAccess
  readonly #files: ObjectFiles
  readonly #life: Life
  readonly #syncs: boolean
  readonly #incoming = new Set<ObjectId>()
  #closed = false

  constructor(disk: DiskAccess, files: ObjectFiles, life: Life, syncs = true) {
    this.#syncs = syncs
    this.#disk = disk
    this.#files = files
    this.#life = life
  }

  async put(id: ObjectId, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<number> {
    this.#assertUsable(id)
    invariant(!this.#files.named.has(id) && !this.#incoming.has(id), 'an object id is put once')
    this.#incoming.add(id)
    try {
      await this.#step('put')
      const pieces: Uint8Array[] = []
      if (content instanceof Uint8Array) pieces.push(content)
      else {
        for await (const piece of content) {
          this.#assertUsable(id)
          pieces.push(Uint8Array.from(piece))
        }
      }
      this.#assertUsable(id)
      const object = { bytes: concatBytes(pieces), isSynced: false, isDurable: false }
      await this.#flush('sync', () => {
        object.isSynced = true
      })
      await this.#name(id, object)
      return object.bytes.length
    } finally {
      this.#incoming.delete(id)
    }
  }

  async get(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<Uint8Array | null> {
    this.#assertUsable(id)
    assertRange(range)
    const { start, limit } = range
    const fault = await this.#meet('get')
    const whole = this.#bytesOf(id, fault)
    const bytes = whole === null ? null : whole.subarray(start, limit)
    this.#after(fault)
    if (fault?.kind !== 'flip' || bytes === null || bytes.length === 0) return bytes
    return flipBit(bytes, this.#disk.below(bytes.length * 8))
  }

  async stream(
    id: ObjectId,
    range: ByteRange = WHOLE_RANGE,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    this.#assertUsable(id)
    assertRange(range)
    await this.#step('stream')
    if (!this.#files.named.has(id)) return null
    const read = () => this.get(id, range)
    return { [Symbol.asyncIterator]: () => pieces(read) }
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    for (const id of ids) this.#assertUsable(id)
    await this.#step('delete', () => {
      for (const id of ids) this.#files.delete(id)
    })
  }

  async list(prefix: string, after = ''): Promise<ObjectId[]> {
    this.#assertOpen()
    let listed: ObjectId[] = []
    await this.#step('list', () => {
      const ids = [...this.#files.named.keys()]
      listed = ids.filter((id) => id.startsWith(prefix) && id > after).sort()
    })
    return listed.slice(0, LIST_COUNT_MAX)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async #name(id: ObjectId, object: StoredObject): Promise<void> {
    try {
      await this.#step('rename', () => this.#files.rename(id, object))
      await this.#flush('syncFolder', () => this.#files.syncFolder(id))
    } catch (failure) {
      // A failed put leaves nothing, as long as its process lives.
      if (!this.#life.isOver) this.#files.delete(id)
      throw failure
    }
  }

  #bytesOf(id: ObjectId, fault: Fault | null): Uint8Array | null {
    if (fault?.kind === 'misdirect') {
      const ids = [...this.#files.named.keys()]
      const other = ids[this.#disk.below(Math.max(1, ids.length))]
      if (other !== undefined) return this.#files.named.get(other)?.bytes ?? null
    }
    return this.#files.named.get(id)?.bytes ?? null
  }

  async #flush(operation: 'sync' | 'syncFolder', effect: () => void): Promise<void> {
    if (this.#syncs) await this.#step(operation, effect)
  }

  /** A step whose effect happens only if it does not fail. */
  async #step(operation: PortStep['operation'], effect: () => void = () => {}): Promise<void> {
    const fault = await this.#meet(operation)
    effect()
    this.#after(fault)
  }

  #after(fault: Fault | null): void {
    try {
      this.#disk.after(fault, this.#life)
    } catch (failure) {
      throw objectError(failure, undefined)
    }
  }

  async #meet(operation: PortStep['operation']): Promise<Fault | null> {
    const before = isOfRead(operation) ? undefined : 'unchanged'
    try {
      const fault = await this.#disk.step('objects', operation, this.#life)
      const passes = fault === null || fault.kind === 'crash' || fault.kind === 'delay'
      const alters = fault?.kind === 'flip' || fault?.kind === 'misdirect'
      if (passes || (alters && operation === 'get')) return fault
      throw new DiskFault(fault.kind === 'full' && before !== undefined ? 'ENOSPC' : 'EIO')
    } catch (failure) {
      throw objectError(failure, before)
    }
  }

  #assertUsable(id: ObjectId): void {
    assertObjectId(id)
    this.#assertOpen()
    this.#assertAlive()
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('STORE_CLOSED', 'The store was closed')
  }

  #assertAlive(): void {
    if (this.#life.isOver) throw objectError(new DiskGone('The process has ended'), undefined)
  }
}

function isOfRead(operation: PortStep['operation']): boolean {
  return operation === 'get' || operation === 'stream' || operation === 'list'
}

function objectError(failure: unknown, outcome: 'unchanged' | undefined): StoreError {
  return portError(failure, 'The objects cannot be used', outcome)
}

async function* pieces(read: () => Promise<Uint8Array | null>): AsyncGenerator<Uint8Array> {
  const content = await read()
  if (content === null) {
    throw new StoreError('STORAGE_UNAVAILABLE', 'The object was deleted meanwhile')
  }
  yield* inPieces(content)
}
