// The files of a team: the operations that put, fetch, upload, read and delete files.
import { sameBytes } from '../../base/bytes.js'
import { FILE_KEY_BYTES, type FileName, findFileId } from '../../format/file-id.js'
import type { FileRecord } from '../../format/file-records.js'
import { fileKey } from '../../format/keys.js'
import { checkArguments, checkText } from '../arguments/arguments.js'
import type { TeamContext } from '../context/store-context.js'
import type { Claim } from '../limits/file-claims.js'
import type {
  FileContent,
  FileDetails,
  Files,
  FilesPage,
  FilesPageRequest,
  OpenFile,
  StoredFile,
  UploadEntry,
  UploadInit,
  UploadTicket,
} from '../types/file-types.js'
import { type FetchedSource, fetchOf } from '../types/url-fetcher.js'
import { completeUpload, parseOwnUpload } from './complete-upload.js'
import { checkContentType, checkDetails, checkName } from './file-arguments.js'
import { changeFiles, planFileDelete, putsOfFile, refusalOfFile } from './file-commits.js'
import {
  type ContentRules,
  contentPieces,
  fileTooLarge,
  giveUp,
  storeContent,
} from './file-content.js'
import { checkFileName, cleanFileName, nameInUrl } from './file-name.js'
import { listFiles, listOpenUploads } from './list-files.js'
import { parseMediaType } from './media-type.js'
import { openStoredFile, readFileRecord, storedFile } from './stored-file.js'
import { createUpload } from './uploads.js'

const DETAILS = ['fileName', 'contentType', 'contentLength']
const UPLOAD_ARGUMENTS = [...DETAILS, 'appId', 'owner']

const CONTENT_TYPE_DEFAULT = 'application/octet-stream'

export class TeamFiles implements Files {
  readonly #team: TeamContext

  constructor(team: TeamContext) {
    this.#team = team
  }

