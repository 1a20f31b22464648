// CONTRACT.md, section 8.
import { type Operation, unversioned } from './bodies.js'
import { KEYED } from './codes.js'
import { ref } from './schemas.js'

export const JOB_OPERATIONS = {
  'GET /jobs': {
    operationId: 'listJobs',
    tag: 'Jobs',
    summary: 'List the jobs of the team',
    security: 'team',
    ours: true,
    success: { 200: unversioned('The newest first, 1,000 at most.', ref('JobList')) },
    errors: KEYED,
  },
  'GET /jobs/{jobID}': {
    operationId: 'readJob',
    tag: 'Jobs',
    summary: 'Get the state of a job',
    description: 'A job is kept for 7 days after its end.',
    security: 'team',
    success: { 200: unversioned('The state, and the result or the error.', ref('JobAnswer')) },
    errors: [...KEYED, 'JOB_NOT_FOUND'],
  },
} as const satisfies Readonly<Record<string, Operation>>
