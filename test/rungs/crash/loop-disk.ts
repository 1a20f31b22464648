// A separate file system in a file, whose power can be cut: from that moment nothing reaches its disk any more, not
// even its journal. Needs root.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

export type FileSystem = Readonly<{
  name: string
  make: readonly string[]
  mountOptions: string
}>

export const FILE_SYSTEMS: readonly FileSystem[] = [
  { name: 'ext4, data=ordered', make: ['mkfs.ext4', '-q', '-F'], mountOptions: 'data=ordered' },
  { name: 'ext4, data=writeback', make: ['mkfs.ext4', '-q', '-F'], mountOptions: 'data=writeback' },
  { name: 'xfs', make: ['mkfs.xfs', '-q', '-f'], mountOptions: 'defaults' },
]

/** Slightly more than the minimum of xfs. */
const IMAGE_BYTES = 400 * 1024 * 1024

/**
 * EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, with the flag that leaves the journal on the disk as it is. The programs
 * report when they are ready, and cut on command.
 */
const PYTHON_CUT = [
  'import fcntl,os,struct,sys',
  'folder=os.open(sys.argv[1],os.O_RDONLY)',
  "print('ready',flush=True)",
  'sys.stdin.read(1)',
  "fcntl.ioctl(folder,0x8004587d,struct.pack('I',2))",
].join(';')
const PERL_CUT = [
  "open(my $folder,'<',$ARGV[0]) or die $!",
  "my $flag=pack('I',2)",
  '$|=1',
  'print "ready\\n"',
  'read(STDIN,my $told,1)',
  'ioctl($folder,0x8004587d,$flag) or die $!',
].join(';')
const CUTTERS: readonly (readonly string[])[] = [
  ['python3', '-c', PYTHON_CUT],
  ['perl', '-e', PERL_CUT],
]

function isThere(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
}

const cutter = CUTTERS.find(([command = '']) => isThere(command))

/** null: such a file system can be made, mounted and cut here. */
export function missingLoopDisk({ make }: FileSystem): string | null {
  if (process.getuid?.() !== 0) return 'only root may mount a file system'
  const [maker = ''] = make
  if (!isThere(maker)) return `there is no ${maker}`
  if (cutter === undefined) return 'there is neither python3 nor perl to ask the kernel'
  if (spawnSync('losetup', ['--find']).status !== 0) return 'there is no loop device'
  return null
}

export class LoopDisk {
  readonly mountPoint: string
  readonly #image: string
  readonly #mountOptions: string

  private constructor(image: string, mountPoint: string, mountOptions: string) {
    this.#image = image
    this.mountPoint = mountPoint
    this.#mountOptions = mountOptions
  }

  static make(folder: string, { make, mountOptions }: FileSystem): LoopDisk {
    const image = join(folder, 'image')
    writeFileSync(image, '')
    truncateSync(image, IMAGE_BYTES)
    const [command = '', ...args] = make
    execFileSync(command, [...args, image])
    const mountPoint = join(folder, 'mount')
    mkdirSync(mountPoint)
    return new LoopDisk(image, mountPoint, mountOptions)
  }

  mount(): void {
    execFileSync('mount', ['-o', `loop,${this.#mountOptions}`, this.#image, this.mountPoint])
  }

  unmount(): void {
    execFileSync('umount', [this.mountPoint])
  }

  /**
   * Gets ready.
   * @returns a function that cuts at once: nothing is written afterwards. Mount again to read what remains.
   */
  async armCut(): Promise<() => Promise<void>> {
    const [command = '', ...args] = cutter ?? []
    const child = spawn(command, [...args, this.mountPoint], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(child, 'close')
    await once(child.stdout, 'data')
    return async () => {
      child.stdin.end('x')
      const [code] = await ended
      if (code !== 0) throw new Error(`${command} could not cut the power`)
    }
  }

  remove(): void {
    spawnSync('umount', [this.mountPoint]) // It may already be unmounted.
    rmSync(this.#image)
  }
}
