// The teams of a shared store that have work for its duties. They are records in the system partition, ordered by due
// time, so that a duty reads only the records that are due.
//
// Invariants:
// - A team is noted after a commit that leaves work in it, if the commit was accepted or its outcome is unknown. So a
//   reader of the record finds the hints for which it stands.
// - A record is deleted by a commit that checks its bytes. The bytes contain a new nonce each time that the record is
//   put. So a team that was noted during a visit is visited again.
// - Notes are written some time after the commit, many at once, so that no operation waits for them. If a process dies
//   with unwritten notes, the process that ends its incarnation notes all teams (maintenance/collect-incarnations).

import { inBatches } from '../../base/batches.js'
import { BoundedMap } from '../../base/bounded-map.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { every } from '../../base/platform.js'
import { type Duty, KEY_SPACE } from '../../format/keys.js'
import {
  dueTeamKey,
  dueTeamsRange,
  dutyAndDueOf,
  encodeDueTeam,
  teamOfDueKey,
} from '../../format/work-records.js'
import type { KvCheck, KvCommit, KvPartition, KvStore } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { Background } from './background.js'

/** Interval at which notes are written, in milliseconds. */
const WRITE_MS = 10_000

/** Maximum number of unwritten notes. Further ones are left to the daily scan. */
const NOTES_MAX = 100_000

/** Maximum number of notes that one commit writes. */
const PUT_COUNT = 500

/** Maximum number of records of due teams that a duty reads at once. The next run reads the following records. */
const DUE_MAX = 100_000

/** Maximum number of teams whose next visit is remembered. */
const VISITS_MAX = 10_000

/**
 * Assumed maximum difference between the clocks of processes, in milliseconds. If it is exceeded, a team may be visited
 * late.
 */
const SKEW_MS = 600_000

/** Duties that are done team by team. */
export const TEAM_DUTIES = ['garbageCollection', 'compaction', 'files', 'recompression'] as const

/** Duties that rewrite objects. */
const REWRITING: ReadonlySet<Duty> = new Set(['compaction', 'recompression'])

type Note = Readonly<{ duty: Duty; teamId: string; due: number }>

type DueContext = Readonly<{
  kv: KvStore
  options: Pick<ResolvedOptions, 'clock' | 'random'>
  background: Pick<Background, 'run'>
}>

export class DueTeams {
  readonly #context: DueContext
  readonly #system: KvPartition
  /** The earliest unwritten note of each duty and team. */
  #notes = new Map<string, Note>()
  /** The times of the next visits, as this process has noted them. */
  readonly #visits = new BoundedMap<string, number>(VISITS_MAX)
  #writing: Promise<void> | undefined

  constructor(context: DueContext) {
    this.#context = context
    this.#system = context.kv.partition('')
  }

