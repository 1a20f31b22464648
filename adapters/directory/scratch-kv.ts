// A KvStore over another one, whose own changes stay in memory and are gone when it is closed.
//
// Invariants:
// - Nothing is written to the store below, and nobody else writes to it meanwhile.
// - Each commit has a number. A view sees the changes up to the number that it began with.
// - The commits of a partition take effect in the order they were asked for.
import { type Awaitable, isSync } from '../../src/base/awaitable.js'
import { type Bytes, compareBytes, sameBytes, sameValue, toHex } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { keyAfter } from '../../src/kv/key-range.js'
import type {
  KeyRange,
  KvCommit,
  KvCommitResult,
  KvPartition,
  KvScan,
  KvStore,
  KvView,
} from '../../src/kv/kv.js'

/** @param below - Is closed with the store. */
export function scratchKv(below: KvStore): KvStore {
  const partitions = new Map<string, ScratchPartition>()
  return {
    shared: false,
    ...(below.versionBase !== undefined && { versionBase: below.versionBase }),
    ...(below.cache !== undefined && { cache: below.cache }),
    partition(name) {
      const partition = partitions.get(name) ?? new ScratchPartition(below.partition(name))
      partitions.set(name, partition)
      return partition
    },
    async close() {
      await Promise.all([...partitions.values()].map((partition) => partition.settled()))
      await below.close()
    },
  }
}

class ScratchPartition implements KvPartition {
  readonly #below: KvPartition
  readonly #changes = new Changes()
  #number = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(below: KvPartition) {
    this.#below = below
  }

  read<T>(use: (view: KvView) => Awaitable<T>): Promise<T> {
    const number = this.#number
    return this.#below.read((view) => use(new ScratchView(view, this.#changes, number)))
  }

  commit(commit: KvCommit): Promise<KvCommitResult> {
    return this.#inTurn(() => this.read((view) => this.#judge(view, commit)))
  }

  sweep(range: KeyRange, count: number): Promise<number> {
    const deleted = async (view: KvView): Promise<number> => {
      const found = await view.scan({ ...range, count, keysOnly: true })
      await this.#judge(view, { deletes: found.map(([key]) => key) })
      return found.length
    }
    return this.#inTurn(() => this.read(deleted))
  }

  /** Resolves when no commit is under way. */
  async settled(): Promise<void> {
    await this.#last
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }

  async #judge(
    view: KvView,
    { checks = [], puts = [], deletes = [] }: KvCommit,
  ): Promise<KvCommitResult> {
    const written = [...puts.map(([key]) => key), ...deletes]
    const isOnce = new Set(written.map(toHex)).size === written.length
    invariant(isOnce, 'a key is put or deleted at most once in a commit')
    const values = await view.getMany(checks.map(({ key }) => key))
    const found = checks.map(({ key, equals }, i) => ({ key, equals, value: values[i] ?? null }))
    const failed = found.filter(({ equals, value }) => !sameValue(value, equals))
    if (failed.length > 0) {
      return { ok: false, failed: failed.map(({ key, value }) => ({ key, value })) }
    }
    const number = this.#number + 1
    for (const [key, value] of puts) this.#changes.add(key, { number, value: value.slice() })
    for (const key of deletes) this.#changes.add(key, { number, value: null })
    this.#number = number
    return { ok: true }
  }
}

/** What a commit made of a record; null: it ended. */
type Change = Readonly<{ number: number; value: Bytes | null }>

/** The changes of each key, in the order of the keys and of their numbers. */
class Changes {
  readonly #keys: Bytes[] = []
  readonly #changes: Change[][] = []

  add(key: Bytes, change: Change): void {
    const at = this.#placeOf(key)
    if (this.#isAt(at, key)) {
      this.#changes[at]?.push(change)
    } else {
      this.#keys.splice(at, 0, key.slice())
      this.#changes.splice(at, 0, [change])
    }
  }

  /** The last change of a key up to a number; undefined: there is none. */
  of(key: Bytes, number: number): Change | undefined {
    const at = this.#placeOf(key)
    return this.#isAt(at, key) ? this.#lastOf(at, number) : undefined
  }

  /** The values that are there at a number in a range. */
  within({ start, limit }: KeyRange, number: number): [Bytes, Bytes][] {
    const found: [Bytes, Bytes][] = []
    const end = this.#placeOf(limit)
    for (let at = this.#placeOf(start); at < end; at++) {
      const [key, value] = [this.#keys[at], this.#lastOf(at, number)?.value]
      if (key !== undefined && value != null) found.push([key, value])
    }
    return found
  }

  #lastOf(at: number, number: number): Change | undefined {
    return this.#changes[at]?.findLast((change) => change.number <= number)
  }

  #isAt(at: number, key: Bytes): boolean {
    const there = this.#keys[at]
    return there !== undefined && sameBytes(there, key)
  }

  /** Where a key is, or belongs. */
  #placeOf(key: Bytes): number {
    let [low, high] = [0, this.#keys.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareBytes(this.#keys[middle] ?? key, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

class ScratchView implements KvView {
  readonly #below: KvView
  readonly #changes: Changes
  readonly #number: number

  constructor(below: KvView, changes: Changes, number: number) {
    this.#below = below
    this.#changes = changes
    this.#number = number
  }

  get(key: Bytes): Awaitable<Bytes | null> {
    const below = this.#below.get(key) // Also of a record that has changed: the view may have ended.
    const change = this.#changes.of(key, this.#number)
    if (change === undefined) return below
    return isSync(below) ? change.value : below.then(() => change.value)
  }

  getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    return Promise.all(keys.map(async (key) => this.get(key)))
  }

  /** Ignores `bytesMax`. */
  async scan({ start, limit, count, reverse, keysOnly }: KvScan): Promise<[Bytes, Bytes][]> {
    const found: [Bytes, Bytes][] = []
    let rest: KeyRange = { start, limit }
    for (;;) {
      const wanted = count - found.length
      const how = { count: wanted, reverse: reverse === true, keysOnly: keysOnly === true }
      const below = await this.#below.scan({ ...rest, ...how })
      // Behind the last record of a full batch there may be more.
      const last = below.length < wanted ? undefined : below.at(-1)?.[0]
      const parts = last === undefined ? [rest] : cutAt(rest, last, how.reverse)
      const kept = below.filter(([key]) => this.#changes.of(key, this.#number) === undefined)
      const entries = [...kept, ...this.#changes.within(parts[0] ?? rest, this.#number)]
      entries.sort(([left], [right]) => compareBytes(left, right) * (how.reverse ? -1 : 1))
      found.push(...entries.slice(0, wanted))
      if (parts[1] === undefined || found.length === count) return found
      rest = parts[1]
    }
  }
}

/** The part of a range up to a key, which is included, and the part behind it, in the direction of a scan. */
function cutAt({ start, limit }: KeyRange, key: Bytes, isReverse: boolean): KeyRange[] {
  const after = keyAfter(key)
  const up = { start, limit: isReverse ? key : after }
  const down = { start: isReverse ? key : after, limit }
  return isReverse ? [down, up] : [up, down]
}
