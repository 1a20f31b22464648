// CONTRACT.md, section 6.
import { changed, EMPTY, json, type Operation, tabular, UNCHANGED, versioned } from './bodies.js'
import { FILLING, KEYED, MISFITS, RECEIVING, WRITING } from './codes.js'
import { ref } from './schemas.js'

export const ROW_OPERATIONS = {
  'HEAD /tables/{tableID}/rows': {
    operationId: 'headRows',
    tag: 'Rows',
    summary: 'Read the version of a table',
    security: 'team',
    parameters: ['ifNoneMatch'],
    success: {
      200: { description: 'The ETag is the version.', headers: ['ETag'] },
      304: UNCHANGED,
    },
    errors: [...KEYED, 'TABLE_NOT_FOUND'],
  },
  'GET /tables/{tableID}/rows': {
    operationId: 'listRows',
    tag: 'Rows',
    summary: 'Read a page of rows',
    description:
      'Rows are in order of insertion. A walk to the last page yields every row that existed throughout the walk exactly once.',
    security: 'team',
    parameters: ['limit', 'continuation', 'where', 'columns', 'from', 'ifNoneMatch'],
    success: { 200: versioned('A page.', ref('Page')), 304: UNCHANGED },
    errors: [...KEYED, 'TABLE_NOT_FOUND', 'CONTINUATION_INVALID'],
  },
  'POST /tables/{tableID}/rows': {
    operationId: 'addRows',
    tag: 'Rows',
    summary: 'Add rows',
    description: 'All rows are added or none.',
    security: 'team',
    parameters: ['onSchemaError', 'validate', 'idempotencyKey', 'prefer'],
    body: tabular('Rows, the ID of a stash, or CSV or TSV.', ref('AddRequest')),
    success: {
      200: { ...versioned('The request was only checked.', ref('PreflightAnswer')), ours: true },
      201: changed('The rows were added.', ref('RowIDsAnswer')),
    },
    errors: [...FILLING, 'TABLE_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'KEY_NOT_UNIQUE'],
  },
  'POST /tables/{tableID}/merge': {
    operationId: 'mergeRows',
    tag: 'Rows',
    summary: 'Merge rows by key',
    description:
      'Rows with a key that the table has change its rows, others are added. All of it is done or none. `validate` needs the scope `read` too.',
    security: 'team',
    parameters: [
      'mergeKey',
      'mergeMode',
      'onSchemaError',
      'validate',
      'ifMergeMatch',
      'idempotencyKey',
      'prefer',
    ],
    body: tabular('Rows, the ID of a stash, or CSV or TSV.', ref('AddRequest')),
    success: { 200: changed('The rows were merged, or counted.', ref('MergeAnswer')) },
    errors: [
      ...FILLING,
      'TABLE_NOT_FOUND',
      'PRECONDITION_FAILED',
      'IDEMPOTENCY_KEY_REUSED',
      'KEY_NOT_UNIQUE',
    ],
    ours: true,
  },
  'GET /tables/{tableID}/rows/{rowID}': {
    operationId: 'readRow',
    tag: 'Rows',
    summary: 'Read a row',
    security: 'team',
    parameters: ['at', 'ifNoneMatch'],
    success: {
      200: versioned('The ETag is the version of the row.', ref('RowAnswer')),
      304: UNCHANGED,
    },
    errors: [...KEYED, 'TABLE_NOT_FOUND', 'ROW_NOT_FOUND', 'HISTORY_GONE'],
  },
  'PATCH /tables/{tableID}/rows/{rowID}': {
    operationId: 'updateRow',
    tag: 'Rows',
    summary: 'Change cells of a row',
    description: 'Absent columns stay, null clears a cell.',
    security: 'team',
    parameters: ['onSchemaError', 'ifRowMatch'],
    body: { description: 'Cells by column ID.', content: json(ref('InputRow')) },
    success: { 200: versioned('The ETag is the new version of the table.', EMPTY) },
    errors: [
      ...RECEIVING,
      ...MISFITS,
      'TABLE_NOT_FOUND',
      'ROW_NOT_FOUND',
      'PRECONDITION_FAILED',
      'KEY_NOT_UNIQUE',
    ],
  },
  'DELETE /tables/{tableID}/rows/{rowID}': {
    operationId: 'deleteRow',
    tag: 'Rows',
    summary: 'Delete a row',
    description: 'Succeeds also if there is no such row; the version stays then.',
    security: 'team',
    success: { 200: versioned('The ETag is the version of the table.', EMPTY) },
    errors: [...WRITING, 'TABLE_NOT_FOUND'],
  },
} as const satisfies Readonly<Record<string, Operation>>
