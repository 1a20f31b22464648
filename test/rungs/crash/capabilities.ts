// The capabilities of this machine. A suite that needs more is skipped, and names what is missing.
import { spawnSync } from 'node:child_process'

/** null: strace can watch a child process. */
export function missingStrace(): string | null {
  const { error, status } = spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', 'true'])
  if (error !== undefined) return 'there is no strace'
  return status === 0 ? null : 'strace may not watch processes'
}

/** Runs a command with a small private file system on a folder. */
export function smallDiskCommand(folder: string, mebibytes: number): string[] {
  const mount = `mount -t tmpfs -o size=${mebibytes}m tmpfs "$0" && exec "$@"`
  return ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', mount, folder]
}

/** null: a process may mount a file system in memory. */
export function missingSmallDisk(folder: string): string | null {
  const [command = '', ...args] = smallDiskCommand(folder, 1)
  const { error, status } = spawnSync(command, [...args, 'true'])
  if (error !== undefined) return 'there is no unshare'
  return status === 0 ? null : 'no file system may be mounted, not even in a namespace of its own'
}

/** Runs a command in a new PID namespace, which ends with the command. */
export const NEW_NAMESPACES: readonly string[] = [
  'unshare',
  ...['--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'],
]

/** null: a process may have a new PID namespace. */
export function missingNamespaces(): string | null {
  const [command = '', ...args] = NEW_NAMESPACES
  const { error, status } = spawnSync(command, [...args, 'true'])
  if (error !== undefined) return 'there is no unshare'
  return status === 0 ? null : 'no PID namespace may be made'
}

/** null: the size of files can be limited while a process runs. */
export function missingFileLimit(): string | null {
  const { error, status } = spawnSync('prlimit', ['--fsize=1000000:', 'true'])
  if (error !== undefined) return 'there is no prlimit'
  return status === 0 ? null : 'prlimit may not limit the size of files'
}
