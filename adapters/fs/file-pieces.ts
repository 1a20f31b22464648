import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import type { Bytes } from '../../src/index.js'
import type { ByteRange } from '../../src/ports.js'
import { fileError } from './fs-error.js'
import { withDescriptor } from './process-descriptors.js'

const PIECE_BYTES_MAX = 65_536

/** Up to `length` bytes from `start`, in a new buffer; fewer only at the end of the file. */
async function readBytes(handle: FileHandle, start: number, length: number): Promise<Bytes> {
  const bytes = new Uint8Array(length)
  let at = 0
  while (at < length) {
    const { bytesRead } = await handle.read(bytes, at, length - at, start + at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes.subarray(0, at)
}

/** The bytes of a range of a file, which stays open meanwhile. @throws {StoreError} STORAGE_UNAVAILABLE */
export async function* filePieces(
  path: string,
  { start, limit }: ByteRange,
): AsyncGenerator<Bytes> {
  try {
    const handle = await withDescriptor(() => open(path, 'r'))
    try {
      for (let at = start; at < limit; ) {
        const wanted = Math.min(PIECE_BYTES_MAX, limit - at)
        const piece = await readBytes(handle, at, wanted)
        if (piece.length > 0) yield piece
        at += piece.length
        if (piece.length < wanted) return
      }
    } finally {
      await handle.close()
    }
  } catch (failure) {
    throw fileError(failure, 'An object cannot be read')
  }
}
