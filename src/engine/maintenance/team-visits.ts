// The visits of a duty to teams. On a shared store the duty goes to the teams with due hints, and examines what the
// hints name. Once a day, and when garbage collection is requested, it goes to every team and examines all records.
//
// Invariants:
// - A hint is deleted by a commit under the lease of the duty, and only if nobody has put the hint again meanwhile.
//   What the hint names is examined before this commit. So a visit that is cut short is made again.
// - A hint only says where to look. The records alone decide what is deleted, and when: a missing hint delays work
//   until the daily scan, and a superfluous hint costs a read.
// - A store that is not shared has no hints: each run examines everything.
import { inBatches } from '../../base/batches.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { monotonicMs } from '../../base/clock.js'
import {
  decodeHintKey,
  decodeLastScan,
  dueHintsRange,
  encodeLastScan,
  type Hint,
  type HintKind,
  hintsRange,
  lastScanKey,
} from '../../format/work-records.js'
import type { KvCheck, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import { putHint } from '../commit/work-hints.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import type { TEAM_DUTIES } from '../leases/due-teams.js'
import type { DutyRun } from './duty-run.js'
import { isRecent } from './last-collections.js'

/** How often a duty examines everything, in milliseconds: the maximum time until it finds work without a hint. */
export const FULL_SCAN_MS = 24 * 3_600_000

/** Maximum number of hints that one visit works on. The next run visits the team again. */
const HINTS_MAX = 10_000

/** Maximum number of hints that one commit puts. */
const PUT_COUNT = 500

type TeamDuty = (typeof TEAM_DUTIES)[number]

/** What a duty has to do in a team. */
export type Visit = Readonly<{
  teamId: string
  /** The work must commit only through this partition. */
  partition: KvPartition
  /** Whether to examine all records, not only the records that hints name. */
  isFull: boolean
  /** The names in the hints of a kind. */
  about(kind: HintKind): readonly Bytes[]
}>

/** The work that is left after a visit. */
export type Left = Readonly<{
  /** Hints for later visits. */
  hints?: readonly Hint[]
  /** Whether the next run visits the team again, even without hints. */
  isDue?: boolean
}>

type FoundHint = KvCheck & Readonly<{ hint: ReturnType<typeof decodeHintKey> }>

export class TeamVisits {
  readonly #context: StoreContext
  readonly #duty: TeamDuty
  /** The monotonic time of the last visit to all teams. */
  #visitedAll: number | undefined

  constructor(context: StoreContext, duty: TeamDuty) {
    this.#context = context
    this.#duty = duty
  }

  /**
   * Visits the teams that have work for the duty, except teams whose work other processes do.
   * @param work - Does the duty in one team.
   */
  async each(run: DutyRun, work: (visit: Visit) => Promise<Left>): Promise<void> {
    const { kv, dueTeams } = this.#context
    if (!kv.shared) return this.#eachUnshared(run, work)
    await dueTeams.write()
    const began = monotonicMs()
    const last = this.#visitedAll
    const goesToAll = run.takesOver || last === undefined || began - last >= FULL_SCAN_MS
    const due = await dueTeams.due(this.#duty)
    const teams = goesToAll ? await this.#teams() : [...due.keys()]
    for (const teamId of teams) {
      const next = await run.on(this.#duty, teamId, (partition) =>
        this.#visit(run, teamId, partition, work),
      )
      if (next === undefined) continue
      await dueTeams.settle(this.#duty, teamId, due.get(teamId) ?? [], next)
    }
    if (goesToAll) this.#visitedAll = began
  }

  async #eachUnshared(run: DutyRun, work: (visit: Visit) => Promise<Left>): Promise<void> {
    for (const teamId of await this.#teams()) {
      await run.on(this.#duty, teamId, async (partition) => {
        return work({ teamId, partition, isFull: true, about: () => [] })
      })
    }
  }

  #teams(): Promise<string[]> {
    return this.#context.kv.partition('').read(readTeams)
  }

  /** @returns when the next visit is due; null: nothing is left. */
  async #visit(
    { takesOver }: DutyRun,
    teamId: string,
    partition: KvPartition,
    work: (visit: Visit) => Promise<Left>,
  ): Promise<number | null> {
    const now = this.#context.options.clock.now()
    const { scannedAt, found } = await partition.read((view) => readDue(view, this.#duty, now))
    const isFull = takesOver || scannedAt === null || !isRecent(scannedAt, now, FULL_SCAN_MS)
    const about = (kind: HintKind): readonly Bytes[] => namesOfHints(found, kind)
    const { hints = [], isDue = false } = await work({ teamId, partition, isFull, about })
    await this.#putHints(partition, hints, isFull ? now : null)
    await deleteUnchanged(partition, found)
    return isDue ? 0 : partition.read((view) => readNext(view, this.#duty))
  }

  async #putHints(
    partition: KvPartition,
    hints: readonly Hint[],
    scannedAt: number | null,
  ): Promise<void> {
    const puts = new Map(hints.map((hint) => [keyText(hint), putHint(this.#duty, hint)]))
    const all = [...puts.values()]
    if (scannedAt !== null) all.push([lastScanKey(this.#duty), encodeLastScan(scannedAt)])
    for (const puts of inBatches(all, PUT_COUNT)) await partition.commit({ puts })
  }
}

/** The names in the hints of a kind, each once. */
function namesOfHints(found: readonly FoundHint[], kind: HintKind): readonly Bytes[] {
  const names = found.flatMap(({ hint }) => (hint?.kind === kind ? [hint.about] : []))
  return [...new Map(names.map((name) => [toHex(name), name])).values()]
}

function keyText({ due, kind, about }: Hint): string {
  return `${due} ${kind} ${toHex(about)}`
}

type Due = Readonly<{ scannedAt: number | null; found: readonly FoundHint[] }>

async function readDue(view: KvView, duty: TeamDuty, now: number): Promise<Due> {
  let scannedAt: number | null = null
  const found: FoundHint[] = []
  for await (const entries of scanBatches(view, dueHintsRange(duty, now))) {
    for (const [key, equals] of entries) {
      const hint = decodeHintKey(key)
      if (hint === null) scannedAt = decodeLastScan(equals)
      else found.push({ key, equals, hint })
    }
    if (found.length >= HINTS_MAX) break
  }
  return { scannedAt, found }
}

/** When the first remaining hint is due. */
async function readNext(view: KvView, duty: TeamDuty): Promise<number | null> {
  const [first] = await view.scan({ ...hintsRange(duty), count: 1, keysOnly: true })
  return first === undefined ? null : (decodeHintKey(first[0])?.due ?? null)
}
