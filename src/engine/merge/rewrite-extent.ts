// Rewrites an extent in which many rows change, as a compaction does: positions, row IDs and versions stay, except
// for the rows that the merge changes.

import { type Bytes, utf8 } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { type ExtentEntry, rewrittenEntry } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import { EARLIER_SCHEMA, type Generation } from '../../format/records.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import type { SegmentBuilder } from '../../format/segment-writer.js'
import type { TablePlace } from '../context/store-context.js'
import { beginSegment, putSegment } from '../context/stored-segments.js'
import { type JoinedExtent, MAY_DIFFER, NO_PARTNER, NO_ROW } from './joined-extent.js'
import type { MergeRules, StoredRow } from './merged-row.js'
import { type RowPiece, workOfPiece } from './packed-texts.js'
import type { SeenExtent, TableRows } from './table-rows.js'

export type RewriteParts = Readonly<{
  place: TablePlace
  rows: TableRows
  rules: MergeRules
  /** Collects the files that changed rows name. */
  files: FileIds
  /** Called with the object of the new segment before the object is written. */
  onSegment(written: Readonly<{ object: string }>): void
}>

/** Decides the new form of a row that may change. @returns null: the row stays */
export type Decide = (slot: number, stored: StoredRow) => StoredRow | null

export type Rewritten = Readonly<{
  /** The new entry of the extent; null: a dry run. */
  entry: ExtentEntry | null
  changed: number
  /** Slots of changed or deleted rows that have row records. The commit of the merge deletes these records. */
  overlaid: readonly number[]
}>

/** @param version - The version of the commit; null: nothing is written, only counted. */
export async function rewriteExtent(
  parts: RewriteParts,
  joined: JoinedExtent,
  { seen, generation }: Readonly<{ seen: SeenExtent; generation: Generation }>,
  decide: Decide,
  version: number | null,
): Promise<Rewritten> {
  const { segments, slices: turns } = parts.place.team
  const segment = seen.entry?.segment ?? null
  const footer = segment === null ? null : await segments.footerOnce(segment)
  const writer = new ExtentWriter(parts, joined, { seen, generation, footer }, decide, version)
  const slices = turns.begin()
  if (segment === null) writer.takeRecords()
  else {
    for await (const { pieces } of parts.rows.stored(seen)) {
      for (const piece of pieces) {
        writer.take(piece)
        if (slices.spend(workOfPiece(piece))) await slices.pause()
      }
    }
  }
  return writer.end()
}

type Below = Readonly<{ seen: SeenExtent; generation: Generation; footer: SegmentFooter | null }>

class ExtentWriter {
  readonly #parts: RewriteParts
  readonly #joined: JoinedExtent
  readonly #below: Below
  readonly #decide: Decide
  readonly #version: number | null
  readonly #object: string
  readonly #builder: SegmentBuilder | null
  readonly #versions: number[] = []
  readonly #deleted: Uint8Array
  readonly #storedUnder: number
  readonly #overlaid: number[] = []
  #hasDeleted = false
  #changed = 0

  constructor(
    parts: RewriteParts,
    joined: JoinedExtent,
    below: Below,
    decide: Decide,
    version: number | null,
  ) {
    this.#parts = parts
    this.#joined = joined
    this.#below = below
    this.#decide = decide
    this.#version = version
    const { team } = parts.place
    const { seen, generation } = below
    const isConverted = parts.rows.wasConverted(seen, generation)
    this.#storedUnder = isConverted ? EARLIER_SCHEMA : generation.schemaNumber
    this.#deleted = new Uint8Array(Math.ceil(seen.rowCount / 8))
    this.#object = version === null ? '' : team.ids.next()
    if (version !== null) parts.onSegment({ object: this.#object })
    this.#builder = version === null ? null : beginSegment(team, this.#object)
  }

  /** Takes the rows of a piece of the segment, or the records that are laid over them. */
  take({ frame, first, limit, slot: firstSlot }: RowPiece): void {
    for (let row = first; row < limit; row++) {
      const slot = firstSlot + row - first
      if (this.#takeLaid(slot)) continue
      const from = frame.endOf(row - 1)
      const to = frame.endOf(row)
      const { entry } = this.#below.seen
      const version = this.#below.footer?.versionOf?.(slot) ?? entry?.version ?? 0
      const text = (): string => sliceText(frame.texts, from, to)
      this.#row(slot, version, text, this.#storedUnder, () => {
        this.#builder?.addRow((texts) => texts.part(frame.texts, from, to))
      })
    }
  }

  /** Takes the rows of an extent without a segment: all its rows are records. */
  takeRecords(): void {
    const { rowCount } = this.#below.seen
    for (let slot = 0; slot < rowCount; slot++) {
      if (!this.#takeLaid(slot)) this.#delete(slot, this.#below.seen.entry?.version ?? 0)
    }
  }

  #takeLaid(slot: number): boolean {
    const laid = this.#below.seen.records.get(slot)
    if (laid === undefined) return false
    const { text, version, schemaNumber } = laid
    const before = this.#changed
    const wasRemoved = this.#isRemoved(slot)
    this.#row(
      slot,
      version,
      () => text ?? '',
      schemaNumber,
      () => this.#builder?.add(text ?? ''),
    )
    if (this.#changed > before || wasRemoved) this.#overlaid.push(slot)
    return true
  }

  #isRemoved(slot: number): boolean {
    return this.#parts.rules.deletesMissing && this.#joined.partners[slot] === NO_PARTNER
  }

  #row(
    slot: number,
    version: number,
    text: () => string,
    schemaNumber: number,
    copy: () => void,
  ): void {
    const partner = this.#joined.partners[slot] ?? NO_ROW
    if (partner === NO_ROW || this.#isRemoved(slot)) {
      this.#delete(slot, partner === NO_ROW ? version : (this.#version ?? version))
      return
    }
    const mayDiffer = partner >= 0 && (partner & MAY_DIFFER) !== 0
    const stored = (): StoredRow => {
      return { text: this.#parts.rows.shown(text(), version), schemaNumber }
    }
    const merged = mayDiffer ? this.#decide(slot, stored()) : null
    if (merged === null) {
      copy()
      this.#versions.push(version)
      return
    }
    this.#changed++
    this.#parts.files.note(utf8(merged.text))
    this.#builder?.add(merged.text)
    this.#versions.push(this.#version ?? version)
  }

  #delete(slot: number, version: number): void {
    this.#hasDeleted = true
    this.#deleted[slot >> 3] = (this.#deleted[slot >> 3] ?? 0) | (1 << (slot & 7))
    this.#builder?.add('')
    this.#versions.push(version)
  }

  async end(): Promise<Rewritten> {
    const { entry, rowCount } = this.#below.seen
    const counted = { changed: this.#changed, overlaid: this.#overlaid }
    if (this.#builder === null || entry === null) return { entry: null, ...counted }
    const deleted: Bytes | null = this.#hasDeleted ? this.#deleted : null
    const built = await this.#builder.finishCompaction(this.#versions, deleted)
    const { team } = this.#parts.place
    await putSegment(team, this.#object, built)
    for (const buffer of built.used) team.buffers.give(buffer)
    const { bytes, footerBytes, files } = built
    const segment = { object: this.#object, rowCount, objectBytes: bytes.length, footerBytes }
    return { entry: rewrittenEntry(entry, segment, !files.isEmpty), ...counted }
  }
}
