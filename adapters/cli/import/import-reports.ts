// What is told of the files of an import besides their rows.
import type { ReadReport } from './import-source.js'
import type { ShortRows } from './short-lines.js'

/** What was read of a file. */
export type FileReport = Readonly<{ path: string }> & ReadReport

/** What is told of the files besides their rows. */
export type FoundLines = Readonly<{
  /** In the order of the files. */
  read: readonly FileReport[]
  /** Lines with fewer fields than the header. Absent: there are none. */
  shortLines?: ShortRows
}>
