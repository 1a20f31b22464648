// Selects the segments that a recompression rewrites together.
//
// Invariants:
// - The segments of an object form a group, which one commit rewrites as a whole, or not at all. Otherwise the object
//   would stay for its other segments, and both copies would be kept.
// - A segment is rewritten once, even if several tables name it.
import type { Bytes } from '../../base/bytes.js'
import type { ExtentEntry, SegmentRef } from '../../format/extent-page.js'
import { storedIn } from '../../format/shared-objects.js'
import type { ObjectId } from '../../objects/objects.js'
import type { StagedIn } from './staged-chunks.js'

/** The place of an extent entry that names a segment: the key of its page, and its index there. */
export type NamedAt = Readonly<{ key: Bytes; index: number }>

/** A segment, and the entries that name it. `staged`: the chunk that names it too. */
export type Found = Readonly<{
  ref: SegmentRef
  at: readonly NamedAt[]
  staged: StagedIn | undefined
}>

/** All segments in one object that some extent pages name. */
export type Group = readonly Found[]

/** `key`: the key of the first page. */
type Gathered = {
  readonly key: Bytes
  readonly found: Map<ObjectId, { ref: SegmentRef; at: NamedAt[]; staged: undefined }>
  isUnrecompressed: boolean
}

/**
 * Groups the segments of extent pages by object.
 * @returns the groups with a segment that no recompression has examined, by the page that names their first segment.
 */
export function groupsByPage(
  pages: Iterable<readonly [key: Bytes, entries: readonly ExtentEntry[]]>,
): (readonly [key: Bytes, groups: Group[]])[] {
  const gathered = new Map<ObjectId, Gathered>()
  for (const [key, entries] of pages) {
    for (const [index, { segment: ref, recompressed: settled }] of entries.entries()) {
      if (ref === null) continue
      const object = storedIn(ref)
      const group = gathered.get(object) ?? { key, found: new Map(), isUnrecompressed: false }
      gathered.set(object, group)
      const found = group.found.get(ref.object) ?? { ref, at: [], staged: undefined }
      group.found.set(ref.object, found)
      found.at.push({ key, index })
      if (!settled) group.isUnrecompressed = true
    }
  }
  const byPage = new Map<Bytes, Group[]>()
  for (const { key, found, isUnrecompressed: isUnsettled } of gathered.values()) {
    if (!isUnsettled) continue
    const groups = byPage.get(key) ?? []
    byPage.set(key, groups)
    groups.push([...found.values()])
  }
  return [...byPage]
}

/** @param staged - The chunks that name some of the segments. */
export function withStaged(
  groups: readonly Group[],
  staged: ReadonlyMap<ObjectId, StagedIn>,
): Group[] {
  return groups.map((group) => {
    return group.map((found) => ({ ...found, staged: staged.get(found.ref.object) }))
  })
}

/**
 * Whether a page still names all segments of a group that it named before.
 * @param entries - The current entries of the page.
 */
export function isNamedBy(entries: readonly ExtentEntry[], page: Bytes, group: Group): boolean {
  return group.every(({ ref, at }) => {
    return at.every(({ key, index }) => {
      return key !== page || entries[index]?.segment?.object === ref.object
    })
  })
}

/** The keys of all pages that name segments of the groups. */
export function pagesOf(groups: readonly Group[]): ReadonlySet<Bytes> {
  return new Set(groups.flat().flatMap(({ at }) => at.map(({ key }) => key)))
}

/** Size of the segments as they are stored, in bytes. */
export function segmentGroupBytes(group: Group): number {
  return group.reduce((sum, { ref }) => sum + ref.objectBytes, 0)
}
