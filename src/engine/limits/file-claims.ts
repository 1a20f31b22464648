// Enforces the limit of a team's files while bytes arrive. The bytes of stored files, the received bytes of uploads and
// incoming bytes all count, so that abandoned uploads cannot fill a disk.
//
// Invariant: bytes are counted at least once at any moment. They are claimed before the sum is computed, and a claim is
// released only after a record counts them. For a moment they may be counted twice.
import { StoreError } from '../../base/store-error.js'
import { decodeFilesHeadOrEmpty } from '../../format/file-records.js'
import { FILES_HEAD_KEY } from '../../format/keys.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { OpenUploads, UploadsOfTeam } from './open-uploads.js'

export class FileClaims {
  readonly #options: ResolvedOptions
  readonly #uploads: OpenUploads
  /** Number of claimed bytes, by team. */
  readonly #claimed = new Map<string, number>()

  constructor(options: ResolvedOptions, uploads: OpenUploads) {
    this.#options = options
    this.#uploads = uploads
  }

  get #isLimited(): boolean {
    return this.#options.teamFileBytesMax < Number.MAX_SAFE_INTEGER
  }

  /** Opens an empty claim. The caller must release it. */
  open(team: UploadsOfTeam): Claim {
    let bytes = 0
    return {
      room: () => this.#room(team),
      grow: async (count) => {
        if (!this.#isLimited) return // Without a limit nothing is counted.
        bytes += count
        this.#add(team, count)
        if ((await this.#room(team)) < 0) throw teamIsFull(this.#options.teamFileBytesMax)
      },
      release: () => {
        this.#add(team, -bytes)
        bytes = 0
      },
    }
  }

  /** The limit less stored, received and claimed bytes; negative if the limit is exceeded. */
  async #room(team: UploadsOfTeam): Promise<number> {
    if (!this.#isLimited) return Number.MAX_SAFE_INTEGER
    const uploads = await this.#uploads.of(team)
    // Both are read at one moment, before the stored bytes: bytes that become a file meanwhile count twice, not never.
    const pending = uploads.receivedBytes + (this.#claimed.get(team.teamId) ?? 0)
    const head = decodeFilesHeadOrEmpty(
      await team.partition.read((view) => view.get(FILES_HEAD_KEY)),
    )
    return this.#options.teamFileBytesMax - head.bytes - pending
  }

  #add({ teamId }: UploadsOfTeam, count: number): void {
    const claimed = (this.#claimed.get(teamId) ?? 0) + count
    if (claimed > 0) this.#claimed.set(teamId, claimed)
    else this.#claimed.delete(teamId)
  }
}

/** The claim for the incoming bytes of one file. */
export interface Claim {
  /** The number of bytes by which the claim can still grow. */
  room(): Promise<number>
  /** @throws {StoreError} FILE_TOO_LARGE: if the files of the team would exceed the limit. */
  grow(bytes: number): Promise<void>
  /** Must be called when a record counts the bytes, or when it is certain that none will. */
  release(): void
}
export function teamIsFull(teamFileBytesMax: number): StoreError {
  const message = `The files of a team may have at most ${teamFileBytesMax} bytes in total`
  return new StoreError('FILE_TOO_LARGE', message)
}
