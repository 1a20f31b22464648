// The bytes and lines of an imported file.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { withoutByteOrderMark } from '../base/records.js'

export const PIECE_BYTES = 1024 * 1024

export function openFileBytes(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: PIECE_BYTES })
}

/** Whether all of a file can be read a second time: a pipe cannot. */
export async function canReadAgain(path: string): Promise<boolean> {
  return (await stat(path)).isFile()
}

/** The line in which a byte of a file is, as linesAt; null if the file cannot be read again. */
export async function lineAt(path: string, offset: number): Promise<number | null> {
  if (!(await canReadAgain(path))) return null
  const [line = 1] = await linesAt(path, [offset])
  return line
}

/**
 * The numbers of the lines, from 1, in which bytes of a file are.
 * @param offsets - Of the bytes, in ascending order, the byte order mark not counted.
 */
export async function linesAt(path: string, offsets: readonly number[]): Promise<number[]> {
  const lines: number[] = []
  let line = 1
  let at = 0
  let afterReturn = false // A line feed after it does not end another line.
  for await (const piece of withoutByteOrderMark(openFileBytes(path))) {
    for (let i = 0; i < piece.length && lines.length < offsets.length; i++) {
      while (offsets[lines.length] === at + i) lines.push(line)
      const byte = piece[i]
      if (byte === CARRIAGE_RETURN || (byte === LINE_FEED && !afterReturn)) line++
      afterReturn = byte === CARRIAGE_RETURN
    }
    at += piece.length
    if (lines.length === offsets.length) break
  }
  while (lines.length < offsets.length) lines.push(line)
  return lines
}
