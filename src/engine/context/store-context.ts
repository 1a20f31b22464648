import type { BufferPool } from '../../base/buffer-pool.js'
import type { TableKey } from '../../format/keys.js'
import type { KvPartition, KvStore } from '../../kv/kv.js'
import type { ObjectStore } from '../../objects/objects.js'
import type { ResolvedOptions } from '../api/store-options.js'
import type { TableHeads } from '../commit/table-heads.js'
import type { TableWriters } from '../commit/table-writer.js'
import type { Turns } from '../commit/turns.js'
import type { ForwardCache } from '../segments/forward-cache.js'
import type { SegmentCache } from '../segments/segment-cache.js'
import type { ExtentEntries } from './extents.js'
import type { FileClaims } from './file-claims.js'
import type { GenerationPins } from './generation-pins.js'
import type { LatestTables } from './latest-tables.js'
import type { Lifecycle } from './lifecycle.js'
import type { ObjectHolds } from './object-holds.js'
import type { ObjectNames } from './object-names.js'
import type { OpenUploads } from './open-uploads.js'
import type { RowTexts } from './row-texts.js'
import type { SchemaCache } from './schema-cache.js'
import type { SegmentCodecs } from './segment-codecs.js'
import type { SigningKeys } from './signing-keys.js'
import type { TeamAliases } from './team-alias.js'
import type { Transfers } from './transfers.js'
import type { UploadPuts } from './upload-puts.js'

/** What the parts of one open store share. */
export type StoreContext = Readonly<{
  kv: KvStore
  objects: ObjectStore
  options: ResolvedOptions
  ids: ObjectNames
  holds: ObjectHolds
  /** For building segments. */
  buffers: BufferPool
  segments: SegmentCache
  codecs: SegmentCodecs
  forwards: ForwardCache
  schemas: SchemaCache
  heads: TableHeads
  extents: ExtentEntries
  rows: RowTexts
  latest: LatestTables
  writers: TableWriters
  pins: GenerationPins
  lifecycle: Lifecycle
  aliases: TeamAliases
  signingKeys: SigningKeys
  transfers: Transfers
  uploads: OpenUploads
  puts: UploadPuts
  claims: FileClaims
}>

/** What the operations of one team share. */
export type TeamContext = StoreContext &
  Readonly<{
    teamId: string
    partition: KvPartition
    turns: Turns
    /** Notes the team in the system partition before its first record; resolves at once afterwards. */
    ensureTeam(): Promise<void>
  }>

/** A table as its operations address it. */
export type TablePlace = Readonly<{ team: TeamContext; table: TableKey; tableId: string }>
