/**
 * The core: stores, tables, rows, files and the HTTP contract. It imports no Node module, so it also runs in browsers.
 * @module rowstash
 */

export type { Bytes } from './base/bytes.js'
export type { DisposableIterator, Disposing } from './base/disposable.js'
export type { StoreErrorCode, WriteOutcome } from './base/store-error.js'
export { isStoreError, StoreError } from './base/store-error.js'
export type { Identity } from './contract/auth/caller.js'
export type { ContractKey } from './contract/auth/key-options.js'
export type { Logger } from './contract/calls/access-log.js'
export type { AuthenticateRequest, ContractOptions } from './contract/calls/contract-options.js'
export type { AuditEvent, ContractHooks, HookRequest } from './contract/calls/hooks.js'
export type { Contract } from './contract/contract.js'
export { createContract } from './contract/contract.js'
export type { FetchHandler, FetchHandlerOptions } from './contract/fetch-handler.js'
export { fetchHandler } from './contract/fetch-handler.js'
export type { CorsOptions } from './contract/http/cors.js'
export type { ContractLimitOptions } from './contract/memory/contract-limits.js'
export { restoreBackup } from './engine/backup/restore.js'
export { kvObjects } from './engine/kv-objects.js'
export { openMemory } from './engine/open-memory.js'
export type { OpenStoreOptions } from './engine/store.js'
export { openStore } from './engine/store.js'
export type { StoreActivity, StoreMemory } from './engine/types/activity-types.js'
export type { BackupOptions, RestoreResult } from './engine/types/backup-types.js'
export type { KeyValues } from './engine/types/call-types.js'
export type { MaintenanceReport, StoreEvent, StoreStatus } from './engine/types/event-types.js'
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
} from './engine/types/file-types.js'
export type {
  FindPageRequest,
  ScanOptions,
  Where,
  WhereCell,
  WhereValue,
} from './engine/types/find-types.js'
export type { ChangeEntry, PastTable, TableChange } from './engine/types/history-types.js'
export type { Job, JobEntry, JobRequest, JobStatus } from './engine/types/job-types.js'
export type {
  AddKeyRequest,
  AddKeyResult,
  ApiKey,
  ApiKeys,
  KeyScope,
} from './engine/types/key-types.js'
export type {
  AlterRequest,
  CsvOptions,
  ExportOptions,
  TableEntry,
  TableInfo,
} from './engine/types/life-types.js'
export type { DeleteRowsResult, RowsToDelete, RowUpdate } from './engine/types/many-types.js'
export type { MergeCounts, MergeRequest, MergeResult } from './engine/types/merge-types.js'
export type {
  PreflightProblem,
  PreflightReport,
  TablePreflightReport,
} from './engine/types/preflight-types.js'
export type {
  DeleteResult,
  Page,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './engine/types/read-types.js'
export type { Receipt, ReceiptDropped } from './engine/types/receipt-types.js'
export type {
  AddOptions,
  ByteStream,
  ChangeResult,
  CreateResult,
  CreateTableRequest,
  DialectOptions,
  EnsureTableRequest,
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
} from './engine/types/row-types.js'
export type { BackgroundTask, StoreOptions } from './engine/types/store-options.js'
export type { Store, Team } from './engine/types/store-types.js'
export type { Table } from './engine/types/table-types.js'
export type {
  Transaction,
  TransactionTable,
  TypedTransactionTable,
} from './engine/types/transaction-types.js'
export type { TypedTable } from './engine/types/typed-types.js'
export type { VerifyFinding, VerifyOptions, VerifyReport } from './engine/types/verify-types.js'
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
