/**
 * The core: stores, tables, rows, files and the HTTP contract. It imports no module of Node, so it runs in browsers too.
 * @module rowstash
 */

export type { Bytes } from './base/bytes.js'
export type { DisposableIterator, Disposing } from './base/disposable.js'
export type { StoreErrorCode, WriteOutcome } from './base/store-error.js'
export { isStoreError, StoreError } from './base/store-error.js'
export type { Logger } from './contract/access-log.js'
export type { Identity } from './contract/caller.js'
export type { Contract } from './contract/contract.js'
export { createContract } from './contract/contract.js'
export type { ContractLimitOptions } from './contract/contract-limits.js'
export type { AuthenticateRequest, ContractOptions } from './contract/contract-options.js'
export type { CorsOptions } from './contract/cors.js'
export type { FetchHandler, FetchHandlerOptions } from './contract/fetch-handler.js'
export { fetchHandler } from './contract/fetch-handler.js'
export type { AuditEvent, ContractHooks, HookRequest } from './contract/hooks.js'
export type { ContractKey } from './contract/key-options.js'
export type { StoreActivity } from './engine/api/activity-types.js'
export type { BackgroundTask } from './engine/api/background-types.js'
export type { BackupOptions, RestoreResult } from './engine/api/backup-types.js'
export type { StoreEvent } from './engine/api/event-types.js'
export type {
  FileContent,
  FileDetails,
  FileEntry,
  Files,
  FilesPage,
  OpenFile,
  QuotaRequest,
  StoredFile,
  UploadEntry,
  UploadInit,
  UploadTicket,
} from './engine/api/file-types.js'
export type {
  FindPageRequest,
  ScanOptions,
  Where,
  WhereCell,
  WhereValue,
} from './engine/api/find-types.js'
export type { ChangeEntry, PastTable, TableChange } from './engine/api/history-types.js'
export type { Job, JobEntry, JobRequest, JobStatus } from './engine/api/job-types.js'
export type {
  AddKeyRequest,
  AddKeyResult,
  ApiKey,
  ApiKeys,
  KeyScope,
} from './engine/api/key-types.js'
export type {
  AlterRequest,
  CsvOptions,
  ExportOptions,
  TableEntry,
  TableInfo,
} from './engine/api/life-types.js'
export type { DeleteRowsResult, RowsToDelete, RowUpdate } from './engine/api/many-types.js'
export type { StoreMemory } from './engine/api/memory-types.js'
export type { MergeCounts, MergeRequest, MergeResult } from './engine/api/merge-types.js'
export type {
  PreflightProblem,
  PreflightReport,
  TablePreflightReport,
} from './engine/api/preflight-types.js'
export type {
  DeleteResult,
  Page,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './engine/api/read-types.js'
export type { Receipt, ReceiptDropped } from './engine/api/receipt-types.js'
export type { StoreStatus, SweepReport } from './engine/api/report-types.js'
export type {
  AddOptions,
  ByteStream,
  ChangeResult,
  CreateResult,
  CreateTableRequest,
  DialectOptions,
  ImportTableRequest,
  OnSchemaError,
  OverwriteRequest,
  RowIds,
  RowInput,
  RowObject,
  RowStream,
  RowsFormat,
  RowsInput,
  SchemaInput,
  Stash,
  StashChunk,
  StashEntry,
  TablePreflightRequest,
  TextRows,
  UpdateOptions,
} from './engine/api/row-types.js'
export type { StoreOptions } from './engine/api/store-options.js'
export type { Store, Team } from './engine/api/store-types.js'
export type { Table } from './engine/api/table-types.js'
export type {
  Transaction,
  TransactionTable,
  TypedTransactionTable,
} from './engine/api/transaction-types.js'
export type { TypedTable } from './engine/api/typed-types.js'
export type { KeyValues } from './engine/api/unique-types.js'
export type { VerifyFinding, VerifyOptions, VerifyReport } from './engine/api/verify-types.js'
export { restoreBackup } from './engine/backup/restore.js'
export { kvObjects } from './engine/kv-objects.js'
export { openMemory } from './engine/open-memory.js'
export type { OpenStoreOptions } from './engine/store.js'
export { openStore } from './engine/store.js'
export type { Dialect } from './intake/dialect.js'
export type { IntakeReport } from './intake/intake.js'
export { openLevelKv } from './kv/level-kv.js'
export { memoryObjects } from './objects/memory-objects.js'
export type { Column, ColumnKind, ColumnType, TableSchema } from './schema/column-kind.js'
export { COLUMN_KINDS } from './schema/column-kind.js'
export { defineSchema } from './schema/define-schema.js'
export type { NumberForm } from './schema/parse-rendered.js'
export type {
  AnySchema,
  CellsOf,
  ColumnOf,
  InputRow,
  KeyOf,
  Row,
  Schema,
  TypedWhere,
} from './schema/row-types.js'
export type { StandardSchema } from './schema/standard-schema.js'
