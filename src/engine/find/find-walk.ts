// Walks over the rows of a plan and gives the matching ones to a sink, frame by frame. Row records are tested like the
// rows of segments. Converted rows are tested in the form in which they are returned.
import type { Awaitable } from '../../base/awaitable.js'
import { type Bytes, utf8 } from '../../base/bytes.js'
import { checkNotAborted } from '../../base/signals.js'
import type { TimeSlices } from '../../base/time-slices.js'
import type { Position } from '../../format/keys.js'
import { Frame } from '../../format/segment-reader.js'
import { showsSegment } from '../caches/live-slot.js'
import type { TeamContext } from '../context/store-context.js'
import {
  makeRunTexts,
  type PagePlan,
  type Run,
  segmentRunFrom,
  type Texts,
} from '../read/page-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { WALK_AT_WILL, type WalkBounds } from '../segments/read-ahead.js'
import type { RowRun } from '../segments/segment-opening.js'
import type { RowMatcher } from './row-matcher.js'

/** Receives the matching rows, in order. */
export interface FoundRows {
  /**
   * Takes rows of a frame.
   * @returns the number of rows taken, which is lower than that of the given rows if there is no more room
   */
  take(extent: Run['extent'], rows: FrameRows): number
  /** Whether the sink takes no more rows. */
  readonly isFull: boolean
}

/** What a walk searches for. */
export type Wanted = Readonly<{
  /** Tests rows; null: every row matches. */
  matcher: RowMatcher | null
  found: FoundRows
  signal: AbortSignal | undefined
  /** The name of the operation that the signal aborts, for the message. Default: search. */
  what?: string
  /** Whether a segment may have a matching row. Otherwise the walk tests only the row records of its rows. */
  mayMatch: (run: Run) => Awaitable<boolean>
  /** Maximum number of values that `mayMatch` looks up in a segment. */
  segmentTests: number
  /** The bounds of reading ahead. Default: those for a walk over all rows. */
  bounds?: WalkBounds
  /** The work of the sink on a row, in units of the work on a byte. Default: 0. */
  rowWork?: number
}>

/**
 * The position of the next row, if the walk ended early because the sink was full or too many tests were made. null:
 * all rows of the plan were examined.
 */
export type WalkEnd = Position | null

/** Approximate maximum number of tests of cells in one walk. A test may take less than 5 ns. */
export const WORK_TESTS_MAX = 33_554_432

/** Amount of tests, or of other work, between two pauses that let other operations run. */
const WORK_AT_ONCE = 32_768

/** Number of tests of cells that take as long as the look-up of one value in what a segment knows of a column. */
const SEGMENT_TEST_COST = 16

/** Counts the work of a walk. */
class WalkWork {
  readonly #slices: TimeSlices
  #tests = 0

  constructor(slices: TimeSlices) {
    this.#slices = slices
  }

  /** Counts tests, and the bytes that they have read. @returns whether `pause` is due */
  spend(bytes: number, tests: number): boolean {
    this.#tests += tests
    return this.#slices.spend(bytes + tests)
  }

  /** Whether the walk has made all the tests that it may. */
  get isDone(): boolean {
    return this.#tests >= WORK_TESTS_MAX
  }

  pause(): Promise<void> {
    return this.#slices.pause()
  }
}

/** @param slot - A slot of the run, or the slot right after the run. */
export function positionIn({ extent }: Run, slot: number): Position {
  const isBehind = slot >= extent.rowCount
  return isBehind ? { extent: extent.extent + 1, slot: 0 } : { extent: extent.extent, slot }
}

/** Number of runs whose segments are judged together, before their frames are read. */
const RUNS_AT_ONCE = 16

