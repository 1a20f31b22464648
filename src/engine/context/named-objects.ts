// Lists every object that the records of a team name.
import { decodeChunkSegments } from '../../format/chunk-records.js'
import { decodeExtentPage, type SegmentRef } from '../../format/extent-page.js'
import { decodeFile, decodeUpload, type StoredContent } from '../../format/file-records.js'
import {
  CHUNKS_RANGE,
  EXTENT_PAGES_RANGE,
  FILES_RANGE,
  RETIREMENTS_RANGE,
  TABLE_HEADS_RANGE,
  type TableKey,
  tableOfKey,
  UPLOADS_RANGE,
} from '../../format/keys.js'
import {
  decodeRetirement,
  decodeTableHead,
  type ForwardRef,
  type Generation,
} from '../../format/records.js'
import { storedIn } from '../../format/shared-objects.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { BytesHeld } from '../types/activity-types.js'

/**
 * An object as a record names it. The bytes of a presigned object are unknown: its client may put any bytes, or none.
 */
export type NamedObject =
  | Readonly<{ kind: 'segment'; ref: SegmentRef; isOfTable: boolean }>
  | Readonly<{ kind: 'forward'; ref: ForwardRef }>
  | Readonly<{ kind: 'content'; content: StoredContent; isFile: boolean }>
  | Readonly<{ kind: 'presigned'; object: ObjectId }>

/**
 * Lists the named objects in one view. An object with several names appears once for each name. Tables come before
 * stashes.
 */
export async function* namedObjects(view: KvView): AsyncGenerator<NamedObject, void> {
  for (const { forward } of await generationsOf(view)) {
    if (forward !== null) yield { kind: 'forward', ref: forward }
  }
  for await (const entries of scanBatches(view, EXTENT_PAGES_RANGE)) {
    for (const [, page] of entries) {
      for (const { segment } of decodeExtentPage(page)) {
        if (segment !== null) yield { kind: 'segment', ref: segment, isOfTable: true }
      }
    }
  }
  for await (const entries of scanBatches(view, CHUNKS_RANGE)) {
    for (const [, reference] of entries) {
      for (const ref of decodeChunkSegments(reference).segments) {
        yield { kind: 'segment', ref, isOfTable: false }
      }
    }
  }
  for await (const entries of scanBatches(view, UPLOADS_RANGE)) {
    for (const [, record] of entries) {
      const upload = decodeUpload(record)
      if (upload.state === 'received') {
        yield { kind: 'content', content: upload.received, isFile: false }
      }
      if (upload.state !== 'completed' && upload.presigned !== null) {
        yield { kind: 'presigned', object: upload.presigned }
      }
    }
  }
  for await (const entries of scanBatches(view, FILES_RANGE)) {
    for (const [, file] of entries) {
      yield { kind: 'content', content: decodeFile(file), isFile: true }
    }
  }
}

export function objectOf(named: NamedObject): ObjectId {
  if (named.kind === 'presigned') return named.object
  if (named.kind === 'segment') return storedIn(named.ref)
  return named.kind === 'content' ? named.content.object : named.ref.object
}

/**
 * The kind of data that a named object belongs to, and its stored bytes. The bytes of a presigned object are unknown.
 */
export function bytesOfNamed(named: NamedObject): readonly [kind: keyof BytesHeld, bytes: number] {
  switch (named.kind) {
    case 'segment':
      return [named.isOfTable ? 'rows' : 'stashes', named.ref.objectBytes]
    case 'forward':
      return ['rows', named.ref.objectBytes]
    case 'content':
      return [named.isFile ? 'files' : 'uploads', named.content.bytes]
    case 'presigned':
      return ['uploads', 0]
  }
}

/** Every readable generation: the current generations of the tables, and the retired generations. */
export async function generationsOf(
  view: KvView,
): Promise<(Generation & { readonly table: TableKey })[]> {
  const generations: (Generation & { readonly table: TableKey })[] = []
  for await (const entries of scanBatches(view, TABLE_HEADS_RANGE)) {
    for (const [key, head] of entries) {
      generations.push({ ...decodeTableHead(head).generation, table: tableOfKey(key) })
    }
  }
  for await (const entries of scanBatches(view, RETIREMENTS_RANGE)) {
    for (const [key, retirement] of entries) {
      generations.push({ ...decodeRetirement(retirement).generation, table: tableOfKey(key) })
    }
  }
  return generations
}
