// A hash join of a table and an input, from their stored bytes: for each row of the table, it finds the input row with
// the same key.
//
// Invariants:
// - An extent is read again only if its rows have changed. So a repeated join reads only the extents that other writers
//   have changed.
// - The memory of the index is bounded. With more rows than fit, the join takes several passes, each for a part of the
//   keys.
// - A row with an empty key cell has no key, and thus no partner.
import { sameBytes } from '../../base/bytes.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { EARLIER_SCHEMA, type Generation, type TableHead } from '../../format/records.js'
import {
  FINGERPRINT,
  FINGERPRINT_SEED_BYTES,
  RowFingerprints,
} from '../../format/row-fingerprint.js'
import { readSpans } from '../../format/row-text.js'
import { FingerprintBatch, HashTable, INDEXED_ROW_BYTES } from './hash-table.js'
import {
  isToBeRewritten,
  type JoinedExtent,
  MAY_DIFFER,
  NO_PARTNER,
  NO_ROW,
  newJoined,
  partnerOf,
} from './joined-extent.js'
import { emptyKey, keyTwiceInInput, keyTwiceInTable } from './key-errors.js'
import type { StoredRow } from './merged-row.js'
import { type JoinParts, OrderedJoin } from './ordered-join.js'
import { packTexts, type RowPiece, workOfPiece } from './packed-texts.js'
import { checkAllLaid, type SeenExtent } from './table-rows.js'

/** Maximum number of looks at a table that keeps changing. After that the merge takes its turn before it joins. */
const SETTLE_TRIES_MAX = 20

/** How the stored rows of an extent are read. */
type StoredReading = Readonly<{
  converts: boolean
  /** Removes the cells of dropped columns. */
  shown: (text: string, slot: number) => string
}>

const AS_IT_IS: StoredReading = Object.freeze({ converts: false, shown: (text: string) => text })

export class TableJoin {
  readonly #parts: JoinParts
  #triesOrder: boolean
  readonly #fingerprints: RowFingerprints
  readonly #batch = new FingerprintBatch()
  readonly #slices: TimeSlices
  readonly #passes: number
  #index: HashTable | undefined
  /** The number of times that extents were joined with the index. */
  #joins = 0
  #generation: Uint8Array | undefined
  #keptChars = 0
  /** The joined extents, by number. */
  readonly extents = new Map<number, JoinedExtent>()

