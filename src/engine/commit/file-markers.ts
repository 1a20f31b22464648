// Markers: a commit that brings new row text into a team writes a marker for each file that the text names.
//
// Invariants:
// - A commit puts the marker of each file, with a new nonce, if its row text is new to the partition: no record or
//   segment held it before. Garbage collection reads the markers, then searches for names, then deletes in a commit
//   that checks the markers. So garbage collection either sees the name or its commit is refused.
// - A commit that only moves text needs no marker. A link checks the stash, which still names the same segments; a
//   compaction swaps the segment in the commit that makes the records superfluous. The text is at every moment in at
//   least one place that garbage collection searches. An operation that rewrites segments of a stash makes new text
//   (quotes and escapes of a text become those of an array), so its segments count as new.
// - Only an existing file is marked. Nobody has the ID of a file before it exists, so text that a plan holds when its
//   view opens names no later file.

import type { Awaitable } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import { encodeFileMarker } from '../../format/file-records.js'
import { FileIds } from '../../format/file-references.js'
import { fileKey, fileMarkerKey, MANY_FILES_MARKER_KEY } from '../../format/keys.js'
import { textNamingFiles } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'

type Put = readonly [key: Bytes, value: Bytes]

/** Maximum number of files that one commit marks singly. For more, it marks all files of the team at once. */
const MARKED_FILES_MAX = 1_000

const NONCE_BYTES = 8

/** Collects the files that the rows of one operation name, in bounded memory. */
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
 * The markers that a commit puts for row text that names these files.
 * @param read - Reads from a view that was opened after the text was complete.
 */
export function putMarkers(
  read: ReadRecord,
  random: Random,
  files: FileIds,
): Awaitable<readonly Put[]> {
  return files.isEmpty ? [] : markNamed(read, random, files)
}

/** The keys of the records that `putMarkers` reads, so that one query can read these and other records. */
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
