/**
 * Names that no entry point of the package exports: limits for its adapters and programs, and parts of exported types.
 * A program refers to such a type by its place, such as `VerifyReport['checked']` or `Parameters<Table['count']>[1]`.
 * @module not exported
 */

export type { ErrorPlace } from './base/store-error.js'
export { CONTRACT_LIMITS } from './contract/memory/contract-limits.js'
export {
  checkStoreOptions,
  MAINTENANCE_LIMITS,
  NO_MAINTENANCE,
  STORE_LIMITS,
} from './engine/arguments/resolve-options.js'
export type {
  BytesHeld,
  CacheLookups,
  MaintenanceKind,
  MemoryUse,
  SizeClass,
} from './engine/types/activity-types.js'
export type { Authored } from './engine/types/call-types.js'
export type { JobOutcome, MaintainOptions, RecompressionEvent } from './engine/types/event-types.js'
export type { FilesPageRequest } from './engine/types/file-types.js'
export type {
  CountOptions,
  FindBounds,
  Group,
  GroupsRequest,
  OrderBy,
  Search,
} from './engine/types/find-types.js'
export type {
  ChangesRequest,
  LogPage,
  LogRequest,
  PastScanOptions,
  TableLog,
  WatchRequest,
} from './engine/types/history-types.js'
export type { JobError, JobProgress, JobsOptions } from './engine/types/job-types.js'
export type { TextTable } from './engine/types/json-types.js'
export type { KeyRights } from './engine/types/key-types.js'
export type {
  DeleteAllOptions,
  ExportedRows,
  IfTableMatch,
  TableNamesOptions,
} from './engine/types/life-types.js'
export type {
  ConditionToDelete,
  RowTextUpdate,
  RowToDelete,
  UpdateRowsOptions,
} from './engine/types/many-types.js'
export type { PageBounds } from './engine/types/read-types.js'
export type { ReceiptChunk, ReceiptColumns, ReceiptMerge } from './engine/types/receipt-types.js'
export type {
  ChunkResult,
  KeyColumnOf,
  MayBeEmpty,
  Repeatable,
  RowsOf,
  TypedRowsInput,
} from './engine/types/row-types.js'
export type {
  BehaviorOptions,
  LimitOptions,
  MaintenanceOptions,
  PerformanceOptions,
} from './engine/types/store-options.js'
export type { StoreLimits } from './engine/types/store-types.js'
export type { TransactionAddOptions } from './engine/types/transaction-types.js'
export type {
  TypedChange,
  TypedFindOptions,
  TypedPageRequest,
  TypedReadResult,
  TypedRow,
  TypedRowUpdate,
  TypedScanOptions,
} from './engine/types/typed-types.js'
export type {
  VerifyCounts,
  VerifyFindingKind,
  VerifyPlace,
  VerifySeverity,
} from './engine/types/verify-types.js'
export { RESTORED_VERSION_STEP } from './kv/version-base.js'
export type {
  Cells,
  ColumnShape,
  ColumnSpec,
  ColumnSpecs,
  RowOf,
  SchemaDefinition,
  SpecsOf,
  WhereOf,
} from './schema/row-types.js'
export type { StandardIssue, StandardResult } from './schema/standard-schema.js'
