// A name that appears or disappears here changes the public API: add it to CHANGELOG.md.
import { join } from 'node:path'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'
import { exportsOf } from './support/module-exports.js'
import { ROOT, readText } from './support/project.js'
import {
  codesOf,
  type PublicDocs,
  publicDocs,
  silentFailures,
  silentOptions,
} from './support/public-docs.js'
import { publicNames } from './support/public-names.js'

const ENTRIES = {
  rowstash: 'src/index.ts',
  'rowstash/client': 'src/client/client.ts',
  'rowstash/node': 'adapters/node.ts',
  'rowstash/ports': 'src/ports.ts',
  'rowstash/postgres': 'adapters/postgres.ts',
  'rowstash/s3': 'adapters/s3.ts',
  'rowstash/testing': 'test/conformance/testing.ts',
} as const

/** The exported names of a module, with types marked. */
function exportedNames(program: ts.Program, path: string): string[] {
  return exportsOf(program, join(ROOT, path))
    .map(({ name, target, isTypeOnly }) => {
      const isType = (target.flags & ts.SymbolFlags.Value) === 0 || isTypeOnly
      return isType ? `type ${name}` : name
    })
    .sort()
}

/** The declarations of a module's names. */
function declarations(program: ts.Program, path: string): ReadonlyMap<string, ts.Node | undefined> {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(join(ROOT, path))
  const module = source && checker.getSymbolAtLocation(source)
  const exported = module === undefined ? [] : checker.getExportsOfModule(module)
  return new Map(
    exported.map((symbol) => {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
      const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
      return [symbol.name, target.declarations?.[0]]
    }),
  )
}

let program: ts.Program
let docs: PublicDocs

beforeAll(() => {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const paths = [...Object.values(ENTRIES), 'src/internal.ts'].map((path) => join(ROOT, path))
  program = ts.createProgram(paths, options)
  const entries = Object.entries(ENTRIES).map(([name, path]) => [name, join(ROOT, path)])
  docs = publicDocs(program, Object.fromEntries(entries) as Record<string, string>)
})

/** Types whose docstring describes all their members: members of another type, or counts of one kind. */
const SPOKEN_FOR = new Set([
  ...['StoreStatus', 'MaintenanceReport', 'StoreLimits', 'ReceiptMerge', 'LevelDatabase', 'Logger'],
  ...['MetricsRegistry', 'RegisteredMetric', 'RegisteredValues', 'FastifyScope'],
  ...['StandardSchema', 'TransactionTable', 'TypedClientTable'],
  ...['TypedTable', 'TypedFindOptions', 'TypedReadResult', 'TypedRowUpdate'],
])

test('every name, member and option that the package exports has a docstring', () => {
  const names = publicNames(program, ENTRIES)
  const silent = names.filter(({ name, isDocumented }) => {
    const [type = '', member] = name.split('.')
    return !isDocumented && !(member !== undefined && SPOKEN_FOR.has(type))
  })

  expect(silent.map(({ name, place }) => `${name}, ${place}`)).toEqual([])
  expect(names.length).toBeGreaterThan(1_000)
  const known = new Set(names.map(({ name }) => name))
  expect([...SPOKEN_FOR].filter((name) => !known.has(name))).toEqual([])
})

test('every type that an exported one consists of is exported, or described by the reference as one that is not', () => {
  const described = [...Object.values(ENTRIES), 'src/internal.ts'].flatMap((path) =>
    exportsOf(program, join(ROOT, path)).map(({ name }) => name),
  )
  const names = publicNames(program, ENTRIES).map(({ name }) => name)
  const absent = names.filter((name) => !name.includes('.') && !described.includes(name))

  expect([...new Set(absent)].sort()).toEqual([])
})

test('a name that several entry points export is one declaration', () => {
  const declared = new Map<string, Set<ts.Node | undefined>>()
  for (const path of Object.values(ENTRIES)) {
    for (const [name, node] of declarations(program, path)) {
      declared.set(name, (declared.get(name) ?? new Set()).add(node))
    }
  }

  expect(declared.size).toBeGreaterThan(250)
  expect([...declared].filter(([, nodes]) => nodes.size > 1).map(([name]) => name)).toEqual([])
})

/** Bounds of waits over several tries or turns. A wait for one answer of the other side is a timeout. */
const WAITS = ['retryMsMax', 'waitMsMax']

test('the longest wait for another side is an option ...TimeoutMs', () => {
  const names = docs.options.map(({ name }) => name.replace(/^.*\./, ''))
  const waits = new Set(names.filter((name) => /MsMax$/.test(name)))

  expect([...waits].sort()).toEqual(WAITS)
})

test('every option says its default, and a number its range and its unit', () => {
  expect(silentOptions(docs)).toEqual([])
  expect(docs.options.length).toBeGreaterThan(300)
})

