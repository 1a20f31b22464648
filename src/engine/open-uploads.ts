// Which uploads each owner of a team has open: counted once, then kept up. A guard against uploads without
// end, not a truth: on a shared store others open some too.
import { toHex } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import { decodeUpload } from '../format/file-records.js'
import { type FileKey, fileOfKey, UPLOADS_RANGE } from '../format/keys.js'
import { scanBatches } from './stash-records.js'
import type { TeamContext } from './store-context.js'

/** When each open upload was created, by its key in hex. */
type Opened = Map<string, number>

export class OpenUploads {
  readonly #team: TeamContext
  #owners: Promise<Map<string, Opened>> | undefined

  constructor(team: TeamContext) {
    this.#team = team
  }

  /** Counts an upload that is about to be created. @throws {StoreError} RATE_LIMITED: too many are open. */
  async enter(owner: string, upload: FileKey, createdAt: number): Promise<void> {
    if (owner === '') return
    const owners = await this.#load()
    const { uploadsOpenMax, uploadTtlMs } = this.#team.options
    const opened: Opened = owners.get(owner) ?? new Map()
    for (const [key, at] of opened) if (createdAt - at >= uploadTtlMs) opened.delete(key)
    if (opened.size >= uploadsOpenMax) {
      const message = `${uploadsOpenMax} uploads are open already; complete some of them`
      throw new StoreError('RATE_LIMITED', message)
    }
    owners.set(owner, opened.set(toHex(upload), createdAt))
  }

  /** The upload was completed or ended. Never fails: what it ended is committed already. */
  async leave(owner: string, upload: FileKey): Promise<void> {
    const owners = await this.#owners?.catch(() => undefined) // Not counted yet: nothing to keep up.
    const opened = owners?.get(owner)
    opened?.delete(toHex(upload))
    if (opened?.size === 0) owners?.delete(owner)
  }

  #load(): Promise<Map<string, Opened>> {
    this.#owners ??= this.#count().catch((failure: unknown) => {
      this.#owners = undefined
      throw failure
    })
    return this.#owners
  }

  #count(): Promise<Map<string, Opened>> {
    return this.#team.partition.read(async (view) => {
      const owners = new Map<string, Opened>()
      for await (const entries of scanBatches(view, UPLOADS_RANGE)) {
        for (const [key, bytes] of entries) {
          const { state, owner, createdAt } = decodeUpload(bytes)
          if (state === 'completed' || owner === '') continue
          const opened = owners.get(owner) ?? new Map<string, number>()
          owners.set(owner, opened.set(toHex(fileOfKey(key)), createdAt))
        }
      }
      return owners
    })
  }
}
