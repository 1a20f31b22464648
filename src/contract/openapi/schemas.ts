// Shapes of bodies. Request objects and answers are closed, rows are open.
import { KEY_COLUMNS_MAX, NAME_CHARS_MAX } from '../../base/limits.js'
import { STASH_NAME_PATTERN } from '../../engine/api/arguments.js'
import { KEY_SCOPES, KEY_TABLES_MAX } from '../../engine/api/key-types.js'
import { COLUMN_KINDS } from '../../schema/column-kind.js'
import { COLUMN_ID_CHARS_MAX } from '../../schema/table-schema.js'
import type { JsonSchema } from './model.js'

/** The schema `name` of the document. */
export function ref(name: keyof typeof SCHEMAS): JsonSchema {
  return at(name)
}

function at(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** An object that has these members, and no others. */
function closed(
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  }
}

/** A success, whose result is in `data`. */
function data(schema: JsonSchema): JsonSchema {
  return closed({ data: schema })
}

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

function described(description: string, schema: JsonSchema): JsonSchema {
  return { ...schema, description }
}

const TEXT: JsonSchema = { type: 'string' }
const SCALAR: JsonSchema = { type: ['string', 'number', 'boolean'] }
const HTTP_URL: JsonSchema = { type: 'string', pattern: '^https?://[^\\s/?#]+/\\S+$' }
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: NAME_CHARS_MAX }
const ROW_IDS = described('In the order of the input.', list(at('RowID')))
const LINKED_APPS = described('Apps of appsToLink that exist; only if it was given.', list(TEXT))
const APPS: JsonSchema = { ...list(TEXT), maxItems: 1_000 }
const CREATED_IDS = { tableID: at('TableID'), rowIDs: ROW_IDS }
const RECEIPT = { receipt: at('Receipt') }
const CREATED = closed(CREATED_IDS, { linkedAppIDs: LINKED_APPS, ...RECEIPT })
const WRITTEN = closed({ rowIDs: ROW_IDS }, RECEIPT)
const KEY: JsonSchema = { ...list(TEXT), maxItems: KEY_COLUMNS_MAX }
const COUNT: JsonSchema = { type: 'integer', minimum: 0 }
const SOME_TIME: JsonSchema = { type: ['integer', 'null'], minimum: 0 }
const PROBLEM = described(
  'A value that does not fit; without a value, a column that the schema lacks.',
  closed(
    { row: COUNT, column: TEXT, rule: TEXT },
    { serial: at('StashName'), line: { type: 'integer', minimum: 1 }, value: TEXT },
  ),
)
const RECEIPT_CHUNK = closed(
  {
    rows: COUNT,
    sha256: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description:
        'Of the rows as the table returns them: for each the JSON text without $rowID, then a line feed.',
    },
  },
  { serial: at('StashName') },
)
const MERGE_COUNTS = {
  added: COUNT,
  changed: COUNT,
  unchanged: COUNT,
  removed: COUNT,
} as const satisfies Readonly<Record<string, JsonSchema>>
const SCHEMA_MEMBER = { schema: at('TableSchema') }
const ROWS_MEMBER = {
  rows: {
    oneOf: [at('InputRows'), at('StashReference')],
  },
}

const TIME: JsonSchema = { type: 'string', pattern: '^[0-9]{4}-[0-9-]{5}T[0-9:.]{8,12}Z$' }
const KEY_RIGHTS = {
  scopes: list({ type: 'string', enum: KEY_SCOPES }),
  tables: described('The only tables that the key reaches; absent: all.', {
    ...list(at('TableID')),
    maxItems: KEY_TABLES_MAX,
  }),
}
const STORED_KEY = {
  keyID: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  teamID: TEXT,
  label: TEXT,
  scopes: KEY_RIGHTS.scopes,
  createdAt: TIME,
  tail: described('The last characters of the key.', {
    type: 'string',
    minLength: 4,
    maxLength: 4,
  }),
} as const satisfies Readonly<Record<string, JsonSchema>>
const STORED_KEY_LIMITS = {
  tables: KEY_RIGHTS.tables,
  expiresAt: described('Absent: never.', TIME),
}

