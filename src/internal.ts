/**
 * What no entry of the package exports: the limits that its adapters and programs use, and types that others consist of. A
 * program names such a type by its place, as in `VerifyReport['checked']` or `Parameters<Table['count']>[1]`.
 * @module not exported
 */

export type { ErrorPlace } from './base/store-error.js'
export { CONTRACT_LIMITS } from './contract/contract-limits.js'
export type { BytesHeld, CacheLookups, SizeClass, UpkeepKind } from './engine/api/activity-types.js'
export type { Authored } from './engine/api/authored-types.js'
export type { JobOutcome, SettleEvent } from './engine/api/event-types.js'
export type { FilesPageRequest } from './engine/api/file-types.js'
export type { CountOptions, FindBounds } from './engine/api/find-types.js'
export type { ChangesRequest, PastScanOptions, WatchRequest } from './engine/api/history-types.js'
export type { JobError, JobProgress, JobsOptions } from './engine/api/job-types.js'
export type { KeyRights } from './engine/api/key-types.js'
export type {
  DeleteAllOptions,
  ExportedRows,
  IfTableMatch,
  TableNamesOptions,
} from './engine/api/life-types.js'
export type { ConditionToDelete, UpdateRowsOptions } from './engine/api/many-types.js'
export type { MemoryUse } from './engine/api/memory-types.js'
export type { PageBounds } from './engine/api/read-types.js'
export type { ReceiptChunk, ReceiptColumns, ReceiptMerge } from './engine/api/receipt-types.js'
export type { SweepOptions } from './engine/api/report-types.js'
export { checkStoreOptions, STORE_LIMITS } from './engine/api/resolve-options.js'
export type {
  ChunkResult,
  KeyColumnOf,
  MayBeEmpty,
  RowsOf,
  TypedRowsInput,
} from './engine/api/row-types.js'
export type {
  BehaviorOptions,
  LimitOptions,
  PerformanceOptions,
} from './engine/api/store-options.js'
export type { StoreLimits } from './engine/api/store-types.js'
export type { TransactionAddOptions } from './engine/api/transaction-types.js'
export type {
  TypedChange,
  TypedFindOptions,
  TypedPageRequest,
  TypedReadResult,
  TypedRow,
  TypedRowUpdate,
  TypedScanOptions,
} from './engine/api/typed-types.js'
export type {
  VerifyCounts,
  VerifyFindingKind,
  VerifyPlace,
  VerifySeverity,
} from './engine/api/verify-types.js'
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
