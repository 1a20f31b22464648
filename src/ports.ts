/**
 * Types for implementing a port (records, objects, sources of files, clock, metrics), or your own server for a store:
 * requests and answers of the contract, and pages as JSON text. It exports no values.
 * @module rowstash/ports
 */

export type { Awaitable } from './base/awaitable.js'
export type { Clock } from './base/clock.js'
export type { Random } from './base/random.js'
export type { ParquetEncoder } from './contract/calls/parquet-encoder.js'
export type {
  AnsweredRequest,
  ContractRequest,
  ContractResponse,
  HeaderList,
} from './contract/http/message.js'
export type {
  MetricFamily,
  MetricLabels,
  MetricSample,
  MetricsRegistry,
  RegisteredMetric,
  RegisteredValues,
} from './contract/metrics/metric-family.js'
export type { RestorePorts, RestoreTarget } from './engine/backup/restore.js'
export type { Checksum, PublicFiles, UploadRequest } from './engine/types/file-types.js'
export type {
  FindBytesRequest,
  OpenPage,
  OpenPageRequest,
  PageBytes,
  PageBytesRequest,
  PagePiece,
  PieceRequest,
  PieceStart,
  ReadJsonResult,
  ReserveMemory,
} from './engine/types/json-types.js'
export type { FetchedSource, SourceLimits, UrlFetcher } from './engine/types/url-fetcher.js'
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
export type { LevelSource } from './kv/level-opening.js'
export type { LevelKvOptions } from './kv/level-options.js'
export type { ByteRange, ObjectId, ObjectStore, PresignTerms } from './objects/objects.js'
