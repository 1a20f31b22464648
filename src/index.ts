/**
 * The core: stores, tables, rows, files and the HTTP contract. It imports no module of Node, so it runs in browsers too.
 * @module rowstash
 */

export type { DisposableIterator, Disposing } from './base/disposable.js'
export type { ErrorPlace, StoreErrorCode, WriteOutcome } from './base/store-error.js'
export { isStoreError, StoreError } from './base/store-error.js'
export type { Logger } from './contract/access-log.js'
export type { Identity } from './contract/caller.js'
export type { Contract } from './contract/contract.js'
export { createContract } from './contract/contract.js'
export type { ContractLimitOptions } from './contract/contract-limits.js'
export { CONTRACT_LIMITS } from './contract/contract-limits.js'
export type { AuthenticateRequest, ContractOptions } from './contract/contract-options.js'
export type { CorsOptions } from './contract/cors.js'
export type { FetchHandler, FetchHandlerOptions } from './contract/fetch-handler.js'
export { fetchHandler } from './contract/fetch-handler.js'
export type { AuditEvent, ContractHooks, HookRequest } from './contract/hooks.js'
export type { ContractKey } from './contract/key-options.js'
export type { Abortable } from './engine/api/abort-types.js'
export type {
  BytesHeld,
  CacheLookups,
  SizeClass,
  StoreActivity,
  UpkeepKind,
} from './engine/api/activity-types.js'
export type { BackgroundTask } from './engine/api/background-types.js'
export type { BackupOptions, RestoreResult } from './engine/api/backup-types.js'
export type { JobOutcome, SettleEvent, StoreEvent } from './engine/api/event-types.js'
export type {
  FileContent,
  FileDetails,
  FileEntry,
  Files,
  FilesPage,
  FilesPageRequest,
  OpenFile,
  QuotaRequest,
  StoredFile,
  UploadEntry,
  UploadInit,
  UploadTicket,
} from './engine/api/file-types.js'
export type {
  CountOptions,
  FindBounds,
  FindPageRequest,
  ScanOptions,
  Where,
  WhereCell,
  WhereValue,
} from './engine/api/find-types.js'
export type {
  ChangesRequest,
  PastScanOptions,
  PastTable,
  TableChange,
  WatchRequest,
} from './engine/api/history-types.js'
export type {
  Job,
  JobEntry,
  JobError,
  JobProgress,
  JobRequest,
  JobStatus,
  JobsOptions,
} from './engine/api/job-types.js'
export type {
  AddKeyRequest,
  AddKeyResult,
  ApiKey,
  ApiKeys,
  KeyRights,
  KeyScope,
} from './engine/api/key-types.js'
export type {
  AlterRequest,
  CsvOptions,
  DeleteAllOptions,
  ExportedRows,
  ExportOptions,
  IfTableMatch,
  TableEntry,
  TableInfo,
  TableNamesOptions,
} from './engine/api/life-types.js'
export type {
  ConditionToDelete,
  DeleteRowsResult,
  RowsToDelete,
  RowUpdate,
  UpdateRowsOptions,
} from './engine/api/many-types.js'
export type { MemoryUse, StoreMemory } from './engine/api/memory-types.js'
export type { MergeCounts, MergeMode, MergeRequest, MergeResult } from './engine/api/merge-types.js'
export type {
  PreflightProblem,
  PreflightReport,
  TablePreflightReport,
} from './engine/api/preflight-types.js'
export type {
  DeleteResult,
  Page,
  PageBounds,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './engine/api/read-types.js'
export type {
  Receipt,
  ReceiptChunk,
  ReceiptColumns,
  ReceiptDropped,
  ReceiptMerge,
} from './engine/api/receipt-types.js'
export type { StoreStatus, SweepOptions, SweepReport } from './engine/api/report-types.js'
export { checkStoreOptions, STORE_LIMITS } from './engine/api/resolve-options.js'
export type {
  AddOptions,
  ByteStream,
  ChangeResult,
  ChunkResult,
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  OnSchemaError,
  OverwriteRequest,
  RowIds,
  RowInput,
  RowObject,
  RowStream,
  RowsFormat,
  RowsInput,
  RowsOf,
  SchemaInput,
  Stash,
  StashChunk,
  StashEntry,
  TablePreflightRequest,
  TextRows,
  TypedRowsInput,
  UpdateOptions,
} from './engine/api/row-types.js'
export type {
  BehaviorOptions,
  LimitOptions,
  PerformanceOptions,
  StoreOptions,
} from './engine/api/store-options.js'
export type { Store, StoreLimits, Team } from './engine/api/store-types.js'
export type { Table } from './engine/api/table-types.js'
export type {
  Transaction,
  TransactionAddOptions,
  TransactionTable,
  TypedTransactionTable,
} from './engine/api/transaction-types.js'
export type {
  TypedChange,
  TypedFindOptions,
  TypedPageRequest,
  TypedReadResult,
  TypedRow,
  TypedRowUpdate,
  TypedScanOptions,
  TypedTable,
} from './engine/api/typed-types.js'
export type { KeyValues } from './engine/api/unique-types.js'
export type {
  VerifyCounts,
  VerifyFinding,
  VerifyFindingKind,
  VerifyOptions,
  VerifyPlace,
  VerifyReport,
  VerifySeverity,
} from './engine/api/verify-types.js'
export { restoreBackup } from './engine/backup/restore.js'
export { kvObjects } from './engine/kv-objects.js'
export { openMemory } from './engine/open-memory.js'
export type { OpenStoreOptions } from './engine/store.js'
export { openStore } from './engine/store.js'
export { openLevelKv } from './kv/level-kv.js'
export { RESTORED_VERSION_STEP } from './kv/version-base.js'
export { memoryObjects } from './objects/memory-objects.js'
export type { Column, ColumnKind, ColumnType, TableSchema } from './schema/column-kind.js'
export { COLUMN_KINDS } from './schema/column-kind.js'
export { defineSchema } from './schema/define-schema.js'
export type { NumberForm } from './schema/parse-rendered.js'
export type {
  AnySchema,
  Cells,
  CellsOf,
  ColumnOf,
  ColumnShape,
  ColumnSpec,
  ColumnSpecs,
  InputRow,
  KeyOf,
  Row,
  RowOf,
  Schema,
  SchemaDefinition,
  SpecsOf,
  TypedWhere,
  WhereOf,
} from './schema/row-types.js'
export type { StandardIssue, StandardResult, StandardSchema } from './schema/standard-schema.js'
