// Reports on the files of an import.
import type { ReadReport } from './import-source.js'

/** How a file was read. */
export type FileReport = Readonly<{ path: string }> & ReadReport

/** Lines with fewer fields than the header of their file. */
type ShortLines = Readonly<{
  count: number
  /** The file and the line of the first such line. */
  path: string
  line: number
}>

/** The lines with too few fields in all files. undefined: there are no such lines. */
export function shortLinesOf(read: readonly FileReport[]): ShortLines | undefined {
  let found: ShortLines | undefined
  for (const { path, advice } of read) {
    const { count = 0, line = 0 } = advice.find(({ code }) => code === 'shortLines') ?? {}
    if (count > 0) found = { ...(found ?? { path, line }), count: count + (found?.count ?? 0) }
  }
  return found
}
