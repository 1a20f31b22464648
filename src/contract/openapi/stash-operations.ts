// CONTRACT.md, section 7.
import { EMPTY, type Operation, tabular, unversioned } from './bodies.js'
import { KEYED, RECEIVING, WRITING } from './codes.js'
import { ref } from './schemas.js'

export const STASH_OPERATIONS = {
  'PUT /stashes/{stashID}/{serial}': {
    operationId: 'putChunk',
    tag: 'Stashes',
    summary: 'Put a chunk of a stash',
    description:
      'Creates the stash, or replaces the chunk with this serial. Chunks may be put in parallel; an acknowledged chunk is durable.',
    security: 'team',
    body: tabular('Rows, or CSV or TSV.', ref('InputRows')),
    success: { 200: unversioned('The chunk is durable.', EMPTY) },
    errors: [...RECEIVING, 'STASH_NOT_FOUND', 'LIMIT_EXCEEDED'],
  },
  'GET /stashes': {
    operationId: 'listStashes',
    tag: 'Stashes',
    summary: 'List the stashes of the team',
    security: 'team',
    ours: true,
    success: { 200: unversioned('Those that operations can use.', ref('StashList')) },
    errors: KEYED,
  },
  'GET /stashes/{stashID}': {
    operationId: 'listChunks',
    tag: 'Stashes',
    summary: 'List the chunks of a stash',
    description:
      'An import that goes on after its client has ended learns from it which chunks are there.',
    security: 'team',
    ours: true,
    success: { 200: unversioned('The chunks in their order.', ref('ChunksAnswer')) },
    errors: [...KEYED, 'STASH_NOT_FOUND'],
  },
  'DELETE /stashes/{stashID}': {
    operationId: 'deleteStash',
    tag: 'Stashes',
    summary: 'Delete a stash',
    description: 'Succeeds also if there is none. Tables that were made from it stay.',
    security: 'team',
    success: { 200: unversioned('There is no such stash now.', EMPTY) },
    errors: WRITING,
  },
} as const satisfies Readonly<Record<string, Operation>>