  /** @param projects - Whether rows of the table may have cells that comparisons must leave out; see `ChangeParts`. */
  constructor(
    parts: JoinParts,
    readonly projects: boolean,
  ) {
    this.#parts = parts
    this.#triesOrder = !projects
    const { options, slices } = parts.place.team
    const seed = options.random.bytes(FINGERPRINT_SEED_BYTES)
    this.#fingerprints = new RowFingerprints(parts.rules.key, seed)
    this.#slices = slices.begin()
    this.#passes = Math.max(
      1,
      Math.ceil((parts.incoming.count * INDEXED_ROW_BYTES) / options.mergeBytesMax),
    )
  }

  /**
   * Joins until no row has changed since its extent was read.
   * @returns the head at that time; null: rows changed during each attempt.
   */
  async settle(): Promise<TableHead | null> {
    for (let tries = 0; tries < SETTLE_TRIES_MAX; tries++) {
      const { head, extents } = await this.#parts.rows.signatures()
      const { nonce } = head.generation
      if (this.#generation === undefined || !sameBytes(this.#generation, nonce)) this.#forgetAll()
      this.#generation = nonce
      const stale = [...extents].filter(([number, signature]) => {
        return this.extents.get(number)?.signature !== signature
      })
      if (stale.length === 0) {
        if (extents.size === 0) await this.#checkInput()
        await this.#checkPartners(head.generation)
        // The next steps need the memory of the index. If others change rows meanwhile, the index is built again and
        // then kept.
        if (this.#joins <= 1) await this.#dropIndex()
        return head
      }
      if (this.#triesOrder) await this.#joinInOrder(head.generation)
      else {
        await this.#join(
          stale.map(([number]) => number),
          nonce,
        )
      }
    }
    return null
  }

  /** Joins, once, the extents that can be joined without an index. The other extents are joined with it. */
  async #joinInOrder({ nonce, firstExtent, nextExtent }: Generation): Promise<void> {
    this.#triesOrder = false
    const join = new OrderedJoin(this.#parts)
    for (const joined of await join.run(nonce, firstExtent, nextExtent)) {
      this.extents.set(joined.extent, joined)
    }
  }

  /** One bit per input row: whether it has a partner. */
  async matched(): Promise<Uint8Array> {
    const bits = new Uint8Array(Math.ceil(this.#parts.incoming.count / 8))
    for (const { partners } of this.extents.values()) {
      for (const partner of partners) {
        const row = partnerOf(partner)
        if (row >= 0) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7))
      }
      if (this.#slices.spend(partners.byteLength)) await this.#slices.pause()
    }
    return bits
  }

  /** Releases the texts of an extent whose rows were compared. */
  release(joined: JoinedExtent): void {
    for (const { text } of joined.kept?.values() ?? []) this.#keptChars -= text.length
    joined.kept = null
  }

  #forgetAll(): void {
    this.extents.clear()
    this.#keptChars = 0
  }

  async #join(stale: readonly number[], generationNonce: Uint8Array): Promise<void> {
    this.#joins++
    for (let pass = 0; pass < this.#passes; pass++) {
      const index = await this.#indexOf(pass)
      for (const [first, limit] of runsOfNumbers(stale)) {
        for (let next = first; next < limit; ) {
          const read = await this.#parts.rows.see(generationNonce, next, limit)
          next = read.next
          for (const extent of read.extents) {
            this.#parts.checkGoesOn()
            await this.#joinExtent(extent, read.generation, index, pass)
          }
        }
      }
    }
  }

  /** Reads the input if the table has no rows: even then its rows must have keys, and the keys must be unique. */
  async #checkInput(): Promise<void> {
    for (let pass = 0; pass < this.#passes; pass++) await this.#indexOf(pass)
  }

  /** The index of the input rows whose keys belong to a pass. */
  async #indexOf(pass: number): Promise<HashTable> {
    if (this.#index !== undefined && this.#passes === 1) return this.#index
    await this.#dropIndex() // The old index is freed before the next one is built.
    const { incoming, rules } = this.#parts
    const index = new HashTable(
      Math.ceil((this.#passes === 1 ? 1 : 1.02) * (incoming.count / this.#passes)),
    )
    const fingerprints = this.#fingerprints
    const batch = this.#batch
    batch.count = 0
    for await (const pieces of incoming.pieces()) {
      this.#parts.checkGoesOn()
      for (const piece of pieces) {
        const { frame, first, limit, slot } = piece
        fingerprints.use(frame.texts)
        let from = frame.endOf(first - 1)
        for (let row = first; row < limit; row++) {
          const end = frame.endOf(row)
          const number = slot + row - first
          const empty = fingerprints.read(from, end, batch.count)
          from = end
          if (empty < 0 && this.#isOf(pass)) batch.rows[batch.count++] = number
          if (empty < 0 && !batch.isFull && row + 1 < limit) continue
          const twice = batch.addTo(index, fingerprints.words)
          if (twice !== null) throw await keyTwiceInInput(incoming, rules.key, ...twice)
          if (empty >= 0) throw emptyKey(incoming, number, rules.key[empty] ?? '')
        }
        if (this.#slices.spend(workOfPiece(piece))) await this.#slices.pause()
      }
    }
    this.#index = index
    return index
  }

  /**
   * Frees the index, and waits until its memory is free: in Node 20 a message channel takes the memory, and the event
   * loop frees it with the channel, in its next turn.
   */
  async #dropIndex(): Promise<void> {
    if (this.#index === undefined) return
    this.#index.free()
    this.#index = undefined
    await this.#slices.pause()
    await this.#slices.pause()
  }

  /** Whether a pass includes the row whose fingerprint was just read into the next place of the batch. */
  #isOf(pass: number): boolean {
    if (this.#passes === 1) return true
    const at = FINGERPRINT.words * this.#batch.count + FINGERPRINT.pass
    return (this.#fingerprints.words[at] ?? 0) % this.#passes === pass
  }

  async #joinExtent(
    seen: SeenExtent,
    generation: Generation,
    index: HashTable,
    pass: number,
  ): Promise<void> {
    checkAllLaid(seen)
    const joined = this.#begun(seen, pass)
    if (joined === null) return
    const { rows } = this.#parts
    const wasConverted = rows.wasConverted(seen, generation)
    const schemaNumber = wasConverted ? EARLIER_SCHEMA : generation.schemaNumber
    const reading = { converts: rows.converts(seen, generation), shown: await rows.shownIn(seen) }
    for await (const { pieces, shows } of rows.stored(seen)) {
      for (const piece of pieces) {
        const read = this.#asItReads(piece, reading)
        const keep = (slot: number): void => {
          this.#keep(joined, slot, piece, reading.shown, schemaNumber)
        }
        this.#joinPiece(joined, read, index, pass, shows, keep)
        if (this.#slices.spend(workOfPiece(piece))) await this.#slices.pause()
      }
    }
    for (const piece of rows.laid(seen, generation)) {
      const read = this.#asItReads(piece, AS_IT_IS)
      const record = seen.records.get(piece.slot)
      const keep = (slot: number): void => {
        if (record?.text == null) return
        const text = rows.shown(record.text, record.version)
        this.#keepText(joined, slot, { text, schemaNumber: record.schemaNumber })
      }
      this.#joinPiece(joined, read, index, pass, () => true, keep)
    }
  }

  /** The join of an extent to continue in a pass; null: the rows have changed since the first pass. */
  #begun(seen: SeenExtent, pass: number): JoinedExtent | null {
    const { extent, signature } = seen
    const known = this.extents.get(extent)
    if (pass > 0) {
      if (known?.signature === signature) return known
      if (known !== undefined) known.signature = ''
      return null
    }
    if (known !== undefined) this.release(known)
    const joined = newJoined(seen, new Map())
    this.extents.set(extent, joined)
    return joined
  }

  #joinPiece(
    joined: JoinedExtent,
    { frame, first, limit, slot }: RowPiece,
    index: HashTable,
    pass: number,
    shows: (slot: number) => boolean,
    keep: (slot: number) => void,
  ): void {
    const fingerprints = this.#fingerprints
    const batch = this.#batch
    batch.count = 0
    fingerprints.use(frame.texts)
    let from = frame.endOf(first - 1)
    for (let row = first; row < limit; row++) {
      const end = frame.endOf(row)
      const at = slot + row - first
      if (shows(at)) {
        if (pass === 0) joined.partners[at] = NO_PARTNER
        const hasKey = fingerprints.read(from, end, batch.count) < 0
        if (hasKey && this.#isOf(pass)) batch.rows[batch.count++] = at
      }
      if (batch.isFull || row + 1 === limit) this.#findBatch(joined, index, keep)
      from = end
    }
  }

  /** Looks up the partners of the rows of the batch. */
  #findBatch({ partners }: JoinedExtent, index: HashTable, keep: (slot: number) => void): void {
    const { words } = this.#fingerprints
    const { rows, count } = this.#batch
    this.#batch.count = 0
    index.touch(words, count)
    for (let i = 0; i < count; i++) {
      const slot = rows[i] ?? 0
      const entry = index.find(words, FINGERPRINT.words * i)
      if (entry < 0) continue
      const isSame = index.hasText(entry, words, FINGERPRINT.words * i)
      partners[slot] = index.rowOf(entry) | (isSame ? 0 : MAY_DIFFER)
      if (!isSame) keep(slot)
    }
  }

  /**
   * A piece in the form of the input's rows: converted, and without the cells in columns that the merge does not set.
   */
  #asItReads(piece: RowPiece, { converts, shown }: StoredReading): RowPiece {
    if (!converts && !this.projects) return piece
    const texts: string[] = []
    for (let row = piece.first; row < piece.limit; row++) {
      const stored = piece.frame.rowText(row)
      const slot = piece.slot + row - piece.first
      const text = converts ? this.#parts.rows.convert(shown(stored, slot)) : stored
      texts.push(this.projects ? this.#projected(text) : text)
    }
    return packTexts(texts, piece.slot)
  }

  #projected(text: string): string {
    const { inputColumns } = this.#parts.rules
    const spans = readSpans(text).filter(({ id }) => inputColumns.has(id))
    return spans.map(({ start, end }) => text.slice(start, end)).join(',')
  }

  #keep(
    joined: JoinedExtent,
    slot: number,
    { frame, first, slot: firstSlot }: RowPiece,
    shown: StoredReading['shown'],
    schemaNumber: number,
  ): void {
    const row = first + slot - firstSlot
    const text = joined.kept === null ? '' : shown(frame.rowText(row), slot)
    this.#keepText(joined, slot, { text, schemaNumber })
  }

  #keepText(joined: JoinedExtent, slot: number, { text, schemaNumber }: StoredRow): void {
    joined.mayDiffer++
    if (joined.kept === null) return
    joined.kept.set(slot, { text, schemaNumber })
    this.#keptChars += text.length
    if (isToBeRewritten(joined, this.#keptChars)) this.release(joined)
  }

  /** @throws {StoreError} KEY_NOT_UNIQUE: if two rows of the table have the same partner */
  async #checkPartners(generation: Generation): Promise<void> {
    const { incoming, rows, rules } = this.#parts
    const seen = new Uint8Array(Math.ceil(incoming.count / 8))
    for (const { partners, seen: extent } of this.extents.values()) {
      for (let slot = 0; slot < partners.length; slot++) {
        const row = partnerOf(partners[slot] ?? NO_ROW)
        if (row < 0) continue
        const bit = 1 << (row & 7)
        const byte = seen[row >> 3] ?? 0
        if ((byte & bit) === 0) {
          seen[row >> 3] = byte | bit
          continue
        }
        const first = this.#positionOf(row)
        const ids = [
          await rows.rowIdOf(generation, first.extent, first.slot),
          await rows.rowIdOf(generation, extent, slot),
        ]
        throw await keyTwiceInTable(incoming, rules.key, row, ids)
      }
      if (this.#slices.spend(partners.byteLength)) await this.#slices.pause()
    }
  }

  #positionOf(row: number): Readonly<{ extent: JoinedExtent['seen']; slot: number }> {
    for (const { partners, seen } of this.extents.values()) {
      const slot = partners.findIndex((partner) => partnerOf(partner) === row)
      if (slot >= 0) return { extent: seen, slot }
    }
    throw new Error('A row that has a partner is in the table')
  }
}

/** Ascending numbers, as runs without gaps. */
function* runsOfNumbers(numbers: readonly number[]): Generator<[first: number, limit: number]> {
  let first = -1
  let limit = -1
  for (const number of numbers) {
    if (number === limit) {
      limit++
      continue
    }
    if (first >= 0) yield [first, limit]
    first = number
    limit = number + 1
  }
  if (first >= 0) yield [first, limit]
}
