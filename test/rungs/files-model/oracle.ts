// The expected content as plain lists: files, uploads, and the rows that name files, with the rules of how long each is
// kept.
import type { StoredFile } from '../../../src/index.js'

export type Limits = Readonly<{
  fileRetentionMs: number
  uploadTtlMs: number
  uploadReceivedTtlMs: number
  stashTtlMs: number
  overwrittenRowsTtlMs: number
  overwrittenRowSetsMax: number
}>

export type ModelFile = Readonly<{ stored: StoredFile; content: string }>

export type ModelUpload = {
  readonly uploadId: string
  /** null: it was created during a crash, and nobody has its target. */
  readonly target: string | null
  readonly contentType: string
  readonly contentLength: number | null
  readonly app: string | null
  readonly createdAt: number
  readonly expiresAt: number
  /** The possible contents of its record; null: none yet. There are several after a race or a crash. */
  received: readonly (string | null)[]
  /** When each of these was received. */
  receivedAt: readonly (number | null)[]
  /** The file that it was completed to. */
  file: StoredFile | null
  /** Whether its record exists; `maybe` while a garbage collection is under way. */
  record: 'there' | 'maybe' | 'gone'
}

/** The IDs that the two cells of a row name. */
export type ModelRow = Readonly<{ n: number; f: readonly string[]; a: readonly string[] }>

export type ModelTable = {
  readonly id: string
  readonly name: string
  rows: readonly ModelRow[]
  /** The files that overwritten rows named, newest first. */
  retired: readonly Readonly<{ named: readonly string[]; retiredAt: number }>[]
}

export type ModelChunk = Readonly<{
  rows: readonly ModelRow[]
  /** The files that its text names before a table has parsed it into cells. */
  named: readonly string[]
  putAt: number
  /** Whether it certainly exists: a garbage collection that ends its stash may be under way. */
  isSure: boolean
}>

export type ModelStash = {
  readonly createdAt: number
  readonly chunks: Map<string, ModelChunk>
}

export class Oracle {
  readonly limits: Limits
  readonly files = new Map<string, ModelFile>()
  /** IDs of deleted files. */
  readonly gone: string[] = []
  readonly uploads: ModelUpload[] = []
  readonly tables: ModelTable[] = []
  readonly stashes = new Map<string, ModelStash>()
  /** Stashes that a garbage collection has ended, or may have ended: they accept no chunks until they are deleted. */
  readonly expired = new Set<string>()
  #numbers = 0

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** A number that no row, content or name has had. */
  nextNumber(): number {
    return this.#numbers++
  }

  addFile(stored: StoredFile, content: string): void {
    this.files.set(stored.id, { stored, content })
  }

  removeFile(id: string): void {
    if (this.files.delete(id)) this.gone.push(id)
  }

  /** The files that each table and each stash holds. */
  heldByPlace(now: number): ReadonlyMap<string, ReadonlySet<string>> {
    const held = new Map<string, ReadonlySet<string>>()
    for (const table of this.tables) {
      const retired = table.retired.filter((one, index) => this.#isRetained(one, index, now))
      const named = retired.flatMap((one) => one.named)
      held.set(placeOfTable(table.id), new Set([...named, ...namedByRows(table.rows)]))
    }
    for (const [id, { chunks }] of this.stashes) {
      const sure = [...chunks.values()].filter(({ isSure }) => isSure)
      held.set(placeOfStash(id), new Set(sure.flatMap(({ named }) => named)))
    }
    return held
  }

  /** The files that some row names. */
  held(now: number): ReadonlySet<string> {
    return new Set([...this.heldByPlace(now).values()].flatMap((files) => [...files]))
  }

  isOld({ stored }: ModelFile, now: number): boolean {
    return now - stored.completedAt > this.limits.fileRetentionMs
  }

  #isRetained({ retiredAt }: { retiredAt: number }, index: number, now: number): boolean {
    const { overwrittenRowSetsMax, overwrittenRowsTtlMs } = this.limits
    return index < overwrittenRowSetsMax && now - retiredAt <= overwrittenRowsTtlMs
  }

  isPastStash({ createdAt, chunks }: ModelStash, now: number): boolean {
    const oldest = now - this.limits.stashTtlMs
    return createdAt <= oldest && [...chunks.values()].every(({ putAt }) => putAt <= oldest)
  }

  /** When an upload ends: several moments if the content of its record is unknown. */
  endsOfUpload({ file, createdAt, receivedAt }: ModelUpload): readonly number[] {
    const { uploadTtlMs, uploadReceivedTtlMs } = this.limits
    const end = createdAt + uploadTtlMs
    if (file !== null) return [end + uploadTtlMs]
    return receivedAt.map((at) => (at === null ? end : Math.min(end, at + uploadReceivedTtlMs)))
  }

  /** A garbage collection is under way that may end what has expired, or may already have. */
  doubt(now: number): void {
    for (const upload of this.uploads) {
      const isOver = this.endsOfUpload(upload).some((end) => now > end)
      if (upload.record === 'there' && isOver) upload.record = 'maybe'
    }
    for (const [id, stash] of this.stashes) {
      if (!this.isPastStash(stash, now)) continue
      this.expired.add(id)
      for (const [serial, chunk] of stash.chunks) {
        stash.chunks.set(serial, { ...chunk, isSure: false })
      }
    }
  }

  /** A complete garbage collection has run. */
  maintain(now: number): void {
    for (const upload of this.uploads) {
      const ends = this.endsOfUpload(upload)
      if (ends.every((end) => now > end)) upload.record = 'gone'
      else if (upload.record === 'there' && ends.some((end) => now > end)) upload.record = 'maybe'
    }
    for (const [id, stash] of this.stashes) {
      if (!this.isPastStash(stash, now)) continue
      this.expired.add(id)
      this.stashes.delete(id)
    }
  }

  /** Whether one of the places is a stash that a garbage collection would end. */
  isPastPlace(places: readonly string[], now: number): boolean {
    const past = [...this.stashes].filter(([, stash]) => this.isPastStash(stash, now))
    return past.some(([id]) => places.includes(placeOfStash(id)))
  }

  isSureStash({ chunks }: ModelStash): boolean {
    return [...chunks.values()].every(({ isSure }) => isSure)
  }
}

export function placeOfFile(id: string): string {
  return `file ${id}`
}

export function placeOfTable(id: string): string {
  return `table ${id}`
}

export function placeOfStash(id: string): string {
  return `stash ${id}`
}

export function namedByRows(rows: readonly ModelRow[]): string[] {
  return rows.flatMap(({ f, a }) => [...f, ...a])
}

/** The rows of a stash as a table gets them. */
export function rowsOfStash({ chunks }: ModelStash): ModelRow[] {
  return [...chunks].sort(([left], [right]) => Number(left) - Number(right)).flatMap(rowsOfEntry)
}

function rowsOfEntry([, { rows }]: [string, ModelChunk]): readonly ModelRow[] {
  return rows
}

/** Replaces the rows of a table. */
export function overwriteRows(table: ModelTable, rows: readonly ModelRow[], now: number): void {
  table.retired = [{ named: namedByRows(table.rows), retiredAt: now }, ...table.retired]
  table.rows = rows
}
