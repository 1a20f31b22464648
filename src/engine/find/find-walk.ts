// Walks over the rows of a plan and gives those that match to a sink, frame by frame. Row records are looked at as the
// rows of segments are, and rows that are converted as they are returned.
import type { Awaitable } from '../../base/awaitable.js'
import { type Bytes, utf8 } from '../../base/bytes.js'
import { checkNotAborted } from '../../base/signals.js'
import type { TimeSlices } from '../../base/time-slices.js'
import type { Position } from '../../format/keys.js'
import { Frame } from '../../format/segment-reader.js'
import { showsSegment } from '../context/live-slot.js'
import type { TeamContext } from '../context/store-context.js'
import { type PagePlan, type Run, segmentRunOf, type Texts, textsOf } from '../read/page-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { WALK_AT_WILL } from '../segments/read-ahead.js'
import type { RowRun } from '../segments/segment-opening.js'
import type { RowMatcher } from './row-matcher.js'

/** Takes the rows that match, in order. */
export interface FoundRows {
  /** Takes rows of a frame. @returns how many: fewer than given if there is no room for more. */
  take(extent: Run['extent'], rows: FrameRows): number
  /** Whether it takes no more. */
  readonly isFull: boolean
}

/** What a walk looks for. */
export type Wanted = Readonly<{
  /** null: every row. */
  matcher: RowMatcher | null
  found: FoundRows
  signal: AbortSignal | undefined
  /** What is ended by the signal, for the message. Default: search. */
  what?: string
  /** Leaves out segments that have no row which matches. Row records over them are looked at all the same. */
  mayMatch: (run: Run) => Awaitable<boolean>
}>

/** Where the sink took no more: the position of the next row. null: all rows of the plan were looked at. */
export type WalkEnd = Position | null

/** @param slot - In the run, or right behind it. */
export function positionIn({ extent }: Run, slot: number): Position {
  const isBehind = slot >= extent.rowCount
  return isBehind ? { extent: extent.extent + 1, slot: 0 } : { extent: extent.extent, slot }
}

/** The segments of so many runs are judged, before their frames are read, at the same time. */
const RUNS_AT_ONCE = 16

export async function walkPlan(
  team: TeamContext,
  plan: PagePlan,
  wanted: Wanted,
): Promise<WalkEnd> {
  const slices = team.slices.begin()
  for (let first = 0; first < plan.runs.length; first += RUNS_AT_ONCE) {
    const runs = plan.runs.slice(first, first + RUNS_AT_ONCE)
    const judged = await Promise.all(runs.map((run) => segmentOf(team, run, wanted)))
    const segments = judged.filter((segment) => segment !== null)
    const walk = team.segments.walk(() => segments, WALK_AT_WILL)
    try {
      for (const [index, run] of runs.entries()) {
        checkGoesOn(wanted)
        const reading = { run, texts: textsOf(run, plan), wanted, slices }
        const segment = judged[index] ?? null
        const end = await (segment === null
          ? takeRecords(reading)
          : takeSegment(reading, walk.frames(segment)))
        if (end !== null) return positionIn(run, end)
      }
    } finally {
      await walk.close()
    }
  }
  return null
}

/** @throws {StoreError} ABORTED */
function checkGoesOn({ what = 'search', signal }: Wanted): void {
  checkNotAborted(what, signal)
}

/** What of a segment is read; null: nothing, as it has no row that matches, or there is none. */
async function segmentOf(
  { activity }: TeamContext,
  run: Run,
  { mayMatch }: Wanted,
): Promise<RowRun | null> {
  const segment = segmentRunOf(run, run.first)
  if (segment === null || (await mayMatch(run))) return segment
  activity.segmentsSkipped++
  return null
}

type Reading = Readonly<{ run: Run; texts: Texts; wanted: Wanted; slices: TimeSlices }>

/** Looks at row records alone. @returns the slot of the row that was not taken; null: none. */
async function takeRecords({ run, texts, wanted, slices }: Reading): Promise<number | null> {
  for (const [slot, record] of [...run.records].sort(([left], [right]) => left - right)) {
    if (slot < run.first || slot >= run.limit) continue
    const text = texts.ofRecord(record)
    if (text === null) continue
    if (!takeText(wanted, run, slot, text)) return slot
    if (wanted.found.isFull) return slot + 1
    if (slices.spend(text.length)) await slices.pause()
  }
  return null
}

async function takeSegment(
  reading: Reading,
  pieces: AsyncGenerator<FrameRows[]>,
): Promise<number | null> {
  const { wanted, slices } = reading
  for await (const frames of pieces) {
    for (const rows of frames) {
      const end = takeFrame(reading, rows)
      if (end !== null) return end
      if (slices.spend(rows.frame.texts.length)) {
        await slices.pause()
        checkGoesOn(wanted)
      }
    }
  }
  return null
}

function takeFrame({ run, texts, wanted }: Reading, rows: FrameRows): number | null {
  const { records, extent } = run
  const { matcher } = wanted
  if (records.size === 0 && extent.isDeleted === null && texts.ofStored === null) {
    return matcher === null ? takeAll(wanted, run, rows) : takeMatches(wanted, run, rows, matcher)
  }
  const { frame, first, limit, slot: firstSlot } = rows
  for (let row = first; row < limit; row++) {
    const slot = firstSlot + row - first
    const record = records.get(slot)
    const showsStored = showsSegment(record !== undefined, extent.isDeleted, slot)
    if (showsStored && texts.ofStored === null) {
      const isMatch = matcher?.matches(frame.texts, frame.endOf(row - 1), frame.endOf(row)) ?? true
      if (isMatch && wanted.found.take(extent, { frame, first: row, limit: row + 1, slot }) === 0) {
        return slot
      }
    } else {
      const laid = record === undefined ? null : texts.ofRecord(record)
      const text = showsStored ? (texts.ofStored?.(frame.rowText(row), slot) ?? null) : laid
      if (text !== null && !takeText(wanted, run, slot, text)) return slot
    }
    if (wanted.found.isFull) return slot + 1
  }
  return null
}

function takeAll({ found }: Wanted, { extent }: Run, rows: FrameRows): number | null {
  const taken = found.take(extent, rows)
  return taken < rows.limit - rows.first || found.isFull ? rows.slot + taken : null
}

function takeMatches(
  { found }: Wanted,
  { extent }: Run,
  { frame, first, limit, slot }: FrameRows,
  matcher: RowMatcher,
): number | null {
  const { texts } = frame
  const rows = matcher.candidates(frame, first, limit) ?? rowsBetween(first, limit)
  for (const row of rows) {
    if (!matcher.matches(texts, frame.endOf(row - 1), frame.endOf(row))) continue
    const at = slot + row - first
    if (found.take(extent, { frame, first: row, limit: row + 1, slot: at }) === 0) return at
    if (found.isFull) return at + 1
  }
  return null
}

function* rowsBetween(first: number, limit: number): Generator<number, void> {
  for (let row = first; row < limit; row++) yield row
}

/** Looks at one row that is no row of a frame. @returns false: it matches, and was not taken. */
function takeText(
  { matcher, found }: Wanted,
  { extent }: Run,
  slot: number,
  text: string,
): boolean {
  const bytes = utf8(text)
  if (matcher?.matches(bytes, 0, bytes.length) === false) return true
  return found.take(extent, { frame: frameOfRow(bytes), first: 0, limit: 1, slot }) === 1
}

/** A frame of one row. */
export function frameOfRow(text: Bytes): Frame {
  const ends = new DataView(new ArrayBuffer(4))
  ends.setUint32(0, text.length)
  return new Frame(1, ends, text)
}
