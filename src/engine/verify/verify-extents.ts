// Checks the segments of a generation, a page of entries at a time, and its forward object.
//
// Invariant: an object is read after the view that showed its name, and may already be deleted. So a problem is
// reported only if the record still names the object after the read. (A removed name never returns.)
import { type Bytes, sameBytes } from '../../base/bytes.js'
import {
  decodeExtentEntry,
  decodeExtentPage,
  type ExtentEntry,
  type SegmentRef,
} from '../../format/extent-page.js'
import { ForwardMap } from '../../format/forward.js'
import {
  extentPageKey,
  PAGE_EXTENTS,
  retirementKey,
  type TableKey,
  tableHeadKey,
} from '../../format/keys.js'
import {
  decodeRetirement,
  decodeTableHead,
  type ForwardRef,
  type Generation,
} from '../../format/records.js'
import { storedIn } from '../../format/shared-objects.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import type { StoreContext } from '../context/store-context.js'
import { readRetirements } from '../read/generations.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import { type Findings, lookForProblems } from './verify-findings.js'
import { verifySegment } from './verify-segment.js'

/** The state that the checks of one team share. */
export type VerifyContext = Readonly<{
  context: StoreContext
  findings: Findings
  teamId: string
  partition: KvPartition
}>

/** Maximum number of attempts to check an entry that others replace meanwhile. */
const TRIES_MAX = 3

/** The current state of a generation; null: the generation was dropped or is being dropped. */
type Current = Readonly<{ generation: Generation; versionMax: number }>

async function findCurrent(
  view: KvView,
  table: TableKey,
  nonce: Bytes,
  firstExtent: number | null,
): Promise<Current | null> {
  const bytes = await view.get(tableHeadKey(table))
  const head = bytes === null ? null : decodeTableHead(bytes)
  if (head !== null && sameBytes(head.generation.nonce, nonce)) {
    return { generation: head.generation, versionMax: head.version }
  }
  const retired =
    firstExtent === null
      ? (await readRetirements(view, table)).find((one) => sameBytes(one.generation.nonce, nonce))
      : decodeIfThere(await view.get(retirementKey(table, firstExtent)))
  if (retired === undefined || retired.dropping || !sameBytes(retired.generation.nonce, nonce)) {
    return null
  }
  return { generation: retired.generation, versionMax: retired.lastVersion }
}

function decodeIfThere(bytes: Bytes | null): ReturnType<typeof decodeRetirement> | undefined {
  return bytes === null ? undefined : decodeRetirement(bytes)
}

/** An extent page of a generation, as one view shows it. */
type SeenPage = Current &
  Readonly<{ number: number; isPast: boolean; entries: readonly ExtentEntry[] }>

/** @param after - The previous page; null: read the first one. */
async function readNextPage(
  view: KvView,
  table: TableKey,
  nonce: Bytes,
  after: SeenPage | null,
): Promise<SeenPage | null> {
  const current = await findCurrent(view, table, nonce, after?.generation.firstExtent ?? null)
  if (current === null) return null
  const { firstExtent, nextExtent } = current.generation
  const number = after === null ? Math.floor(firstExtent / PAGE_EXTENTS) : after.number + 1
  const isPast = PAGE_EXTENTS * number >= nextExtent
  const bytes = isPast ? null : await view.get(extentPageKey(table, number))
  const entries = bytes === null ? [] : decodeExtentPage(bytes)
  return { ...current, number, isPast, entries }
}

/** Checks the segments of a generation, a page of entries at a time, and its forward object. */
export async function verifyExtents(
  verifying: VerifyContext,
  table: TableKey,
  nonce: Bytes,
  where: VerifyPlace,
): Promise<void> {
  const { findings, partition } = verifying
  let before: SeenPage | null = null
  for (;;) {
    const last: SeenPage | null = before
    const seen: SeenPage | null = await findings.step(where, () =>
      partition.read((view) => readNextPage(view, table, nonce, last)),
    )
    if (seen === null) return
    const { generation, versionMax, number } = seen
    if (last === null && generation.forward !== null) {
      await verifyForward(verifying, table, { generation, ref: generation.forward }, where)
    }
    if (seen.isPast) return
    for (const [index, entry] of seen.entries.entries()) {
      await verifyEntry(
        verifying,
        { table, nonce, page: number, index },
        { entry, versionMax },
        where,
      )
    }
    before = seen
  }
}

type EntryPlace = Readonly<{ table: TableKey; nonce: Bytes; page: number; index: number }>

/** An entry, and the version of its table, both read in one view. */
type SeenEntry = Readonly<{ entry: ExtentEntry; versionMax: number }>

/** The current entry of an extent; null: the generation was dropped. */
async function readSeenEntry(
  view: KvView,
  { table, nonce, page, index }: EntryPlace,
): Promise<SeenEntry | null> {
  const current = await findCurrent(view, table, nonce, null)
  const bytes = current === null ? null : await view.get(extentPageKey(table, page))
  const entry = bytes === null ? null : decodeExtentEntry(bytes, index)
  return current === null || entry === null ? null : { entry, versionMax: current.versionMax }
}

/** Checks the segment of an extent, which a compaction may replace meanwhile. */
async function verifyEntry(
  { context, findings, partition }: VerifyContext,
  place: EntryPlace,
  first: SeenEntry,
  where: VerifyPlace,
): Promise<void> {
  const extent = PAGE_EXTENTS * place.page + place.index
  let seen: SeenEntry | null = first
  for (let tries = 0; tries < TRIES_MAX && seen !== null; tries++) {
    findings.checkGoesOn()
    const { entry, versionMax }: SeenEntry = seen
    const { compacted } = entry
    const ref: SegmentRef | null = entry.segment
    if (ref === null || findings.isFine(ref.object)) return
    const problems = await lookForProblems('segment', () =>
      verifySegment(context.objects, ref, { compacted, versionMax }, findings),
    )
    if (problems.length === 0) return
    seen = await partition.read((view) => readSeenEntry(view, place))
    const at = { ...where, extent, object: storedIn(ref) }
    if (seen?.entry.segment?.object === ref.object) return findings.addAll(problems, at)
  }
}

async function verifyForward(
  { context, findings, partition }: VerifyContext,
  table: TableKey,
  { generation, ref }: Readonly<{ generation: Generation; ref: ForwardRef }>,
  where: VerifyPlace,
): Promise<void> {
  const { object, objectBytes } = ref
  findings.checkGoesOn()
  findings.counts.objects++
  const problems = await lookForProblems('segment', async (): Promise<Problem[]> => {
    const content = await context.objects.get(object)
    if (content === null) {
      return [{ kind: 'object-missing', message: `Forward object ${object} is missing` }]
    }
    findings.counts.bytes += content.length
    if (content.length !== objectBytes) {
      const message = `Object ${object} should have ${objectBytes} bytes and has ${content.length}`
      return [{ kind: 'object-length', message }]
    }
    const { firstExtent, nextExtent } = generation
    const problem = new ForwardMap(object, content).problem(firstExtent, nextExtent)
    return problem === null
      ? []
      : [{ kind: 'row-id', message: `In forward object ${object}, ${problem}` }]
  })
  if (problems.length === 0) return
  const now = await partition.read((view) => findCurrent(view, table, generation.nonce, null))
  if (now?.generation.forward?.object === object) findings.addAll(problems, { ...where, object })
}
