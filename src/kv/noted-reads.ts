import type { Bytes } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import type { KvScan, KvView } from './kv.js'
import { covers, type Entries, limitEntries } from './read-ahead.js'

/** The maximum number of bytes of recorded reads; further reads are not recorded. */
const NOTED_BYTES_MAX = 1024 * 1024

/** Estimated bytes of a record besides its key and value. */
const RECORD_BYTES = 100

/**
 * The records that an operation has read in a view. The operation can run again on the same commit without a view, as
 * long as it reads nothing else. If the database is on another machine, this saves a round trip.
 */
export class NotedReads {
  readonly #records = new Map<string, Bytes | null>()
  readonly #scans: Readonly<{ scan: KvScan; entries: Entries }>[] = []
  #bytes = 0

  /** The view, which also records its results. */
  of(view: KvView): KvView {
    return {
      get: async (key) => {
        const value = await view.get(key)
        this.#noteRecord(key, value)
        return value
      },
      getMany: async (keys) => {
        const values = await view.getMany(keys)
        for (const [i, key] of keys.entries()) this.#noteRecord(key, values[i] ?? null)
        return values
      },
      scan: async (scan) => {
        const entries = await view.scan(scan)
        const bytes = entries.reduce((sum, [key, value]) => sum + notedReadBytes(key, value), 0)
        if (this.#hasRoom(bytes)) this.#scans.push({ scan, entries })
        return entries
      },
    }
  }

  /** Runs `use` on the recorded reads. @returns its result; undefined: it made a read that was not recorded. */
  async run<T>(use: (view: KvView) => Promise<T>): Promise<T | undefined> {
    const unknown = new Error('This was not read in the view')
    const get = async (key: Bytes): Promise<Bytes | null> => {
      const value = this.#records.get(byteText(key))
      if (value === undefined) throw unknown
      return value
    }
    const scan = async (wanted: KvScan): Promise<[Bytes, Bytes][]> => {
      const noted = this.#scans.find((one) => covers(one.scan, wanted))
      const entries = limitEntries(noted?.entries, wanted)
      if (entries === null) throw unknown
      return entries
    }
    try {
      return await use({ get, getMany: (keys) => Promise.all(keys.map(get)), scan })
    } catch (failure) {
      if (failure === unknown) return undefined
      throw failure
    }
  }

  #noteRecord(key: Bytes, value: Bytes | null): void {
    if (this.#hasRoom(notedReadBytes(key, value))) this.#records.set(byteText(key), value)
  }

  #hasRoom(bytes: number): boolean {
    if (this.#bytes + bytes > NOTED_BYTES_MAX) return false
    this.#bytes += bytes
    return true
  }
}

function notedReadBytes(key: Bytes, value: Bytes | null): number {
  return key.length + (value?.length ?? 0) + RECORD_BYTES
}
