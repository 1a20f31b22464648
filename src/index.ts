/**
 * The core: stores, tables, rows, files and the HTTP contract. It imports no module of Node, so it runs in browsers too.
 * @module rowstash
 */

export type { Awaitable } from './base/awaitable.js'
export type { Bytes } from './base/bytes.js'
export type { Clock } from './base/clock.js'
export type { DisposableIterator, Disposing } from './base/disposable.js'
export type { Random } from './base/random.js'
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
export type {
  AnsweredRequest,
  ContractRequest,
  ContractResponse,
  HeaderList,
} from './contract/message.js'
export type {
  MetricFamily,
  MetricLabels,
  MetricSample,
  MetricsRegistry,
  RegisteredMetric,
  RegisteredValues,
} from './contract/metric-family.js'
export type * from './engine/api/abort-types.js'
export type * from './engine/api/activity-types.js'
export type { BackgroundTask } from './engine/api/background-types.js'
export type * from './engine/api/backup-types.js'
export type * from './engine/api/event-types.js'
export type * from './engine/api/file-types.js'
export type * from './engine/api/find-types.js'
export type * from './engine/api/history-types.js'
export type * from './engine/api/job-types.js'
export type {
  AddKeyRequest,
  AddKeyResult,
  ApiKey,
  ApiKeys,
  KeyRights,
  KeyScope,
} from './engine/api/key-types.js'
export type * from './engine/api/life-types.js'
export type * from './engine/api/many-types.js'
export type * from './engine/api/memory-types.js'
export type * from './engine/api/merge-types.js'
export type * from './engine/api/preflight-types.js'
export type * from './engine/api/read-types.js'
export type * from './engine/api/receipt-types.js'
export type * from './engine/api/report-types.js'
export { checkStoreOptions, STORE_LIMITS } from './engine/api/resolve-options.js'
export type * from './engine/api/row-types.js'
export type * from './engine/api/store-options.js'
export type * from './engine/api/store-types.js'
export type * from './engine/api/transaction-types.js'
export type * from './engine/api/typed-types.js'
export type * from './engine/api/unique-types.js'
export type {
  FetchedSource,
  SourceLimits,
  UrlFetcher,
} from './engine/api/url-fetcher.js'
export type * from './engine/api/verify-types.js'
export type { RestorePorts, RestoreTarget } from './engine/backup/restore.js'
export { restoreBackup } from './engine/backup/restore.js'
export { kvObjects } from './engine/kv-objects.js'
export { openMemory } from './engine/open-memory.js'
export type { OpenStoreOptions } from './engine/store.js'
export { openStore } from './engine/store.js'
export type { HighWaterFile, HighWaterPlace } from './kv/high-water.js'
export type {
  KeyRange,
  KvCache,
  KvCheck,
  KvCheckItem,
  KvCommit,
  KvCommitResult,
  KvGroup,
  KvPartition,
  KvScan,
  KvStore,
  KvView,
} from './kv/kv.js'
export type { LevelDatabase } from './kv/level-database.js'
export { openLevelKv } from './kv/level-kv.js'
export type { LevelSource } from './kv/level-opening.js'
export type { LevelKvOptions } from './kv/level-options.js'
export { RESTORED_VERSION_STEP } from './kv/version-base.js'
export { memoryObjects } from './objects/memory-objects.js'
export type { ByteRange, ObjectId, ObjectStore, PresignTerms } from './objects/objects.js'
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
