// Bugs that the test of jobs must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a commit of a job does not check its lease',
    file: 'job-guard.ts',
    find: 'checks: [{ key, equals: bytes }],',
    replace: 'checks: [],',
  },
  {
    name: 'the lease of a job is not renewed',
    file: 'job-runner.ts',
    find: "background.run('jobs', () => held.renew())",
    replace: "background.run('jobs', async () => undefined)",
  },
  {
    name: "a lease is judged by its owner's clock",
    file: 'job-runner.ts',
    find: 'return unchangedMs >= options.jobLeaseMs',
    replace: 'return unchangedMs >= 0 && options.clock.now() >= decodeLease(lease).until',
  },
  {
    name: 'the effect of a job and its end are two commits',
    file: 'create-table.ts',
    find: 'const ended = job.succeed({ table, version: 1, runs })',
    replace: 'const ended = { puts: [], deletes: [] }',
  },
  {
    name: 'an entry of the open jobs without a job stays for ten minutes where nobody else starts jobs',
    file: 'job-runner.ts',
    find: 'const isNever = !this.#context.kv.shared || now - seen.since >= DANGLING_MS',
    replace: 'const isNever = now - seen.since >= DANGLING_MS',
  },
]
