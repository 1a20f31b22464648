// CONTRACT.md, section 5.
import { changed, EMPTY, json, type Operation, tabular, unversioned, versioned } from './bodies.js'
import { FILLING, KEYED, RECEIVING, SOURCE_FAILURES, WRITING } from './codes.js'
import { ref } from './schemas.js'

export const TABLE_OPERATIONS = {
  'GET /tables': {
    operationId: 'listTables',
    tag: 'Tables',
    summary: 'List the tables of the team',
    description: 'The list is complete and in order of creation.',
    security: 'team',
    success: { 200: unversioned('All tables.', ref('TableList')) },
    errors: KEYED,
  },
  'POST /tables': {
    operationId: 'createTable',
    tag: 'Tables',
    summary: 'Create a table',
    description: 'Without a schema the columns are inferred from all rows.',
    security: 'team',
    parameters: [
      'name',
      'appsToLink',
      'onSchemaError',
      'validate',
      'asynchronous',
      'idempotencyKey',
      'prefer',
    ],
    body: tabular('Rows, the ID of a stash, or CSV or TSV.', ref('CreateRequest')),
    success: {
      200: { ...unversioned('The request was only checked.', ref('PreflightAnswer')), ours: true },
      201: changed('The table was created.', ref('CreateAnswer')),
      202: unversioned('The table is being created.', ref('NewTableJob')),
    },
    errors: [...FILLING, 'IDEMPOTENCY_KEY_REUSED'],
  },
  'POST /tables/import': {
    operationId: 'importTable',
    tag: 'Tables',
    summary: 'Create a table from a file at a URL',
    description:
      'The file is CSV, TSV, JSON or NDJSON, by its media type or its extension. The columns are inferred from all rows.',
    security: 'team',
    parameters: ['appsToLink', 'onSchemaError', 'asynchronous', 'prefer'],
    body: { description: 'The URL of the file.', content: json(ref('ImportRequest')) },
    success: {
      201: changed('The table was created.', ref('ImportAnswer')),
      202: unversioned('The table is being created.', ref('NewTableJob')),
    },
    errors: [
      ...RECEIVING,
      ...SOURCE_FAILURES,
      'LIMIT_EXCEEDED',
      'COLUMN_HAS_INVALID_VALUE',
      'COLUMN_ID_RESERVED',
      'COLUMN_ID_NOT_UNIQUE',
    ],
  },
  'PUT /tables/{tableID}': {
    operationId: 'overwriteTable',
    tag: 'Tables',
    summary: 'Replace all rows of a table',
    description:
      'Replaces the schema too if one is given. Readers see all old rows or all new rows. An input row with the $rowID of a row of the table keeps that ID.',
    security: 'team',
    parameters: ['onSchemaError', 'validate', 'asynchronous', 'ifTableMatch', 'prefer'],
    body: tabular('Rows, the ID of a stash, or CSV or TSV.', ref('OverwriteRequest')),
    success: {
      200: changed('The rows were replaced, or only checked.', ref('OverwriteAnswer')),
      202: unversioned('The rows are being replaced.', ref('OverwriteJob')),
    },
    errors: [...FILLING, 'TABLE_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
  'GET /tables/{tableID}': {
    operationId: 'readTable',
    tag: 'Tables',
    summary: 'Read what a table is',
    description: 'Its name, its columns, and how many rows it has, without reading them.',
    security: 'team',
    success: { 200: versioned('The table.', ref('TableAnswer')) },
    errors: [...KEYED, 'TABLE_NOT_FOUND'],
    ours: true,
  },
  'PATCH /tables/{tableID}': {
    operationId: 'alterTable',
    tag: 'Tables',
    summary: 'Change the name and the columns of a table',
    description:
      'Columns are added without cells, dropped with theirs, or get another display name. The rows stay as they are.',
    security: 'team',
    parameters: ['ifTableMatch'],
    body: { description: 'What changes.', content: json(ref('AlterRequest')) },
    success: { 200: versioned('The ETag is the new version of the table.', EMPTY) },
    errors: [
      ...WRITING,
      'REQUEST_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'COLUMN_ID_RESERVED',
      'COLUMN_ID_NOT_UNIQUE',
      'TABLE_NOT_FOUND',
      'PRECONDITION_FAILED',
    ],
    ours: true,
  },
  'DELETE /tables/{tableID}': {
    operationId: 'deleteTable',
    tag: 'Tables',
    summary: 'Delete a table with all its rows',
    description: 'Later requests for the table are answered 404. Its ID is never given again.',
    security: 'team',
    parameters: ['ifTableMatch'],
    success: { 200: unversioned('The table was deleted.', EMPTY) },
    errors: [...WRITING, 'TABLE_NOT_FOUND', 'PRECONDITION_FAILED'],
    ours: true,
  },
  'GET /tables/{tableID}/receipts/{version}': {
    operationId: 'readReceipt',
    tag: 'Tables',
    summary: 'Read the receipt of a create, an add or an overwrite',
    description:
      'There is one if the operation that made the version asked for it, until the table has 100 newer ones, or more than 16 MiB of them.',
    security: 'team',
    success: { 200: unversioned('What the operation did.', ref('ReceiptAnswer')) },
    errors: [...KEYED, 'TABLE_NOT_FOUND', 'RECEIPT_NOT_FOUND'],
    ours: true,
  },
} as const satisfies Readonly<Record<string, Operation>>
