// Counts the open uploads of each owner and the received bytes of incomplete uploads. They are counted once; then the
// counts are updated. The counts guard against endless uploads and are not exact: on a shared store other processes
// open uploads too. So the uploads are counted again for an owner who has used the share of this process
// (count-shares).
import { BoundedMap } from '../../base/bounded-map.js'
import { toHex } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { decodeUpload, type UploadRecord } from '../../format/file-records.js'
import { type FileKey, fileOfKey, UPLOADS_RANGE } from '../../format/keys.js'
import type { KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { CountShare, type CountShares } from './count-shares.js'
import { endOfUpload } from './upload-life.js'

/**
 * Maximum number of teams with known counts. The counts of the oldest team are dropped first, and are made again when
 * they are needed.
 */
const TEAMS_MAX = 1_000

export type UploadsOfTeam = Readonly<{ teamId: string; partition: KvPartition }>

/** The time when an upload ends, and the number of bytes that it has received. */
type Open = Readonly<{ endsAt: number; bytes: number }>

export class OpenUploads {
  readonly #options: ResolvedOptions
  readonly #shares: CountShares
  readonly #teams = new BoundedMap<string, Promise<Counted>>(TEAMS_MAX)

  constructor(options: ResolvedOptions, shares: CountShares) {
    this.#options = options
    this.#shares = shares
  }

  /** Counts an upload that is about to be created. @throws {StoreError} RATE_LIMITED: if too many uploads are open. */
  async enter(team: UploadsOfTeam, key: FileKey, upload: UploadRecord): Promise<void> {
    if (upload.owner === '') return
    const { uploadsOpenMax, clock } = this.#options
    const counted = await this.#recent(team, upload.owner)
    if (counted.openOf(upload.owner, await clock.lifetimeMs()) >= uploadsOpenMax) {
      const message = `${uploadsOpenMax} uploads are open already; complete some of them`
      throw new StoreError('RATE_LIMITED', message)
    }
    counted.set(key, upload, endOfUpload(this.#options, upload))
  }

  /** Notes the received bytes of an upload. Never fails, because the bytes are committed already. */
  async receive({ teamId }: UploadsOfTeam, key: FileKey, upload: UploadRecord): Promise<void> {
    const counted = await this.#counted(teamId)
    counted?.set(key, upload, endOfUpload(this.#options, upload))
  }

  /** Notes the completion or the end of an upload. Never fails, because the end is committed already. */
  async leave({ teamId }: UploadsOfTeam, key: FileKey, upload: UploadRecord): Promise<void> {
    const counted = await this.#counted(teamId)
    counted?.delete(key, upload.owner)
  }

  /**
   * Drops the counts of a team whose uploads ended without `leave`. The uploads are counted again when the counts are
   * needed.
   */
  forget(teamId: string): void {
    this.#teams.delete(teamId)
  }

  /** Drops the counts of all teams, because other processes open and end uploads, too. */
  forgetAll(): void {
    this.#teams.clear()
  }

  /** The counts of a team; undefined: they were not made yet, so there is nothing to update. */
  #counted(teamId: string): Promise<Counted | undefined> | undefined {
    return this.#teams.get(teamId)?.catch(() => undefined)
  }

  /** The counts of a team; if the owner has used the share of this process, they are made anew. */
  async #recent(team: UploadsOfTeam, owner: string): Promise<Counted> {
    const { uploadsOpenMax, clock } = this.#options
    const counted = await this.of(team)
    const open = counted.openOf(owner, await clock.lifetimeMs())
    if (!counted.share?.isSpent([uploadsOpenMax - open])) return counted
    this.forget(team.teamId)
    return this.of(team)
  }

  /** The counts of a team, which are updated from now on. */
  of({ teamId, partition }: UploadsOfTeam): Promise<Counted> {
    const known = this.#teams.get(teamId)
    if (known !== undefined) return known
    const counting = this.#count(partition).catch((failure: unknown) => {
      if (this.#teams.get(teamId) === counting) this.#teams.delete(teamId)
      throw failure
    })
    this.#teams.set(teamId, counting)
    return counting
  }

  async #count(partition: KvPartition): Promise<Counted> {
    const processes = await this.#shares.processes()
    const { uploadsOpenMax } = this.#options
    const share = processes === undefined ? undefined : new CountShare([uploadsOpenMax], processes)
    const counted = new Counted(share)
    await partition.read(async (view) => {
      for await (const entries of scanBatches(view, UPLOADS_RANGE)) {
        for (const [key, bytes] of entries) {
          const upload = decodeUpload(bytes)
          if (upload.state === 'completed') continue
          counted.set(fileOfKey(key), upload, endOfUpload(this.#options, upload))
        }
      }
    })
    return counted
  }
}

/** The open uploads of one team. */
export class Counted {
  /** The share of this process; undefined: no other process opens uploads. */
  readonly share: CountShare | undefined
  /** The open uploads by owner, and then by the key in hex. */
  readonly #owners = new Map<string, Map<string, Open>>()
  #receivedBytes = 0

  constructor(share: CountShare | undefined) {
    this.share = share
  }

  /** Number of received bytes of all open uploads. */
  get receivedBytes(): number {
    return this.#receivedBytes
  }

  openOf(owner: string, now: number): number {
    let open = 0
    for (const { endsAt } of this.#owners.get(owner)?.values() ?? []) if (now < endsAt) open++
    return open
  }

  set(key: FileKey, upload: UploadRecord, endsAt: number): void {
    const { owner } = upload
    this.delete(key, owner)
    const bytes = upload.state === 'received' ? upload.received.bytes : 0
    const open = this.#owners.get(owner) ?? new Map<string, Open>()
    this.#owners.set(owner, open.set(toHex(key), { endsAt, bytes }))
    this.#receivedBytes += bytes
  }

  delete(key: FileKey, owner: string): void {
    const open = this.#owners.get(owner)
    const hex = toHex(key)
    this.#receivedBytes -= open?.get(hex)?.bytes ?? 0
    open?.delete(hex)
    if (open?.size === 0) this.#owners.delete(owner)
  }
}
