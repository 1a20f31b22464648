import type { BufferPool } from '../../base/buffer-pool.js'
import type { SliceTurns } from '../../base/time-slices.js'
import type { TableKey } from '../../format/keys.js'
import type { KvPartition, KvStore } from '../../kv/kv.js'
import type { ObjectStore } from '../../objects/objects.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { ChunkCounts } from '../caches/chunk-counts.js'
import type { ExtentEntries } from '../caches/extents.js'
import type { HotRowCache } from '../caches/hot-row-cache.js'
import type { KeysOfHeads } from '../caches/keys-of-heads.js'
import type { PointReadCache } from '../caches/point-read-cache.js'
import type { SchemaCache } from '../caches/schema-cache.js'
import type { SortedLists } from '../caches/sorted-lists.js'
import type { TableCounts } from '../caches/table-counts.js'
import type { KeyedMutex } from '../commit/keyed-mutex.js'
import type { TableHeads } from '../commit/table-heads.js'
import type { TableWakes } from '../commit/table-wakes.js'
import type {
  HistoryOf,
  KeyedChangeOf,
  LoggedChangeOf,
  TableChanges,
} from '../commit/table-writers.js'
import type { ObjectIds } from '../ids/object-ids.js'
import type { SigningKeys } from '../ids/signing-keys.js'
import type { TeamAliases } from '../ids/team-alias.js'
import type { Background } from '../leases/background.js'
import type { DueTeams } from '../leases/due-teams.js'
import type { GenerationPins } from '../leases/generation-pins.js'
import type { Incarnation } from '../leases/incarnation.js'
import type { Lifecycle } from '../leases/lifecycle.js'
import type { ObjectHolds } from '../leases/object-holds.js'
import type { DiskSpace } from '../limits/disk-space.js'
import type { FileClaims } from '../limits/file-claims.js'
import type { OpenUploads } from '../limits/open-uploads.js'
import type { Pauses } from '../limits/pauses.js'
import type { TeamLimits } from '../limits/team-limits.js'
import type { TransferLimit } from '../limits/transfer-limit.js'
import type { UploadPuts } from '../limits/upload-puts.js'
import type { ForwardCache } from '../segments/forward-cache.js'
import type { SegmentCache } from '../segments/segment-cache.js'
import type { Authored } from '../types/call-types.js'
import type { Activity } from './activity.js'
import type { SegmentCodecs } from './segment-codecs.js'
import type { SegmentPuts } from './segment-puts.js'

/** The state that all operations of an open store share. */
export type StoreContext = Readonly<{
  kv: KvStore
  objects: ObjectStore
  options: ResolvedOptions
  /** The turns in which the long work of all operations runs. */
  slices: SliceTurns
  ids: Pick<
    ObjectIds,
    'incarnation' | 'count' | 'next' | 'share' | 'release' | 'releaseAfter' | 'isPending'
  >
  incarnation: Incarnation
  holds: ObjectHolds
  /** Buffers for building segments. */
  buffers: BufferPool
  /** Buffers for reading segments whose bytes are copied afterwards. */
  readBuffers: BufferPool
  /** Buffers for the servers of the store. */
  lentBuffers: BufferPool
  segments: SegmentCache
  codecs: SegmentCodecs
  forwards: ForwardCache
  schemas: SchemaCache
  heads: TableHeads
  extents: ExtentEntries
  chunkCounts: ChunkCounts
  limits: TeamLimits
  tableCounts: TableCounts
  hotRows: HotRowCache
  sortedLists: SortedLists
  keysOfHeads: KeysOfHeads
  pointReads: PointReadCache
  writers: TableChanges
  wakes: TableWakes
  /** Plans the history of a change; undefined: the store keeps no history. */
  history: HistoryOf | undefined
  keyed: KeyedChangeOf
  logged: LoggedChangeOf
  pins: GenerationPins
  pauses: Pauses
  dueTeams: DueTeams
  disk: DiskSpace
  lifecycle: Lifecycle
  background: Background
  activity: Activity
  aliases: TeamAliases
  signingKeys: SigningKeys
  transferLimit: TransferLimit
  /** Limits concurrent sorts. */
  sorts: TransferLimit
  uploads: OpenUploads
  puts: UploadPuts
  claims: FileClaims
  /**
   * Runs steps whose commits would conflict one after the other. A key begins with the kind of step and contains the
   * team.
   */
  turns: KeyedMutex
}>

/** The state that all operations of one team share. */
export type TeamContext = StoreContext &
  Readonly<{
    teamId: string
    partition: KvPartition
    segmentPuts: SegmentPuts
    /** Enters the team in the system partition before its first record. Later calls resolve at once. */
    ensureTeam(): Promise<void>
  }>

/** A table as its operations address it. */
export type TablePlace = Readonly<{
  team: TeamContext
  table: TableKey
  tableId: string
  /** Who makes the changes; undefined: unknown. */
  by?: Authored | undefined
}>