test('every call that may fail names its error codes, or the call whose codes it has', () => {
  expect(silentFailures(docs)).toEqual([])
  expect(docs.callables.length).toBeGreaterThan(200)
})

test('every code that a docstring names is there, and each code is named by a call that fails with it', () => {
  const codes: readonly string[] =
    readText('src/base/store-error.ts').match(/(?<=^ {2}\| ')\w+(?=')/gm) ?? []
  const named = new Set(docs.callables.flatMap(({ text }) => codesOf(text)))

  expect([...named].filter((code) => !codes.includes(code))).toEqual([])
  expect(codes.filter((code) => !named.has(code))).toEqual([])
})

/** Types with the most used methods: each method has an example. */
const SHOWN = /^(?:Store|Team|Table|Stash|Files|Job|ApiKeys|Client|ClientTable)\./

/** Methods that another method's example shows. */
const SHOWN_ELSEWHERE = ['ApiKeys.find', 'Files.completeUpload']

test('every exported function, class and value has an example, and every main method', () => {
  const methods = docs.callables.filter(({ name }) => SHOWN.test(name))
  const silent = [...docs.values, ...methods].filter(({ text }) => !text.includes('@example'))

  expect(silent.map(({ name }) => name).sort()).toEqual(SHOWN_ELSEWHERE)
})

