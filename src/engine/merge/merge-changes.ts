// The changes that a merge makes to a table. If few rows of an extent change, they become row records. An extent with
// many changes is rewritten. An extent without remaining rows loses its segment.
//
// Invariant: the draft holds for the head that it names. A commit that checks this head, and the entries of the
// rewritten extents, turns the table into the result of the merge.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { sortSteps } from '../../base/sort-steps.js'
import { StoreError } from '../../base/store-error.js'
import { ITEM_WORK } from '../../base/time-slices.js'
import { type ExtentEntry, rewrittenEntry } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import { type Position, rowKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import { newMarkedFiles } from '../commit/file-markers.js'
import type { TablePlace } from '../context/store-context.js'
import type { LinkableRows } from '../import/rows-reader.js'
import type { MergeCounts } from '../types/merge-types.js'
import { addedRows, countFree, listFreeRows } from './added-rows.js'
import type { IncomingRows } from './incoming-rows.js'
import { type JoinedExtent, NO_PARTNER, NO_ROW, partnerOf, REWRITE_SHARE } from './joined-extent.js'
import { type MergeRules, mergedRow, type StoredRow } from './merged-row.js'
import { type Decide, rewriteExtent } from './rewrite-extent.js'
import { TableJoin } from './table-join.js'
import type { SeenExtent, TableRows } from './table-rows.js'

/**
 * A merge makes at most this many row records, with at most this many characters. If there would be more, the extents
 * with the most changes are rewritten.
 */
const RECORDS_MAX = 20_000
const RECORD_CHARS_MAX = 16 * 1024 * 1024

/** Maximum number of records over rewritten extents that one merge deletes. */
const DELETES_MAX = 200_000

/** Maximum number of characters of input rows that are gathered at once, to be compared with rows in another order. */
const GATHERED_CHARS_MAX = 24 * 1024 * 1024

/** Maximum number of drafts beside other changes of the table. After that the merge takes its turn before it drafts. */
const DRAFT_TRIES_MAX = 10

/** A row that becomes a row record; null: the row is deleted. */
export type ChangedRow = Readonly<{ position: Position; row: StoredRow | null }>

/** An entry that replaces another. @param before - The object of the replaced entry. */
export type ChangedExtent = Readonly<{ extent: number; before: string | null; entry: ExtentEntry }>

export type MergeDraft = Readonly<{
  head: TableHead
  counts: MergeCounts
  records: readonly ChangedRow[]
  extents: readonly ChangedExtent[]
  deletes: readonly Bytes[]
  /** Rows to append. */
  added: LinkableRows
  /** Files that the new texts of changed rows name. */
  files: FileIds
}>

type ChangeParts = Readonly<{
  place: TablePlace
  rules: MergeRules
  incoming: IncomingRows
  rows: TableRows
  /** Whether the merge gives a column another type. */
  retypes: boolean
  /** Whether rows of the table may have cells that the merge leaves unchanged: comparisons must leave these out. */
  projects: boolean
  checkGoesOn: () => void
  onSegment(written: Readonly<{ object: string }>): void
}>

/** The planned work on an extent. */
type Work = {
  readonly joined: JoinedExtent
  removed: number
  way: 'none' | 'records' | 'rewrite' | 'drop'
}

/** The result of a step if the rows have changed since they were joined. */
const MOVED = Symbol('moved')

export class MergeChanges {
  readonly #parts: ChangeParts
  readonly #join: TableJoin
  /** The rows to append, if `matched` is still the set of matched input rows. */
  #added: Readonly<{ matched: Bytes; rows: LinkableRows }> | undefined

  constructor(parts: ChangeParts) {
    this.#parts = parts
    const merge = (stored: StoredRow, incoming: string): StoredRow | null => {
      return this.#merge(stored, incoming)
    }
    this.#join = new TableJoin({ ...parts, merge }, parts.projects)
  }

  /**
   * @param isDry - Whether only the head and the counts are needed.
   * @returns null: the rows of the table changed during each attempt.
   */
  async draft(isDry: boolean): Promise<MergeDraft | null> {
    for (let tries = 0; tries < DRAFT_TRIES_MAX; tries++) {
      const head = await this.#join.settle()
      if (head === null) return null
      await this.#compareKept()
      const draft = await this.#draftOn(head, isDry)
      if (draft !== MOVED) return draft
    }
    return null
  }

  async #draftOn(head: TableHead, isDry: boolean): Promise<MergeDraft | typeof MOVED> {
    const { incoming } = this.#parts
    const works = this.#plan()
    const files = newMarkedFiles()
    const extents: ChangedExtent[] = []
    const deletes: Bytes[] = []
    const rewritten = works.filter(({ way }) => way === 'rewrite')
    let changed = 0
    for (const some of this.#inGroups(rewritten)) {
      const done = await this.#rewrite(some, head, isDry ? null : files)
      if (done === MOVED) return MOVED
      changed += done.changed
      extents.push(...done.extents)
      deletes.push(...done.deletes)
    }
    for (const { joined } of works.filter(({ way }) => way === 'drop')) {
      const dropped = await this.#drop(joined, head)
      if (dropped === MOVED) return MOVED
      extents.push(dropped.extent)
      deletes.push(...dropped.deletes)
    }
    if (deletes.length > DELETES_MAX) throw tooManyRecords()
    const records = works.flatMap(({ joined, way }) =>
      way === 'records' ? this.#records(joined) : [],
    )
    changed += records.reduce((sum, { row }) => sum + (row === null ? 0 : 1), 0)
    const matched = await this.#join.matched()
    const added = countFree(matched, 0, incoming.count)
    const partners = incoming.count - added
    const removed = works.reduce((sum, work) => sum + work.removed, 0)
    const counts = { added, changed, unchanged: partners - changed, removed }
    const rows = isDry ? { texts: [] } : await this.#addedRows(matched, added)
    return { head, counts, records, extents, deletes, added: rows, files }
  }

  /** Compares the rows that may change with their partners, in extents whose texts are in memory. */
  async #compareKept(): Promise<void> {
    const waiting: { row: number; joined: JoinedExtent; slot: number }[] = []
    const found = new Map<JoinedExtent, Map<number, StoredRow>>()
    for (const joined of this.#join.extents.values()) {
      if (joined.kept === null || joined.changes !== null) continue
      found.set(joined, new Map())
      for (const slot of joined.kept.keys()) {
        waiting.push({ row: partnerOf(joined.partners[slot] ?? NO_ROW), joined, slot })
      }
    }
    const slices = this.#parts.place.team.slices.begin()
    const order = Uint32Array.from(waiting.keys())
    const rowAt = (at: number): number => waiting[at]?.row ?? 0
    await slices.run(sortSteps(order, (a, b) => rowAt(a) - rowAt(b)))
    const rows = order.map(rowAt)
    if (rows.length > 0) {
      for await (const texts of this.#parts.incoming.textsAt(rows)) {
        this.#parts.checkGoesOn()
        for (const [at, text] of texts) {
          if (slices.spend(ITEM_WORK + text.length)) await slices.pause()
          const { joined, slot } = waiting[order[at] ?? 0] ?? {}
          const stored = slot === undefined ? undefined : joined?.kept?.get(slot)
          if (joined === undefined || slot === undefined || stored === undefined) continue
          const merged = this.#merge(stored, text)
          if (merged !== null) found.get(joined)?.set(slot, merged)
        }
      }
    }
    for (const [joined, changes] of found) {
      joined.changes = changes
      this.#join.release(joined)
    }
  }

  #merge(stored: StoredRow, incoming: string): StoredRow | null {
    const { rules, rows, retypes } = this.#parts
    const isCurrent = stored.schemaNumber === rules.schemaBefore && !retypes
    return mergedRow(rules, stored, isCurrent ? stored.text : rows.convert(stored.text), incoming)
  }

  #plan(): Work[] {
    const { rules } = this.#parts
    const works: Work[] = []
    for (const joined of this.#join.extents.values()) {
      const { removed, live } = rules.deletesMissing
        ? countPartners(joined)
        : { removed: 0, live: 0 }
      const known = joined.changes
      const isOpen = joined.seen.entry === null
      const count = removed + (known?.size ?? 0)
      const isMany = !isOpen && REWRITE_SHARE * count > joined.seen.rowCount
      let way: Work['way'] = count === 0 ? 'none' : 'records'
      if (!isOpen && removed > 0 && removed === live) way = 'drop'
      else if (known === null || isMany) way = 'rewrite'
      works.push({ joined, removed, way })
    }
    this.#limitRecords(works)
    return works
  }

  /** Rewrites the extents with the most changes if there would be too many records. */
  #limitRecords(works: readonly Work[]): void {
    const sized = works
      .filter(({ way }) => way === 'records')
      .map((work) => {
        const changes = [...(work.joined.changes?.values() ?? [])]
        const chars = changes.reduce((sum, { text }) => sum + text.length, 0)
        return { work, count: work.removed + changes.length, chars }
      })
    sized.sort((a, b) => b.count - a.count)
    let count = sized.reduce((sum, each) => sum + each.count, 0)
    let chars = sized.reduce((sum, each) => sum + each.chars, 0)
    for (const each of sized) {
      if (count <= RECORDS_MAX && chars <= RECORD_CHARS_MAX) return
      if (each.work.joined.seen.entry === null) continue
      each.work.way = 'rewrite'
      count -= each.count
      chars -= each.chars
    }
  }

  #records({ extent, partners, changes }: JoinedExtent): ChangedRow[] {
    const records: ChangedRow[] = []
    for (const [slot, row] of changes ?? []) records.push({ position: { extent, slot }, row })
    if (this.#parts.rules.deletesMissing) {
      for (const [slot, partner] of partners.entries()) {
        if (partner === NO_PARTNER) records.push({ position: { extent, slot }, row: null })
      }
    }
    return records
  }

  /** Groups extents whose partners are read together. */
  *#inGroups(works: readonly Work[]): Generator<Work[]> {
    let group: Work[] = []
    let rows = 0
    const { averageChars } = this.#parts.incoming
    for (const work of works) {
      const more = work.joined.changes === null ? work.joined.mayDiffer : 0
      if (group.length > 0 && (rows + more) * averageChars > GATHERED_CHARS_MAX) {
        yield group
        group = []
        rows = 0
      }
      group.push(work)
      rows += more
    }
    if (group.length > 0) yield group
  }

  /** @param files - Collects the files of changed rows; null: a dry run. */
  async #rewrite(
    group: readonly Work[],
    head: TableHead,
    files: FileIds | null,
  ): Promise<
    Readonly<{ changed: number; extents: ChangedExtent[]; deletes: Bytes[] }> | typeof MOVED
  > {
    const textOf = await this.#gather(group)
    const extents: ChangedExtent[] = []
    const deletes: Bytes[] = []
    let changed = 0
    for (const { joined } of group) {
      this.#parts.checkGoesOn()
      if (joined.changes !== null && files === null) {
        changed += joined.changes.size
        continue
      }
      const found = await this.#seeAgain(joined, head)
      if (found === MOVED) return MOVED
      const parts = { ...this.#parts, files: files ?? newMarkedFiles() }
      const decide = this.#decider(joined, textOf)
      const version = files === null ? null : head.version + 1
      const done = await rewriteExtent(parts, joined, found, decide, version)
      changed += done.changed
      for (const slot of done.overlaid) {
        deletes.push(rowKey(parts.place.table, { extent: joined.extent, slot }))
      }
      const before = found.seen.entry?.segment?.object ?? null
      if (done.entry !== null) extents.push({ extent: joined.extent, before, entry: done.entry })
    }
    return { changed, extents, deletes }
  }

  #decider(joined: JoinedExtent, textOf: (row: number) => string): Decide {
    const { changes } = joined
    if (changes !== null) return (slot) => changes.get(slot) ?? null
    return (slot, stored) => {
      return this.#merge(stored, textOf(partnerOf(joined.partners[slot] ?? NO_ROW)))
    }
  }

  /** The texts of the partners that were not compared yet. */
  async #gather(group: readonly Work[]): Promise<(row: number) => string> {
    const { incoming, place } = this.#parts
    const slices = place.team.slices.begin()
    const others = new Uint8Array(Math.ceil(incoming.count / 8)).fill(0xff) // One bit per row: 1 if it is not wanted.
    for (const { joined } of group) {
      const { changes, partners } = joined
      if (slices.spend(partners.byteLength)) await slices.pause()
      if (changes !== null) continue
      for (const partner of partners) {
        const row = partnerOf(partner)
        if (row !== partner && row >= 0)
          others[row >> 3] = (others[row >> 3] ?? 0) & ~(1 << (row & 7))
      }
    }
    const rows = listFreeRows(others, 0, incoming.count, countFree(others, 0, incoming.count))
    const texts: string[] = []
    for await (const some of incoming.textsAt(rows)) {
      this.#parts.checkGoesOn()
      for (const [, text] of some) texts.push(text)
    }
    return (row) => texts[placeIn(rows, row)] ?? ''
  }

  async #drop(
    joined: JoinedExtent,
    head: TableHead,
  ): Promise<Readonly<{ extent: ChangedExtent; deletes: Bytes[] }> | typeof MOVED> {
    const found = await this.#seeAgain(joined, head)
    if (found === MOVED || found.seen.entry === null) return MOVED
    const { entry, records } = found.seen
    const { extent } = joined
    const { table } = this.#parts.place
    const deletes = [...records.keys()].map((slot) => rowKey(table, { extent, slot }))
    const dropped = rewrittenEntry(entry, null, false)
    const before = entry.segment?.object ?? null
    return { extent: { extent, before, entry: dropped }, deletes }
  }

  async #seeAgain(
    { extent, signature }: JoinedExtent,
    head: TableHead,
  ): Promise<Readonly<{ seen: SeenExtent; generation: TableHead['generation'] }> | typeof MOVED> {
    const { extents, generation } = await this.#parts.rows.see(
      head.generation.nonce,
      extent,
      extent + 1,
    )
    const [seen] = extents
    return seen?.signature === signature ? { seen, generation } : MOVED
  }

  async #addedRows(matched: Bytes, count: number): Promise<LinkableRows> {
    const { place, incoming, rules, onSegment } = this.#parts
    const known = this.#added
    if (known !== undefined && sameBytes(known.matched, matched)) return known.rows
    const parts = { team: place.team, incoming, inputColumns: rules.inputColumns, onSegment }
    const rows = await addedRows(parts, matched, count)
    this.#added = { matched, rows }
    return rows
  }
}

function countPartners({ partners }: JoinedExtent): Readonly<{ removed: number; live: number }> {
  let removed = 0
  let live = 0
  for (const partner of partners) {
    if (partner !== NO_ROW) live++
    if (partner === NO_PARTNER) removed++
  }
  return { removed, live }
}

/** The index of a number among ascending numbers. */
function placeIn(numbers: Uint32Array, number: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) < number) low = middle + 1
    else high = middle
  }
  return low
}

function tooManyRecords(): StoreError {
  const message = `More than ${DELETES_MAX} of the rows to merge were changed a moment ago; try again in a minute`
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}
