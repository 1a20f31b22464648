import { type Bytes, utf8 } from '../../src/base/bytes.js'
import type { HighWaterFile, HighWaterPlace } from '../../src/kv/high-water.js'

export const STORE = utf8('name-of-16-bytes')

/** A high-water file in memory. Its writes are counted and can be made to fail. */
export class MemoryHighWater implements HighWaterFile {
  bytes: Bytes | null = null
  replacements = 0
  probes = 0
  failure: unknown
  /** The failure of every operation, if set. */
  trouble: unknown

  readonly place: HighWaterPlace = { file: this, store: STORE }

  async read(): Promise<Bytes | null> {
    return this.bytes
  }

  async replace(bytes: Bytes): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.replacements++
    this.bytes = bytes.slice()
  }

  overwrite(at: number, bytes: Bytes): void {
    if (this.failure !== undefined) throw this.failure
    this.bytes?.set(bytes, at)
  }

  check(): void {
    if (this.trouble !== undefined) throw this.trouble
  }

  async probe(): Promise<void> {
    this.probes++
    if (this.failure !== undefined) throw this.failure
  }

  async close(): Promise<void> {
    // It holds no resources.
  }
}
