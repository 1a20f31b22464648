// Facts about the disk below a folder: its file system, the cache of its device, and the time of a flush.
import { open, readFile, realpath, rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { performance } from 'node:perf_hooks'

export type DiskReport = Readonly<{
  /** The file system, such as `ext4 on /dev/sda1 (rw,relatime)`. null: unknown. */
  fileSystem: string | null
  /** The cache of the device, as the kernel reports it: `write back` or `write through`. null: unknown. */
  writeCache: string | null
  /** Time to append 4 KiB and flush, in microseconds. */
  flushMicros: Readonly<{ median: number; p99: number }>
  /** Reasons why acknowledged data might not survive a power cut. */
  doubts: readonly string[]
}>

const FLUSHES = 200
const FLUSH_BYTES = 4_096

/** The minimum time of a flush that waits for a disk with a volatile cache, in microseconds. */
const FLUSH_MICROS_MIN = 30

const IN_MEMORY = /^(?:tmpfs|ramfs)$/
const OVER_NETWORK = /^(?:nfs4?|cifs|smb3?|9p|ceph|fuse\..*|glusterfs)$/
const WITHOUT_BARRIERS = /(?:^|,)(?:nobarrier|barrier=0|eatmydata)(?:,|$)/

type Mount = Readonly<{ type: string; source: string; options: string; device: string }>

export async function reportDisk(folder: string): Promise<DiskReport> {
  const mount = await mountOf(folder)
  const writeCache = mount === null ? null : await writeCacheOf(mount.device)
  const flushMicros = await timeFlushes(folder)
  const doubts: string[] = []
  if (mount !== null) {
    const { type, options } = mount
    if (IN_MEMORY.test(type)) doubts.push(`${type} is memory: a power cut loses everything`)
    if (OVER_NETWORK.test(type)) doubts.push(`${type}: the server decides when data is on a disk`)
    if (WITHOUT_BARRIERS.test(options)) doubts.push('the file system is mounted without barriers')
  }
  if (flushMicros.median < FLUSH_MICROS_MIN && writeCache === 'write back') {
    const time = `${flushMicros.median.toFixed(0)} µs`
    doubts.push(`a flush takes ${time}: a disk with a volatile cache does not flush so fast`)
  }
  const fileSystem = mount && `${mount.type} on ${mount.source} (${mount.options})`
  return { fileSystem, writeCache, flushMicros, doubts }
}

async function timeFlushes(folder: string): Promise<DiskReport['flushMicros']> {
  const path = join(folder, 'flush-probe')
  const micros: number[] = []
  const bytes = Buffer.alloc(FLUSH_BYTES, 1)
  const file = await open(path, 'wx')
  try {
    for (let count = 0; count < FLUSHES; count++) {
      const startMs = performance.now()
      await file.write(bytes)
      await file.datasync()
      micros.push(1_000 * (performance.now() - startMs))
    }
  } finally {
    await file.close()
    await rm(path)
  }
  micros.sort((a, b) => a - b)
  const at = (share: number): number => micros[Math.floor(share * micros.length)] ?? 0
  return { median: at(0.5), p99: at(0.99) }
}

/** The mount of a folder: the last one with the longest path above it. null: this system has no mount table. */
async function mountOf(folder: string): Promise<Mount | null> {
  const mounts = await textOf('/proc/self/mountinfo')
  if (mounts === null) return null
  const path = `${await realpath(folder)}${sep}`
  let found: Readonly<{ length: number; mount: Mount }> | null = null
  for (const line of mounts.split('\n')) {
    // ID, parent, device, root, mount point, options, other fields, "-", type, source, options of the file system
    const [own, system] = line.split(' - ')
    const [, , device, , point, options] = own?.split(' ') ?? []
    const [type, source, more] = system?.split(' ') ?? []
    if (!device || !point || !options || !type || !source) continue
    const above = point === '/' ? '/' : `${unescapeOctal(point)}/`
    if (!path.startsWith(above) || above.length < (found?.length ?? 0)) continue
    const mount = { type, source, device, options: more ? `${options},${more}` : options }
    found = { length: above.length, mount }
  }
  return found?.mount ?? null
}

/** A path from `mountinfo`, which escapes blanks as `\040`. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}

/** @param device - `MAJOR:MINOR`. A partition has the queue of its disk. */
async function writeCacheOf(device: string): Promise<string | null> {
  const folder = `/sys/dev/block/${device}`
  const text =
    (await textOf(`${folder}/queue/write_cache`)) ??
    (await textOf(`${folder}/../queue/write_cache`))
  return text?.trim() ?? null
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return null
  }
}
