// A small file on the same disk as the database: replaced as a whole and durably, or overwritten in place without a
// sync.
import type { HighWaterFile } from '../../../src/kv/high-water.js'
import type { DiskAccess, Life } from './fault-level.js'
import { DiskFault, type Fault, type PortStep } from './fault-plan.js'
import { portError } from './port-error.js'

/** The bytes on the disk, and the bytes that only the system has yet. */
export class FileBytes {
  current: Uint8Array | null = null
  #durable: Uint8Array | null = null

  replace(bytes: Uint8Array): void {
    this.current = bytes.slice()
    this.#durable = bytes.slice()
  }

  overwrite(at: number, bytes: Uint8Array): void {
    this.current?.set(bytes, at)
  }

  /** The machine crashes: overwritten bytes were written back, or are lost. */
  losePower(below: (limit: number) => number): void {
    const next = below(2) === 0 ? this.current : this.#durable
    this.current = next?.slice() ?? null
    this.#durable = next?.slice() ?? null
  }
}

/** The file of the high-water mark on a `FaultDisk`. */
export class FaultFile implements HighWaterFile {
  readonly #disk: DiskAccess
  readonly #bytes: FileBytes
  readonly #life: Life

  constructor(disk: DiskAccess, bytes: FileBytes, life: Life) {
    this.#disk = disk
    this.#bytes = bytes
    this.#life = life
  }

  async read(): Promise<Uint8Array | null> {
    await this.#step('read', () => undefined)
    return this.#bytes.current?.slice() ?? null
  }

  async replace(bytes: Uint8Array): Promise<void> {
    await this.#step('replace', () => this.#bytes.replace(bytes))
  }

  overwrite(at: number, bytes: Uint8Array): void {
    const fault = failing(this.#disk.stepNow('file', 'overwrite', this.#life))
    this.#bytes.overwrite(at, bytes)
    this.#disk.after(fault, this.#life)
  }

  check(): void {
    // Nobody else uses this disk.
  }

  async probe(): Promise<void> {
    await this.#step('probe', () => undefined)
  }

  async close(): Promise<void> {
    // It holds no resources.
  }

  async #step(operation: PortStep['operation'], effect: () => void): Promise<void> {
    try {
      const fault = failing(await this.#disk.step('file', operation, this.#life))
      effect()
      this.#disk.after(fault, this.#life)
    } catch (failure) {
      throw portError(failure, 'The file cannot be used')
    }
  }
}

function failing(fault: Fault | null): Fault | null {
  if (fault === null || fault.kind === 'crash') return fault
  if (fault.kind === 'flip' || fault.kind === 'misdirect') return null
  throw new DiskFault(fault.kind === 'full' ? 'ENOSPC' : 'EIO')
}
