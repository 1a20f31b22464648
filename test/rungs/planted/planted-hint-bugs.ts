// Bugs that the test of hints of work must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a hint is deleted although it was put again',
    file: 'team-visits.ts',
    find: 'await deleteUnchanged(partition, found)',
    replace: 'await partition.commit({ deletes: found.map(({ key }) => key) })',
  },
  {
    name: 'all hints of a table have the same bytes',
    file: 'commit/work-hints.ts',
    find: "return [putHint('sweep', { due: 0, kind: 'table', about: table }, version)]",
    replace: "return [putHint('sweep', { due: 0, kind: 'table', about: table }, version * 0)]",
  },
  {
    name: 'hints that are still of use are not put again',
    file: 'team-visits.ts',
    find: 'await this.#putHints(partition, hints, isFull ? now : null)',
    replace: 'await this.#putHints(partition, hints.slice(0, 0), isFull ? now : null)',
  },
  {
    name: 'no last scan is recorded',
    file: 'team-visits.ts',
    find: 'await this.#putHints(partition, hints, isFull ? now : null)',
    replace: 'await this.#putHints(partition, hints, null)',
  },
  {
    name: 'everything is looked at once and never again',
    file: 'team-visits.ts',
    find: 'now - scannedAt < FULL_SCAN_MS',
    replace: 'now - scannedAt < Number.POSITIVE_INFINITY',
  },
  {
    name: 'a store of an earlier version is not looked at whole',
    file: 'team-visits.ts',
    find: 'const isFull = takesOver || !isRecent',
    replace: 'const isFull = takesOver || (scannedAt !== null && !isRecent)',
  },
  {
    name: 'a team is not due again when its next hint is',
    file: 'team-visits.ts',
    find: 'return isDue ? 0 : partition.read((view) => readNext(view, this.#duty))',
    replace: 'return isDue ? 0 : null',
  },
  {
    name: 'notes of a process that died are lost',
    file: 'sweep-incarnations.ts',
    find: 'if (kv.shared && hasDied)',
    replace: 'if (kv.shared && hasDied && over.length > 1_000)',
  },
  {
    name: 'objects that sweeps leave without a name stay',
    file: 'upkeep/sweep.ts',
    find: 'return due.length > 0 && since >= options.orphanGraceMs ? due : null',
    replace: 'return due.length < 0 && since >= options.orphanGraceMs ? due : null',
  },
  {
    name: 'objects are forgotten that wait for their end',
    file: 'upkeep/sweep.ts',
    find: 'this.#unnamed.size > 0 ? 0 : null',
    replace: 'null',
  },
  {
    name: 'a closed extent has no hint',
    file: 'commit/work-hints.ts',
    find: 'if (!kv.shared || before === null || before.extent === after?.extent) return NO_PUTS',
    replace: 'if (kv.shared || before === null || before.extent === after?.extent) return NO_PUTS',
  },
  {
    name: 'a stash has no hint',
    file: 'ingest/stash.ts',
    find: 'const isNew = state.headBytes === null',
    replace: 'const isNew = state.headBytes !== null',
  },
  {
    name: 'an opening that is alone keeps hints of others',
    file: 'sweep-incarnations.ts',
    find: '[DUTIES_RANGE, WORK_HINTS_RANGE, DUE_TEAMS_RANGE]',
    replace: '[DUTIES_RANGE]',
  },
]
