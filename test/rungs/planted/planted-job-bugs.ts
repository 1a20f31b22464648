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
]
