// Makes a directory as a power cut may leave it: everything known to be on the disk, and of the rest as much as a
// variant says.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Seeded } from '../../support/seeded.js'
import type { TracedDisk, TracedFile, TracedFolder, TracedNode } from './traced-disk.js'

/** Which unsynced bytes are kept: none, all, some first ones, some pages, all as zeros. */
type BytesLeft = 'synced' | 'written' | 'prefix' | 'pages' | 'zeros'

/** Which unsynced changes of names are kept: none, all, or some first ones in the order of all. */
type NamesLeft = 'synced' | 'written' | 'prefix'

export type Variant = Readonly<{ name: string; bytes: BytesLeft; names: NamesLeft }>

export const VARIANTS: readonly Variant[] = [
  { name: 'only what was synced', bytes: 'synced', names: 'synced' },
  { name: 'everything', bytes: 'written', names: 'written' },
  { name: 'a random part', bytes: 'prefix', names: 'prefix' },
  { name: 'torn pages', bytes: 'pages', names: 'written' },
  { name: 'zeros at the end', bytes: 'zeros', names: 'written' },
  { name: 'names without bytes', bytes: 'synced', names: 'written' },
  { name: 'renames lost', bytes: 'written', names: 'synced' },
]

const PAGE_BYTES = 4_096
const SECTOR_BYTES = 512

export function cutDisk(
  disk: TracedDisk,
  { bytes, names }: Variant,
  { random, target }: Readonly<{ random: Seeded; target: string }>,
): void {
  const first = firstPending(disk.root, disk.order)
  const upTo = first + random.below(disk.order - first + 1)
  const orders = { synced: 0, written: disk.order, prefix: upTo }
  const make = (folder: TracedFolder, path: string): void => {
    for (const [name, node] of namesLeft(folder, orders[names])) {
      const below = join(path, name)
      if (node.kind === 'file') writeFileSync(below, bytesLeft(node, bytes, random))
      else {
        mkdirSync(below)
        make(node, below)
      }
    }
  }
  mkdirSync(target)
  make(disk.root, target)
}

/** The oldest change of a name that is not known to be on the disk. */
function firstPending(folder: TracedFolder, none: number): number {
  let first = folder.pending[0]?.order ?? none
  for (const node of folder.names.values()) {
    if (node.kind === 'folder') first = Math.min(first, firstPending(node, none))
  }
  return first
}

function namesLeft({ durable, pending }: TracedFolder, order: number): Map<string, TracedNode> {
  const names = new Map(durable)
  for (const change of pending) {
    if (change.order > order) break
    if (change.node === null) names.delete(change.name)
    else names.set(change.name, change.node)
  }
  return names
}

function bytesLeft(file: TracedFile, left: BytesLeft, random: Seeded): Uint8Array {
  const bytes = Buffer.from(file.bytes.subarray(0, file.length))
  for (let sector = 0; sector < (file.before?.length ?? 0); sector += SECTOR_BYTES) {
    if (left === 'written' || (left !== 'synced' && random.once(2))) continue
    file.before?.copy(bytes, sector, sector, sector + SECTOR_BYTES)
  }
  return tailLeft({ ...file, bytes }, left, random)
}

/** The bytes that remain after the synced ones. */
function tailLeft(file: TracedFile, left: BytesLeft, random: Seeded): Uint8Array {
  const { bytes, length, syncedLength } = file
  if (left === 'synced') return bytes.subarray(0, syncedLength)
  if (left === 'written' || length === syncedLength) return bytes.subarray(0, length)
  if (left === 'prefix') {
    return bytes.subarray(0, syncedLength + random.below(length - syncedLength + 1))
  }
  const torn = bytes
  if (left === 'zeros') return torn.fill(0, syncedLength)
  for (let page = syncedLength; page < length; page = nextPage(page)) {
    if (random.once(2)) torn.fill(0, page, Math.min(length, nextPage(page)))
  }
  return torn
}

function nextPage(at: number): number {
  return (Math.floor(at / PAGE_BYTES) + 1) * PAGE_BYTES
}