  /** Begins to write notes. @returns the function that stops it */
  begin(): () => void {
    if (!this.#context.kv.shared) return () => undefined
    return every(WRITE_MS, () => {
      if (this.#notes.size > 0)
        this.#context.background.run('garbageCollection', () => this.write())
    })
  }

  /** The partition of a team, which notes the work that its commits leave. */
  partition(teamId: string): KvPartition {
    const partition = this.#context.kv.partition(teamId)
    if (!this.#context.kv.shared) return partition
    return {
      read: (use) => partition.read(use),
      deleteRange: (range, count) => partition.deleteRange(range, count),
      commit: (commit) => {
        const left = dutiesOfCommit(commit)
        const result = partition.commit(commit)
        if (left.length === 0) return result
        return result.finally(() => {
          // This is done even if the outcome of the commit is unknown.
          for (const { duty, due } of left) this.note(duty, teamId, due)
        })
      },
    }
  }

  /** Notes a visit that a duty must make. @param due - When the visit is due. A past time means now. */
  note(duty: Duty, teamId: string, due: number): void {
    const now = this.#context.options.clock.now()
    const next = due <= now ? 0 : due
    const name = nameTeamDuty(duty, teamId)
    const known = this.#visits.get(name) ?? 0
    if (known > now + SKEW_MS && known <= next) return // The known visit, which is not later, will find this due time.
    const before = this.#notes.get(name)
    if (before !== undefined && before.due <= next) return
    if (this.#notes.size >= NOTES_MAX && before === undefined) return
    this.#notes.set(name, { duty, teamId, due: next })
  }

  /** Notes visits of all duties to teams, because notes of these teams may be lost. */
  async noteAll(teams: readonly string[]): Promise<void> {
    for (const teamId of teams) {
      for (const duty of TEAM_DUTIES) this.note(duty, teamId, 0)
      if (this.#notes.size >= PUT_COUNT) await this.write()
    }
    await this.write()
  }

  /** Resolves when all notes so far are written. */
  write(): Promise<void> {
    if (!this.#context.kv.shared || this.#notes.size === 0)
      return this.#writing ?? Promise.resolve()
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#notes.size > 0) {
      const notes = this.#notes
      this.#notes = new Map()
      // Duties may leave objects that no record names. Compactions and recompressions report it themselves if they do.
      const isWork = [...notes.values()].some(({ duty, due }) => !REWRITING.has(duty) && due === 0)
      if (isWork) notes.set(nameTeamDuty('objects', ''), { duty: 'objects', teamId: '', due: 0 })
      try {
        await this.#put([...notes.values()])
      } catch (failure) {
        for (const { duty, teamId, due } of notes.values()) this.note(duty, teamId, due)
        throw failure
      }
    }
  }

  async #put(notes: readonly Note[]): Promise<void> {
    for (const some of inBatches(notes, PUT_COUNT)) {
      await this.#system.commit({ puts: some.map((note) => this.#putOf(note)) })
      for (const note of some) this.#noteVisit(note)
    }
  }

  #putOf({ duty, teamId, due }: Note): readonly [Bytes, Bytes] {
    return [dueTeamKey(duty, due, teamId), encodeDueTeam(this.#context.options.random.bytes(8))]
  }

  #noteVisit({ duty, teamId, due }: Note): void {
    if (due > 0) this.#visits.set(nameTeamDuty(duty, teamId), due)
  }

  /** The teams that a duty must visit now, with their records. */
  async due(duty: Duty): Promise<Map<string, KvCheck[]>> {
    const teams = new Map<string, KvCheck[]>()
    const range = dueTeamsRange(duty, this.#context.options.clock.now())
    let count = 0
    await this.#system.read(async (view) => {
      for await (const entries of scanBatches(view, range)) {
        for (const [key, equals] of entries) {
          const teamId = teamOfDueKey(key)
          teams.set(teamId, [...(teams.get(teamId) ?? []), { key, equals }])
        }
        count += entries.length
        if (count >= DUE_MAX) return
      }
    })
    return teams
  }

  /**
   * Ends a visit.
   * @param records - The records that were the reason for the visit.
   * @param next - When the next visit is due; null: no work is left.
   */
  async settle(
    duty: Duty,
    teamId: string,
    records: readonly KvCheck[],
    next: number | null,
  ): Promise<void> {
    const due = next !== null && next <= this.#context.options.clock.now() ? 0 : next
    const note = due === null ? null : { duty, teamId, due }
    const puts = note === null ? [] : [this.#putOf(note)]
    if (records.length === 0 && puts.length === 0) return
    const kept = puts[0]?.[0]
    const deletes = records.flatMap(({ key }) =>
      kept !== undefined && sameBytes(key, kept) ? [] : [key],
    )
    const { ok } = await this.#system.commit({ checks: records, puts, deletes })
    if (ok && note !== null) this.#noteVisit(note)
  }
}

function nameTeamDuty(duty: Duty, teamId: string): string {
  return `${duty} ${teamId}`
}

/** The work that a commit leaves to the duties of its team. */
function dutiesOfCommit({ puts = [] }: KvCommit): Pick<Note, 'duty' | 'due'>[] {
  const left: Pick<Note, 'duty' | 'due'>[] = []
  for (const [key] of puts) {
    const [space] = key
    if (space === KEY_SPACE.deadStash) left.push({ duty: 'garbageCollection', due: 0 })
    else if (space === KEY_SPACE.file) left.push({ duty: 'files', due: 0 })
    else if (space === KEY_SPACE.workHint) {
      const hint = dutyAndDueOf(key)
      if (hint !== null) left.push(hint)
    }
  }
  return left
}
