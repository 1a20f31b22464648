// Converts file records to the public types of files.
import { type Bytes, toHex } from '../../base/bytes.js'
import { type FileName, renderFileId } from '../../format/file-id.js'
import { decodeFile, type FileRecord } from '../../format/file-records.js'
import { fileKey } from '../../format/keys.js'
import type { ByteRange } from '../../objects/objects.js'
import type { StoreContext } from '../context/store-context.js'
import type { OpenFile, StoredFile } from '../types/file-types.js'
import { readContent } from './file-content.js'

export function storedFile(name: FileName, file: FileRecord): StoredFile {
  const id = renderFileId(name)
  const { fileName, contentType, bytes, completedAt } = file
  return {
    id,
    path: `files/${id}/${encodeURIComponent(fileName)}`,
    fileName,
    contentType,
    bytes,
    sha256: toHex(file.sha256),
    completedAt,
  }
}

/** The record of a file; null: this team has no such file. */
export async function readFileRecord(
  { kv }: StoreContext,
  teamId: string,
  name: FileName,
): Promise<FileRecord | null> {
  const record = await kv.partition(teamId).read((view) => view.get(fileKey(name.key)))
  return record && decodeFile(record)
}

export function openStoredFile(context: StoreContext, name: FileName, file: FileRecord): OpenFile {
  const isDeleted = async (): Promise<boolean> => {
    const teamId = await context.aliases.teamOf(name.alias)
    return teamId === null || (await readFileRecord(context, teamId, name)) === null
  }
  const stream = (range?: ByteRange): AsyncGenerator<Bytes, void> =>
    readContent(context, file, range, isDeleted)
  return {
    ...storedFile(name, file),
    stream,
    readable: (range) => toWebStream(stream(range)),
  }
}

function toWebStream(pieces: AsyncGenerator<Bytes, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}
