// A name that appears or disappears here is a change of the public API: say so in CHANGELOG.md.
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from './support/source-files.js'

const ENTRIES = {
  rowstash: 'src/index.ts',
  'rowstash/node': 'adapters/node.ts',
  'rowstash/testing': 'test/conformance/testing.ts',
} as const

/** The exported names of a module, types marked as such. */
function exportedNames(program: ts.Program, path: string): string[] {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(join(ROOT, path))
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${path} is not a module`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
      const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
      return (target.flags & ts.SymbolFlags.Value) === 0 ? `type ${symbol.name}` : symbol.name
    })
    .sort()
}

test('the entry points export exactly these names', () => {
  const configPath = join(ROOT, 'tsconfig.json')
  const { config } = ts.readConfigFile(configPath, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const paths = Object.values(ENTRIES).map((path) => join(ROOT, path))
  const program = ts.createProgram(paths, options)

  const found = Object.entries(ENTRIES).map(([name, path]) => [name, exportedNames(program, path)])

  expect(Object.fromEntries(found)).toMatchInlineSnapshot(`
    {
      "rowstash": [
        "COLUMN_KINDS",
        "RESTORED_VERSION_STEP",
        "StoreError",
        "createContract",
        "isStoreError",
        "kvObjects",
        "memoryObjects",
        "openLevelKv",
        "openMemory",
        "openStore",
        "restoreBackup",
        "type AddOptions",
        "type Awaitable",
        "type BackgroundTask",
        "type BackupOptions",
        "type BehaviorOptions",
        "type ByteRange",
        "type Bytes",
        "type ChangeResult",
        "type Checksum",
        "type Clock",
        "type Column",
        "type ColumnKind",
        "type ColumnType",
        "type Contract",
        "type ContractKey",
        "type ContractOptions",
        "type ContractRequest",
        "type ContractResponse",
        "type CorsOptions",
        "type CreateResult",
        "type CreateTableRequest",
        "type DeleteResult",
        "type ErrorPlace",
        "type FetchedSource",
        "type FileContent",
        "type FileDetails",
        "type Files",
        "type HeaderList",
        "type HighWaterFile",
        "type HighWaterPlace",
        "type Identity",
        "type ImportTableRequest",
        "type KeyRange",
        "type KvCache",
        "type KvCheck",
        "type KvCheckItem",
        "type KvCommit",
        "type KvCommitResult",
        "type KvPartition",
        "type KvScan",
        "type KvStore",
        "type KvView",
        "type LevelDatabase",
        "type LevelKvOptions",
        "type LevelSource",
        "type LimitOptions",
        "type MemoryUse",
        "type NumberForm",
        "type ObjectId",
        "type ObjectStore",
        "type OnSchemaError",
        "type OpenFile",
        "type OpenPage",
        "type OpenPageRequest",
        "type OpenStoreOptions",
        "type OverwriteRequest",
        "type Page",
        "type PageBounds",
        "type PageBytes",
        "type PageBytesRequest",
        "type PagePiece",
        "type PageRequest",
        "type PerformanceOptions",
        "type PieceRequest",
        "type PieceStart",
        "type PresignTerms",
        "type PublicFiles",
        "type QuotaRequest",
        "type Random",
        "type ReadJsonResult",
        "type ReadOptions",
        "type ReadResult",
        "type ReserveMemory",
        "type RestorePorts",
        "type RestoreResult",
        "type RestoreTarget",
        "type RowIds",
        "type RowInput",
        "type RowObject",
        "type RowWithId",
        "type RowsFormat",
        "type RowsInput",
        "type SchemaInput",
        "type SourceLimits",
        "type Stash",
        "type Store",
        "type StoreErrorCode",
        "type StoreLimits",
        "type StoreMemory",
        "type StoreOptions",
        "type StoreStatus",
        "type StoredFile",
        "type SweepReport",
        "type Table",
        "type TableEntry",
        "type TableJson",
        "type TableSchema",
        "type Team",
        "type TextRows",
        "type UpdateOptions",
        "type UploadInit",
        "type UploadRequest",
        "type UploadTicket",
        "type UrlFetcher",
        "type VerifyCounts",
        "type VerifyFinding",
        "type VerifyFindingKind",
        "type VerifyOptions",
        "type VerifyPlace",
        "type VerifyReport",
        "type VerifySeverity",
        "type WriteOutcome",
      ],
      "rowstash/node": [
        "backupToFile",
        "closeServer",
        "hardenServer",
        "nodeHandler",
        "nodeSources",
        "openDirectory",
        "restoreDirectory",
        "serverOptions",
        "type ConnectionLimits",
        "type DirectoryOptions",
        "type DirectoryPortOptions",
        "type NodeHandler",
        "type NodeHandlerOptions",
        "type RestoreOptions",
        "type SourceLookup",
        "type SourceOptions",
      ],
      "rowstash/testing": [
        "FaultDisk",
        "FaultFile",
        "FaultLevel",
        "FaultObjects",
        "ODD_COLUMN_IDS",
        "anyColumnType",
        "anyRowOf",
        "anySchema",
        "anyValueOfKind",
        "contractSources",
        "contractSuite",
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
        "type LossModel",
        "type NthStepOptions",
        "type PortStep",
      ],
    }
  `)
})
