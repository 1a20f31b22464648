// Operations on files that need no API key.
import { parseFileId } from '../../format/file-id.js'
import { checkText } from '../arguments/arguments.js'
import type { StoreContext } from '../context/store-context.js'
import type { OpenFile, PublicFiles, UploadRequest } from '../types/file-types.js'
import { checkUploadRequest } from './file-arguments.js'
import { openStoredFile, readFileRecord } from './stored-file.js'
import { receiveUpload } from './uploads.js'

export class StorePublicFiles implements PublicFiles {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  receive(request: UploadRequest): Promise<void> {
    return this.#context.lifecycle.runWriting(async () => {
      checkUploadRequest(request)
      await receiveUpload(this.#context, request)
    })
  }

  open(fileId: string): Promise<OpenFile | null> {
    return this.#context.lifecycle.run(async () => {
      const name = parseFileId(checkText('A file ID', fileId))
      const teamId = name && (await this.#context.aliases.teamOf(name.alias))
      if (name === null || teamId === null) return null
      const file = await readFileRecord(this.#context, teamId, name)
      return file && openStoredFile(this.#context, name, file)
    })
  }
}