test('the entry points export exactly these names', () => {
  const found = Object.entries(ENTRIES).map(([name, path]) => [name, exportedNames(program, path)])

  expect(Object.fromEntries(found)).toMatchInlineSnapshot(`
    {
      "rowstash": [
        "COLUMN_KINDS",
        "StoreError",
        "createContract",
        "defineSchema",
        "fetchHandler",
        "isStoreError",
        "kvObjects",
        "memoryObjects",
        "openLevelKv",
        "openMemory",
        "openStore",
        "restoreBackup",
        "type AddKeyRequest",
        "type AddKeyResult",
        "type AddOptions",
        "type AlterRequest",
        "type AnySchema",
        "type ApiKey",
        "type ApiKeys",
        "type AuditEvent",
        "type AuthenticateRequest",
        "type BackgroundTask",
        "type BackupOptions",
        "type ByteStream",
        "type Bytes",
        "type CellsOf",
        "type ChangeEntry",
        "type ChangeResult",
        "type Column",
        "type ColumnKind",
        "type ColumnOf",
        "type ColumnType",
        "type Contract",
        "type ContractHooks",
        "type ContractKey",
        "type ContractLimitOptions",
        "type ContractOptions",
        "type CorsOptions",
        "type CreateResult",
        "type CreateTableRequest",
        "type CsvOptions",
        "type DeleteResult",
        "type DeleteRowsResult",
        "type Dialect",
        "type DialectOptions",
        "type DisposableIterator",
        "type Disposing",
        "type EnsureTableRequest",
        "type ExportOptions",
        "type FetchHandler",
        "type FetchHandlerOptions",
        "type FileContent",
        "type FileDetails",
        "type FileEntry",
        "type Files",
        "type FilesPage",
        "type FindPageRequest",
        "type HookRequest",
        "type Identity",
        "type ImportTableRequest",
        "type InputRow",
        "type IntakeReport",
        "type Job",
        "type JobEntry",
        "type JobRequest",
        "type JobStatus",
        "type KeyOf",
        "type KeyScope",
        "type KeyValues",
        "type Logger",
        "type MaintenanceReport",
        "type MergeCounts",
        "type MergeRequest",
        "type MergeResult",
        "type NumberForm",
        "type OnSchemaError",
        "type OpenFile",
        "type OpenStoreOptions",
        "type OverwriteRequest",
        "type Page",
        "type PageRequest",
        "type PastTable",
        "type PreflightProblem",
        "type PreflightReport",
        "type QuotaRequest",
        "type ReadOptions",
        "type ReadResult",
        "type Receipt",
        "type ReceiptDropped",
        "type RestoreResult",
        "type Row",
        "type RowIds",
        "type RowInput",
        "type RowObject",
        "type RowStream",
        "type RowUpdate",
        "type RowWithId",
        "type RowsFormat",
        "type RowsInput",
        "type RowsToDelete",
        "type ScanOptions",
        "type Schema",
        "type SchemaInput",
        "type StandardSchema",
        "type Stash",
        "type StashChunk",
        "type StashEntry",
        "type Store",
        "type StoreActivity",
        "type StoreErrorCode",
        "type StoreEvent",
        "type StoreMemory",
        "type StoreOptions",
        "type StoreStatus",
        "type StoredFile",
        "type Table",
        "type TableChange",
        "type TableEntry",
        "type TableInfo",
        "type TablePreflightReport",
        "type TablePreflightRequest",
        "type TableSchema",
        "type Team",
        "type TextRows",
        "type Transaction",
        "type TransactionTable",
        "type TypedTable",
        "type TypedTransactionTable",
        "type TypedWhere",
        "type UpdateOptions",
        "type UploadEntry",
        "type UploadInit",
        "type UploadTicket",
        "type VerifyFinding",
        "type VerifyOptions",
        "type VerifyReport",
        "type Where",
        "type WhereCell",
        "type WhereValue",
        "type WriteOutcome",
      ],
      "rowstash/client": [
        "ClientError",
        "createClient",
        "defineSchema",
        "isStoreError",
        "type Abortable",
        "type ChunkPlace",
        "type Client",
        "type ClientCells",
        "type ClientChange",
        "type ClientChanges",
        "type ClientFind",
        "type ClientManyRows",
        "type ClientOptions",
        "type ClientPage",
        "type ClientRow",
        "type ClientTable",
        "type ClientTableInfo",
        "type Dialect",
        "type IfNoneMatch",
        "type ImportCheck",
        "type ImportInput",
        "type ImportOptions",
        "type ImportProblem",
        "type ImportProgress",
        "type ImportResult",
        "type ImportTarget",
        "type IntakeReport",
        "type MergeCounts",
        "type OnSchemaError",
        "type PagePart",
        "type Row",
        "type RowChunk",
        "type SendOptions",
        "type TypedClientTable",
        "type UploadOptions",
      ],
      "rowstash/node": [
        "backupToFile",
        "closeServer",
        "fastifyPlugin",
        "hardenServer",
        "loadParquet",
        "nodeHandler",
        "nodeSources",
        "openDirectory",
        "publishEvent",
        "restoreDirectory",
        "serverOptions",
        "startServer",
        "type ConnectionLimits",
        "type DirectoryOptions",
        "type DirectoryPortOptions",
        "type FastifyPluginOptions",
        "type FastifyScope",
        "type NodeHandler",
        "type NodeHandlerOptions",
        "type RequestMessage",
        "type RestoreOptions",
        "type SourceLookup",
        "type SourceOptions",
        "type StartServerOptions",
        "type StartedServer",
      ],
      "rowstash/ports": [
        "type AnsweredRequest",
        "type Awaitable",
        "type ByteRange",
        "type Checksum",
        "type Clock",
        "type ContractRequest",
        "type ContractResponse",
        "type FetchedSource",
        "type FindBytesRequest",
        "type HeaderList",
        "type HighWaterFile",
        "type HighWaterPlace",
        "type KeyRange",
        "type KvCache",
        "type KvCheck",
        "type KvCheckItem",
        "type KvCommit",
        "type KvCommitResult",
        "type KvGroup",
        "type KvPartition",
        "type KvScan",
        "type KvStore",
        "type KvView",
        "type LevelDatabase",
        "type LevelKvOptions",
        "type LevelSource",
        "type MetricFamily",
        "type MetricLabels",
        "type MetricSample",
        "type MetricsRegistry",
        "type ObjectId",
        "type ObjectStore",
        "type OpenPage",
        "type OpenPageRequest",
        "type PageBytes",
        "type PageBytesRequest",
        "type PagePiece",
        "type ParquetEncoder",
        "type PieceRequest",
        "type PieceStart",
        "type PresignTerms",
        "type PublicFiles",
        "type Random",
        "type ReadJsonResult",
        "type RegisteredMetric",
        "type RegisteredValues",
        "type ReserveMemory",
        "type RestorePorts",
        "type RestoreTarget",
        "type SourceLimits",
        "type UploadRequest",
        "type UrlFetcher",
      ],
      "rowstash/postgres": [
        "openPostgresKv",
        "openPostgresObjects",
        "raiseVersionBase",
        "type PostgresKvOptions",
        "type PostgresObjectsOptions",
        "type PostgresWarning",
        "type RaisedVersionBase",
      ],
      "rowstash/s3": [
        "openS3Objects",
        "type S3Credentials",
        "type S3Options",
      ],
      "rowstash/testing": [
        "FaultDisk",
        "ODD_COLUMN_IDS",
        "anyColumnType",
        "anyRowOf",
        "anySchema",
        "anyValueOfKind",
        "contractSources",
        "contractSuite",
        "createTestServer",
        "kvSuite",
        "nthStep",
        "objectsSuite",
        "storeSuite",
        "type ConformanceCase",
        "type ContractExchange",
        "type ContractServer",
        "type Damage",
        "type Fault",
        "type FaultDiskOptions",
        "type FaultPlan",
        "type FaultRule",
        "type LossModel",
        "type NthStepOptions",
        "type PortStep",
        "type RecordedRequest",
        "type RequestFault",
        "type TestClock",
        "type TestServer",
        "type TestServerOptions",
      ],
    }
  `)
})
