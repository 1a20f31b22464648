// A view of the records for a transaction: the records of a commit, with the staged records laid over them.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, compareBytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KvScan, KvView } from '../../kv/kv.js'

/** A staged record. `value`: null if the record is deleted. */
export type StagedRecord = Readonly<{ key: Bytes; value: Bytes | null }>

export class StagedView implements KvView {
  readonly #view: KvView
  /** The staged records, by the texts of their keys. */
  readonly #staged: ReadonlyMap<string, StagedRecord>
  readonly #onRead: (key: Bytes, value: Bytes | null) => void

  /** @param onRead - Called with each record that is read by its key from the underlying view. */
  constructor(
    view: KvView,
    staged: ReadonlyMap<string, StagedRecord>,
    onRead: (key: Bytes, value: Bytes | null) => void,
  ) {
    this.#view = view
    this.#staged = staged
    this.#onRead = onRead
  }

  get(key: Bytes): Awaitable<Bytes | null> {
    const staged = this.#staged.get(byteText(key))
    if (staged !== undefined) return staged.value
    return chain(this.#view.get(key), (value) => {
      this.#onRead(key, value)
      return value
    })
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    const staged = keys.map((key) => this.#staged.get(byteText(key)))
    const below = await this.#view.getMany(keys.filter((_, at) => staged[at] === undefined))
    let next = 0
    return keys.map((key, at) => {
      const known = staged[at]
      if (known !== undefined) return known.value
      const value = below[next++] ?? null
      this.#onRead(key, value)
      return value
    })
  }

  async scan(scan: KvScan): Promise<[key: Bytes, value: Bytes][]> {
    const { start, limit, reverse = false, count } = scan
    const staged = [...this.#staged.values()].filter(({ key }) => {
      return compareBytes(key, start) >= 0 && compareBytes(key, limit) < 0
    })
    if (staged.length === 0) return this.#view.scan(scan)
    const sign = reverse ? -1 : 1
    staged.sort((left, right) => sign * compareBytes(left.key, right.key))
    const found: [Bytes, Bytes][] = []
    let next = 0
    /** Takes the staged records before a key. @returns whether the key itself is staged. */
    const takeBefore = (key: Bytes | null): boolean => {
      for (; next < staged.length; next++) {
        const record = staged[next]
        if (record === undefined) break
        const order = key === null ? -1 : sign * compareBytes(record.key, key)
        if (order > 0) return false
        if (record.value !== null) found.push([record.key, record.value])
        if (order === 0) {
          next++
          return true
        }
      }
      return false
    }
    // `bytesMax` is left out: a scan that it ended early would look like the end of the range.
    const { bytesMax: _, ...whole } = scan
    let range = { start, limit }
    for (;;) {
      const below = await this.#view.scan({ ...whole, ...range })
      for (const [key, value] of below) {
        if (!takeBefore(key)) found.push([key, value])
        if (found.length >= count) return found.slice(0, count)
      }
      const last = below[below.length - 1]
      if (below.length < count || last === undefined) break
      range = reverse ? { start, limit: last[0] } : { start: keyAfter(last[0]), limit }
    }
    takeBefore(null)
    return found.slice(0, count)
  }
}
