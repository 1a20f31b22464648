// Markers: every commit that brings new row text into a team says so for each file that the text names.
//
// Invariants:
// - A commit that stores row text which no record or segment of the partition held before puts the marker of
//   each file that it names, under a new nonce. So the garbage collection of files, which reads markers first, then looks
//   for names, and last deletes in a commit that checks the markers, either sees a name or is refused.
// - A commit that only moves text needs no marker: a link, while the stash that it checks still names the
//   same segments; a compaction, which swaps the segment in the commit from which on the records are no longer
//   needed. At each moment the text is in at least one place that garbage collection looks at, and only text that it
//   saw in none of them is new. A rewriting finalize makes new text (quotes and escapes of a text become
//   those of an array), so its segments count as new.
// - A file is only marked if it is there. Nobody has its ID before it is, so text that a plan holds in its
//   hands when its view opens names no file of later.

import type { Awaitable } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import { encodeFileMarker } from '../../format/file-records.js'
import { FileIds } from '../../format/file-references.js'
import { fileKey, fileMarkerKey, MANY_FILES_MARKER_KEY } from '../../format/keys.js'
import { textNamingFiles } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'

type Put = readonly [key: Bytes, value: Bytes]

/** Files that one commit marks one by one; for more it marks all files of the team at once. */
const MARKED_FILES_MAX = 1_000

const NONCE_BYTES = 8

/** To take up what the rows of one operation name, in bounded memory. */
export function newMarkedFiles(): FileIds {
  return new FileIds(MARKED_FILES_MAX)
}

/** Files that the texts of row records name. */
export function filesOfRecords(records: readonly Bytes[]): FileIds {
  const files = newMarkedFiles()
  for (const record of records) {
    const text = textNamingFiles(record)
    if (text !== null) files.note(text)
  }
  return files
}

/**
 * The markers that a commit puts beside row text that names these files.
 * @param read - Of a view that was opened when the text was at hand.
 */
export function putMarkers(
  read: ReadRecord,
  random: Random,
  files: FileIds,
): Awaitable<readonly Put[]> {
  return files.isEmpty ? [] : markNamed(read, random, files)
}

/** The records that `putMarkers` asks for, to be read in one query with others. */
export function recordsOfMarkers(files: FileIds): Bytes[] {
  return files.isOverfull ? [] : [...files.keys()].map(fileKey)
}

async function markNamed(
  read: ReadRecord,
  random: Random,
  files: FileIds,
): Promise<readonly Put[]> {
  const marker = encodeFileMarker(random.bytes(NONCE_BYTES))
  if (files.isOverfull) return [[MANY_FILES_MARKER_KEY, marker]]
  const named = [...files.keys()]
  const records = await Promise.all(named.map((file) => read(fileKey(file))))
  const there = named.filter((_, i) => records[i] !== null)
  const keys = new Map(there.map((file) => [file.join('.'), fileMarkerKey(file)]))
  return [...keys.values()].map((key) => [key, marker])
}