/** The schemas of the document by name; those of errors are added to them. */
export const SCHEMAS = {
  Empty: closed({}),
  TableID: {
    type: 'string',
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  },
  JobID: described('A UUID.', at('TableID')),
  RowID: { type: 'string', pattern: '^[A-Za-z0-9_-]{22}$' },
  StashName: { type: 'string', pattern: STASH_NAME_PATTERN },
  Kind: { type: 'string', enum: COLUMN_KINDS },
  ColumnType: described('A kind, or an array of a kind.', {
    oneOf: [
      at('Kind'),
      closed({ kind: at('Kind') }),
      closed({
        kind: { const: 'array' },
        items: closed({ kind: at('Kind') }),
      }),
    ],
  }),
  TableSchema: closed({
    columns: list(
      closed(
        {
          id: { type: 'string', minLength: 1, maxLength: COLUMN_ID_CHARS_MAX },
          type: at('ColumnType'),
        },
        { displayName: { type: 'string', maxLength: NAME_CHARS_MAX } },
      ),
    ),
  }),
  InputRow: described(
    'Cells by column ID. null is an empty cell. $rowID is accepted and is never a column.',
    { type: 'object' },
  ),
  InputRows: list(at('InputRow')),
  StashReference: described(
    'All rows of a stash.',
    closed({
      $stashID: at('StashName'),
    }),
  ),
  ChunksAnswer: {
    ...data(closed({ chunks: list(closed({ serial: at('StashName'), rows: COUNT })) })),
    'x-rowstash': true,
  },
  Row: described('The non-empty cells of a row by column ID.', {
    type: 'object',
    properties: { $rowID: at('RowID') },
    required: ['$rowID'],
    additionalProperties: { oneOf: [SCALAR, list(SCALAR)] },
  }),
  StashList: data(
    list(
      closed({
        id: at('StashName'),
        chunks: COUNT,
        rows: COUNT,
        bytes: COUNT,
        createdAt: COUNT,
        expiresAt: COUNT,
      }),
    ),
  ),
  JobList: data(
    list(
      closed({
        id: at('JobID'),
        kind: { type: 'string', enum: ['create', 'overwrite', 'import'] },
        tableID: at('TableID'),
        status: { type: 'string', enum: ['running', 'succeeded', 'failed'] },
        createdAt: COUNT,
      }),
    ),
  ),
  UploadList: data(
    list(
      closed(
        {
          id: TEXT,
          appID: TEXT,
          fileName: TEXT,
          contentType: TEXT,
          createdAt: COUNT,
          endsAt: COUNT,
        },
        { bytes: COUNT },
      ),
    ),
  ),
  FileList: closed(
    {
      data: list(
        closed({
          id: TEXT,
          url: HTTP_URL,
          fileName: TEXT,
          contentType: TEXT,
          bytes: COUNT,
          sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
          completedAt: COUNT,
          keptUntil: COUNT,
        }),
      ),
    },
    { continuation: TEXT },
  ),
  TableList: data(list(closed({ id: at('TableID'), name: NAME }))),
  TableAnswer: {
    ...data(
      closed(
        {
          id: at('TableID'),
          name: NAME,
          schema: at('TableSchema'),
          rowCount: COUNT,
          version: COUNT,
          createdAt: described('Milliseconds since 1970; null: not known.', SOME_TIME),
          updatedAt: described('Milliseconds since 1970; null: not known.', SOME_TIME),
          bytes: described('Of the rows as they are stored, without overwritten ones.', COUNT),
        },
        { key: described('The columns of the key, if the table has one.', KEY) },
      ),
    ),
    'x-rowstash': true,
  },
  AlterRequest: {
    anyOf: [
      closed({ name: NAME }),
      closed(SCHEMA_MEMBER, { name: NAME, drop: list(TEXT) }),
      closed({ key: { anyOf: [KEY, { type: 'null' }] } }),
    ],
    'x-rowstash': true,
  },
  CreateRequest: {
    oneOf: [
      closed({ name: NAME, ...ROWS_MEMBER }, { ...SCHEMA_MEMBER, appsToLink: APPS }),
      described('The query gives the name.', at('InputRows')),
    ],
  },
  CreateAnswer: data(CREATED),
  ImportRequest: closed({ fromUrl: TEXT }, { displayName: NAME, appsToLink: APPS }),
  ImportAnswer: data({ ...list(CREATED), maxItems: 1 }),
  NewTableJob: data(closed({ tableID: at('TableID'), jobID: at('JobID') })),
  OverwriteJob: data(closed({ jobID: at('JobID') })),
  JobAnswer: data({
    oneOf: [
      closed({
        status: { const: 'running' },
        progress: {
          ...closed({ rows: COUNT, bytes: COUNT }),
          description: 'What an import has read so far.',
          'x-rowstash': true,
        },
      }),
      closed({
        status: { const: 'succeeded' },
        result: described('The data of the synchronous answer.', {
          anyOf: [CREATED, { ...list(CREATED), maxItems: 1 }, WRITTEN],
        }),
      }),
      closed({ status: { const: 'failed' }, error: closed({ message: TEXT }) }),
    ],
  }),
  OverwriteRequest: {
    oneOf: [closed(ROWS_MEMBER, SCHEMA_MEMBER), at('InputRows'), at('StashReference')],
  },
  AddRequest: {
    oneOf: [at('InputRows'), at('StashReference')],
  },
  RowIDsAnswer: data(WRITTEN),
  Receipt: {
    ...closed(
      {
        operation: { enum: ['create', 'add', 'overwrite', 'merge'] },
        version: described('The version that the operation made.', COUNT),
        versionBefore: described('0 for a create.', COUNT),
        at: described('Milliseconds since 1970.', COUNT),
        rows: COUNT,
        chunks: described('In the order of the input.', list(RECEIPT_CHUNK)),
        columns: closed({
          added: list(TEXT),
          changed: list(closed({ id: TEXT, before: at('ColumnType'), after: at('ColumnType') })),
          removed: list(TEXT),
        }),
        dropped: described(
          'Cells that dropColumns left empty.',
          closed({
            count: COUNT,
            columns: {
              ...list(closed({ column: TEXT, rule: TEXT, count: COUNT })),
              maxItems: 1_000,
            },
            first: { ...list(PROBLEM), maxItems: 10 },
          }),
        ),
      },
      {
        merge: described(
          'Only of a merge.',
          closed({
            mode: { enum: ['upsert', 'replace'] },
            key: list(TEXT),
            ...MERGE_COUNTS,
          }),
        ),
      },
    ),
    'x-rowstash': true,
  },
  MergeAnswer: {
    ...data({
      oneOf: [
        closed({ ...MERGE_COUNTS, rowIDs: list(at('RowID')) }, { receipt: at('Receipt') }),
        described('With validate=only.', closed(MERGE_COUNTS)),
      ],
    }),
    'x-rowstash': true,
  },
  ReceiptAnswer: { ...data(at('Receipt')), 'x-rowstash': true },
  PreflightAnswer: {
    ...data(
      closed({
        rows: COUNT,
        schema: at('TableSchema'),
        problems: { ...list(PROBLEM), maxItems: 1_000 },
        problemCount: COUNT,
      }),
    ),
    'x-rowstash': true,
  },
  OverwriteAnswer: { oneOf: [at('RowIDsAnswer'), at('PreflightAnswer')] },
  Page: closed(
    { data: list(at('Row')) },
    {
      continuation: {
        type: 'string',
        minLength: 1,
        description: 'Only if more rows follow.',
      },
    },
  ),
  RowAnswer: data(at('Row')),
  DirectUpload: closed(
    { contentType: TEXT, fileName: TEXT },
    { contentLength: { type: 'integer', minimum: 0 } },
  ),
  SourceUpload: closed({ sourceURL: TEXT }, { fileName: TEXT, contentType: TEXT }),
  UploadRequest: {
    oneOf: [at('DirectUpload'), at('SourceUpload')],
  },
  UploadAnswer: {
    oneOf: [
      data(
        closed({
          uploadID: { type: 'string', pattern: '^[A-Za-z0-9_-]{22,64}$' },
          uploadLocation: HTTP_URL,
        }),
      ),
      at('FileAnswer'),
    ],
  },
  KeyRequest: closed(
    { teamID: { type: 'string', minLength: 1, maxLength: 128 } },
    {
      label: { type: 'string', maxLength: 256 },
      ...KEY_RIGHTS,
      expiresAt: described('Default: never.', TIME),
    },
  ),
  KeyList: data(list(closed(STORED_KEY, STORED_KEY_LIMITS))),
  KeyAnswer: data(
    closed(
      { key: { type: 'string', pattern: '^rsk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$' }, ...STORED_KEY },
      STORED_KEY_LIMITS,
    ),
  ),
  FileAnswer: data(closed({ url: HTTP_URL })),
} as const satisfies Readonly<Record<string, JsonSchema>>