export async function walkPlan(
  team: TeamContext,
  plan: PagePlan,
  wanted: Wanted,
): Promise<WalkEnd> {
  const work = new WalkWork(team.slices.begin())
  for (let first = 0; first < plan.runs.length; first += RUNS_AT_ONCE) {
    const runs = plan.runs.slice(first, first + RUNS_AT_ONCE)
    const judged = await Promise.all(runs.map((run) => selectSegmentRun(team, run, wanted)))
    if (work.spend(0, SEGMENT_TEST_COST * runs.length * wanted.segmentTests)) await work.pause()
    const segments = judged.filter((segment) => segment !== null)
    const walk = team.segments.walk(() => segments, wanted.bounds ?? WALK_AT_WILL)
    try {
      for (const [index, run] of runs.entries()) {
        checkSearchGoesOn(wanted)
        if (work.isDone) return positionIn(run, run.first)
        const reading = { run, texts: makeRunTexts(run, plan), wanted, work }
        const segment = judged[index] ?? null
        const end = await (segment === null
          ? searchRecords(reading)
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
function checkSearchGoesOn({ what = 'search', signal }: Wanted): void {
  checkNotAborted(what, signal)
}

/** The part of a run's segment to read; null: there is no segment, or no row of it can match. */
async function selectSegmentRun(
  { activity }: TeamContext,
  run: Run,
  { mayMatch }: Wanted,
): Promise<RowRun | null> {
  const segment = segmentRunFrom(run, run.first)
  if (segment === null || (await mayMatch(run))) return segment
  activity.segmentsSkipped++
  return null
}

type Reading = Readonly<{ run: Run; texts: Texts; wanted: Wanted; work: WalkWork }>

/**
 * Tests the row records of a run whose segment is not read.
 * @returns the slot at which the walk must continue; null: all records were examined
 */
async function searchRecords({ run, texts, wanted, work }: Reading): Promise<number | null> {
  const tests = wanted.matcher?.tests ?? 0
  for (const [slot, record] of [...run.records].sort(([left], [right]) => left - right)) {
    if (slot < run.first || slot >= run.limit) continue
    if (work.isDone) return slot
    const text = texts.ofRecord(record)
    if (text === null) continue
    if (!searchRowText(wanted, run, slot, text)) return slot
    if (wanted.found.isFull) return slot + 1
    if (work.spend(text.length, tests)) {
      await work.pause()
      checkSearchGoesOn(wanted)
    }
  }
  return null
}

async function takeSegment(
  reading: Reading,
  pieces: AsyncGenerator<FrameRows[]>,
): Promise<number | null> {
  const { wanted, work } = reading
  const { matcher, rowWork = 0 } = wanted
  const tests = matcher?.tests ?? 0
  for await (const frames of pieces) {
    for (const rows of cutIntoBlocks(frames, tests + rowWork)) {
      if (work.isDone) return rows.slot
      const end = searchFrame(reading, rows)
      if (end !== null) return end
      const { frame, first, limit } = rows
      const bytes = frame.endOf(limit - 1) - frame.endOf(first - 1)
      if (work.spend(bytes + rowWork * (limit - first), tests * (limit - first))) {
        await work.pause()
        checkSearchGoesOn(wanted)
      }
    }
  }
  return null
}

/** Cuts the rows of frames into small blocks, so that pauses can be made often enough. */
function* cutIntoBlocks(frames: readonly FrameRows[], rowWork: number): Generator<FrameRows, void> {
  const rows = Math.max(1, Math.floor(WORK_AT_ONCE / Math.max(1, rowWork)))
  for (const { frame, first: start, limit: end, slot } of frames) {
    for (let first = start; first < end; first += rows) {
      const limit = Math.min(end, first + rows)
      yield { frame, first, limit, slot: slot + first - start }
    }
  }
}

function searchFrame({ run, texts, wanted }: Reading, rows: FrameRows): number | null {
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
      if (text !== null && !searchRowText(wanted, run, slot, text)) return slot
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

/** Tests a row that is not in a frame. @returns false: the row matches, but was not taken */
function searchRowText(
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
