// Bugs that the test of the background work of several processes must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'commits of a duty do not check its lease',
    file: 'engine/commit/lease.ts',
    find: 'const checks = [...(commit.checks ?? []), lease]',
    replace: 'const checks = commit.checks ?? []',
  },
  {
    name: 'a fold commits without its lease',
    file: 'upkeep/sweep.ts',
    find: 'await foldPartition(this.#context, visit)',
    replace:
      'await foldPartition(this.#context, { ...visit, partition: this.#context.kv.partition(visit.teamId) })',
  },
  {
    name: 'a lease is taken from a process that lives',
    file: 'duty-run.ts',
    find: 'if (there !== null && !this.takesOver && (await this.#isLiving(there.owner))) return null',
    replace: 'await this.#isLiving(there?.owner ?? NO_INCARNATION)',
  },
  {
    name: 'a lease is never taken from a process that has ended',
    file: 'duty-run.ts',
    find: 'const isLiving = record !== null && !decodeIncarnation(record).hasEnded',
    replace: 'const isLiving = record === null || decodeIncarnation(record).beat >= 0',
  },
  {
    name: 'a lease is taken without a check of the one before',
    file: 'duty-run.ts',
    find: 'checks: [{ key, equals: bytes }],\n      puts: [[key, next]],',
    replace: 'puts: [[key, next]],',
  },
  {
    name: 'a sweep that was called keeps the leases of others',
    file: 'duty-run.ts',
    find: 'if (this.takesOver && held.isTaken) await giveBack(partition, held).catch(() => undefined)',
    replace: 'if (held.equals === null) await giveBack(partition, held).catch(() => undefined)',
  },
  {
    name: 'a lease is taken before others know that its owner lives',
    file: 'duty-run.ts',
    find: 'await incarnation.ready()',
    replace: 'incarnation.ready()?.catch(() => undefined)',
  },
  {
    name: 'a sweep that is called joins one that leaves work to others',
    file: 'upkeep/shared-run.ts',
    find: '!last.callers.areGone && (last.takesOver || !takesOver)',
    replace: '!last.callers.areGone && (last.takesOver || takesOver !== undefined)',
  },
  {
    name: 'what a sweep left of the result of a job that it had deleted stays',
    file: 'sweep-jobs.ts',
    find: 'const ended = [...gone, ...over',
    replace: 'const ended = [...over',
  },
  {
    name: 'a generation is dropped without a mark first',
    file: 'sweep-generations.ts',
    find: 'return { puts: left.map(({ key, marked }) => [key, marked] as const) }',
    replace: 'return { deletes: left.map(({ key }) => key) }',
  },
]
