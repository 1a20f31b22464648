// Reads the keys of all rows of a table while the table may change.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { type KeyColumn, KeyHasher } from '../../format/key-hash.js'
import type { Generation } from '../../format/records.js'
import type { TablePlace } from '../context/store-context.js'
import { positionIn, walkPlan } from '../find/find-walk.js'
import { choosePage, type PageStart } from '../read/open-page.js'
import type { Run } from '../read/page-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { KeyedRows } from './keyed-rows.js'
import { tooManyToKey } from './keyed-rows-max.js'
import { HASH_WORK } from './linked-keys.js'

/** Maximum number of rows that one view reads. */
const ROWS_AT_ONCE = 262_144

/** Tells which keys to read, and whether to go on. `what`: the operation, for messages. */
export type KeysWanted = Readonly<{
  /** Whether to keep the key with a hash. Default: all keys are kept. */
  wants?: (hash: Bytes) => boolean
  what?: string
  signal?: AbortSignal | undefined
}>

/**
 * @returns null: the table was overwritten meanwhile.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR: if there are too many rows; ABORTED
 */
export async function keysOfTable(
  place: TablePlace,
  { nonce }: Generation,
  columns: readonly KeyColumn[],
  { wants = () => true, what = 'search', signal }: KeysWanted = {},
): Promise<KeyedRows | null> {
  const { team, table } = place
  const found = new FoundKeys(new KeyHasher(columns), wants)
  const wanted = {
    matcher: null,
    found,
    what,
    signal,
    mayMatch: () => true,
    segmentTests: 0,
    rowWork: HASH_WORK,
  }
  let token: PageStart['token']
  for (;;) {
    const { plan } = await choosePage(place, { token, rows: ROWS_AT_ONCE })
    if (!sameBytes(plan.generation.nonce, nonce)) return null
    await walkPlan(team, plan, wanted)
    const last = plan.runs[plan.runs.length - 1]
    if (plan.isEnd || last === undefined) return found.keys
    token = { table, generation: nonce, position: positionIn(last, last.limit) }
  }
}

class FoundKeys {
  readonly keys = new KeyedRows(tooManyToKey)
  readonly isFull = false
  readonly #hasher: KeyHasher
  readonly #wants: (hash: Bytes) => boolean

  constructor(hasher: KeyHasher, wants: (hash: Bytes) => boolean) {
    this.#hasher = hasher
    this.#wants = wants
  }

  take({ extent }: Run['extent'], { frame, first, limit, slot }: FrameRows): number {
    for (let row = first; row < limit; row++) {
      const hash = this.#hasher.ofRow(frame.texts, frame.endOf(row - 1), frame.endOf(row))
      if (hash !== null && this.#wants(hash))
        this.keys.add(hash, { extent, slot: slot + row - first })
    }
    return limit - first
  }
}