  put(content: FileContent, about: FileDetails): Promise<StoredFile> {
    return this.#team.lifecycle.runWriting(async () => {
      checkArguments('put', about, DETAILS)
      const { contentLength, ...names } = checkDetails(about)
      return this.#claiming(async (claim, bytesMax) => {
        if (contentLength !== null && contentLength > bytesMax) throw fileTooLarge(bytesMax)
        return this.#store(contentPieces(content), { bytesMax, contentLength, claim }, names)
      })
    })
  }

  fromUrl(
    sourceUrl: string,
    about: Readonly<{ fileName?: string; contentType?: string }> = {},
  ): Promise<StoredFile> {
    return this.#team.lifecycle.runWriting(async () => {
      checkArguments('fromUrl', about, ['fileName', 'contentType'])
      const url = checkText('sourceURL', sourceUrl)
      const given = {
        fileName: about.fileName === undefined ? undefined : checkFileName(about.fileName),
        contentType:
          about.contentType === undefined ? undefined : checkContentType(about.contentType),
      }
      const fetchSource = fetchOf(this.#team.options)
      const { lifecycle, transferLimit, teamId } = this.#team
      const fetch = async (
        claim: Claim,
        bytesMax: number,
        closing: AbortSignal,
      ): Promise<StoredFile> => {
        const source = await fetchSource(url, { bytesMax }, closing)
        try {
          const names = namesOfSource(source, given)
          return await this.#store(source.body, { bytesMax, contentLength: null, claim }, names)
        } finally {
          source.close()
        }
      }
      return lifecycle.untilClosed((closing) => {
        const run = () => this.#claiming((claim, bytesMax) => fetch(claim, bytesMax, closing))
        return transferLimit.run(teamId, run, closing)
      })
    })
  }

  createUpload(about: UploadInit): Promise<UploadTicket> {
    return this.#team.lifecycle.runWriting(async () => {
      checkArguments('createUpload', about, UPLOAD_ARGUMENTS)
      return createUpload(this.#team, {
        ...checkDetails(about),
        app: checkName('appId', about.appId),
        owner: checkName('owner', about.owner),
      })
    })
  }

  completeUpload(uploadId: string, about: Readonly<{ appId?: string }> = {}): Promise<StoredFile> {
    return this.#team.lifecycle.run(async () => {
      checkArguments('completeUpload', about, ['appId'])
      const app = checkName('appId', about.appId)
      const alias = await this.#team.aliases.find(this.#team.teamId)
      const name = parseOwnUpload(checkText('uploadID', uploadId), alias)
      return completeUpload(this.#team, name, app)
    })
  }

  get(idOrUrl: string): Promise<OpenFile | null> {
    return this.#team.lifecycle.run(async () => {
      const found = await this.#find(idOrUrl)
      return found && openStoredFile(this.#team, found.name, found.file)
    })
  }

  stat(idOrUrl: string): Promise<StoredFile | null> {
    return this.#team.lifecycle.run(async () => {
      const found = await this.#find(idOrUrl)
      return found && storedFile(found.name, found.file)
    })
  }

  list(request: FilesPageRequest = {}): Promise<FilesPage> {
    return this.#team.lifecycle.run(() => listFiles(this.#team, request))
  }

  uploads(): Promise<readonly UploadEntry[]> {
    return this.#team.lifecycle.run(() => listOpenUploads(this.#team))
  }

  delete(idOrUrl: string): Promise<boolean> {
    return this.#team.lifecycle.run(async () => {
      const name = await this.#nameIn(idOrUrl)
      if (name === null) return false
      const key = fileKey(name.key)
      return changeFiles(
        this.#team,
        async (view) => view.get(key),
        async (record, head) =>
          record === null
            ? { result: false, commit: null }
            : { result: true, commit: planFileDelete(head, name.key, record) },
      )
    })
  }

  async #find(idOrUrl: string): Promise<{ name: FileName; file: FileRecord } | null> {
    const name = await this.#nameIn(idOrUrl)
    const file = name && (await readFileRecord(this.#team, this.#team.teamId, name))
    return name && file && { name, file }
  }

  /** The first file ID in a text, if it is the ID of a file of this team. */
  async #nameIn(idOrUrl: string): Promise<FileName | null> {
    const name = findFileId(checkText('A file ID or URL', idOrUrl))
    const alias = name && (await this.#team.aliases.find(this.#team.teamId))
    return name && alias && sameBytes(name.alias, alias) ? name : null
  }

  /** Stores a file under a new claim. `bytesMax`: the maximum size of the file under the current limits. */
  async #claiming<T>(store: (claim: Claim, bytesMax: number) => Promise<T>): Promise<T> {
    const claim = this.#team.claims.open(this.#team)
    try {
      const room = Math.max(0, await claim.room())
      return await store(claim, Math.min(this.#team.options.fileBytesMax, room))
    } finally {
      claim.release()
    }
  }

  async #store(
    pieces: AsyncIterable<Uint8Array>,
    rules: ContentRules,
    names: Readonly<{ fileName: string; contentType: string }>,
  ): Promise<StoredFile> {
    const team = this.#team
    const content = await storeContent(team, pieces, rules)
    try {
      await team.ensureTeam()
      const alias = await team.aliases.make(team.teamId)
      const key = team.options.random.bytes(FILE_KEY_BYTES)
      const file = { ...content, ...names, completedAt: await team.options.clock.stampMs() }
      await changeFiles(
        team,
        async () => null,
        async (_, head) => {
          const refusal = await refusalOfFile(team, head, content.bytes)
          if (refusal !== null) throw refusal
          const checks = [{ key: fileKey(key), equals: null }]
          const commit = { checks, puts: putsOfFile(head, key, file) }
          return { result: null, commit, objects: [content.object] }
        },
      )
      team.ids.release([content.object])
      return storedFile({ alias, key }, file)
    } catch (failure) {
      await giveUp(team, failure, content.object)
      throw failure
    }
  }
}

/** The name and the type that a source gives for its file. One that is not valid is left out. */
function namesOfSource(
  { fileName, contentType, url }: FetchedSource,
  given: Readonly<{ fileName: string | undefined; contentType: string | undefined }>,
): { fileName: string; contentType: string } {
  const sent = contentType === undefined ? undefined : parseMediaType(contentType)
  return {
    fileName: given.fileName ?? cleanFileName(fileName || nameInUrl(url)),
    contentType: given.contentType ?? sent?.canonical ?? CONTENT_TYPE_DEFAULT,
  }
}
