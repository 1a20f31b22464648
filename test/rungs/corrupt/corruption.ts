// Damages one file of a store in a directory, as disks and people do.
import { copyFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Seeded } from '../../support/seeded.js'

/** The kinds of files of a store. (LevelDB's LOG and LOCK contain no data.) */
export const FILE_KINDS = {
  log: /^kv\/\d+\.log$/,
  ldb: /^kv\/\d+\.ldb$/,
  manifest: /^kv\/MANIFEST-\d+$/,
  current: /^kv\/CURRENT$/,
  object: /^objects\/.*[0-9a-f]{32}$/,
  format: /^FORMAT$/,
  highWater: /^HIGHWATER$/,
} as const

export type FileKind = keyof typeof FILE_KINDS

export const DAMAGES = ['bit', 'byte', 'zeros', 'truncation', 'deletion', 'older'] as const
export type Damage = (typeof DAMAGES)[number]

const ZEROS = 512

/** Files of a directory by kind, with paths from it. */
export async function filesByKind(directory: string): Promise<Map<FileKind, string[]>> {
  const found = new Map<FileKind, string[]>()
  const paths = (await readdir(directory, { recursive: true })).sort()
  for (const kind of Object.keys(FILE_KINDS) as FileKind[]) {
    const mine = paths.filter((path) => FILE_KINDS[kind].test(path))
    if (mine.length > 0) found.set(kind, mine)
  }
  return found
}

/**
 * Damages a file.
 * @param older - A directory with an older copy of the store, for the damage of that name.
 * @returns a description of the damage; null: nothing has changed
 */
export async function damageFile(
  directory: string,
  path: string,
  damage: Damage,
  random: Seeded,
  older: readonly string[],
): Promise<string | null> {
  const file = join(directory, path)
  const bytes = await readFile(file)
  if (damage === 'deletion') {
    await rm(file)
    return `${path} was deleted`
  }
  if (damage === 'older') {
    const copy = random.pick(older)
    if (bytes.equals(await readFile(copy))) return null
    await copyFile(copy, file)
    return `${path} has the bytes of ${copy}`
  }
  const { size } = await stat(file)
  if (size === 0) return null
  const at = random.below(size)
  if (damage === 'truncation') {
    await truncate(file, at)
    return `${path} was cut from ${size} to ${at} bytes`
  }
  const changed = Buffer.from(bytes)
  if (damage === 'zeros') changed.fill(0, at, Math.min(size, at + ZEROS))
  else if (damage === 'bit') changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  else changed[at] = random.below(256)
  if (changed.equals(bytes)) return null
  await writeFile(file, changed)
  return `${path}: ${damage} at byte ${at} of ${size}`
}
