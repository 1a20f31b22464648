// Bugs of objects that several segments share, which test/store/shared-objects.test.ts must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a shared object is not pending any more once one of its chunks is committed',
    file: 'object-ids.ts',
    find: 'if (left > 0) continue',
    replace: '',
  },
  {
    name: 'the sweep looks for objects by the IDs of segments',
    file: 'named-objects.ts',
    find: "if (named.kind === 'segment') return storedIn(named.ref)",
    replace: "if (named.kind === 'segment') return named.ref.object",
  },
  {
    name: 'a segment is read from the beginning of its object',
    file: 'segment-reads.ts',
    find: 'this.#objects.get(storedIn(ref), rangeInObject(ref, range), memory)',
    replace: 'this.#objects.get(storedIn(ref), range, memory)',
  },
  {
    name: 'the caches know a segment by its object',
    file: 'segments/segment-cache.ts',
    find: 'function frameKey({ object }: SegmentRef, index: number): string {',
    replace:
      'function frameKey({ object: own, shared: { object = own } = {} as never }: SegmentRef, index: number): string {',
  },
  {
    name: 'segments of an object have one ID in their checksums',
    file: 'piece-crc.ts',
    find: 'return crc32(objectBytes(object))',
    replace: 'return crc32(objectBytes(object).subarray(0, 15))',
  },
  {
    name: 'a put that fails for a group fails for its first segment only',
    file: 'segment-puts.ts',
    find: `} catch (failure) {
      for (const { reject } of group) reject(failure)
    } finally {`,
    replace: `} catch (failure) {
      for (const [index, { resolve, reject }] of group.entries()) {
        if (index === 0) reject(failure)
        else resolve({ object, offset: offsets[index] ?? 0 })
      }
    } finally {`,
  },
  {
    name: 'a backup has the bytes of one segment of a shared object',
    file: 'engine/backup/backup.ts',
    find: "if (named.kind !== 'segment' || named.ref.shared === undefined) {",
    replace: "if (named.kind !== 'forward') {",
  },
  {
    name: 'the records do not say where a segment is in its object',
    file: 'shared-objects.ts',
    find: 'else writer.u32(shared.offset).u32(',
    replace: 'else writer.u32(0).u32(',
  },
]
