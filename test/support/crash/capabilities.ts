// What this machine can do. A suite that needs more is skipped, and says what is missing.
import { spawnSync } from 'node:child_process'

/** null: strace can watch a child of ours. */
export function missingStrace(): string | null {
  const { error, status } = spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', 'true'])
  if (error !== undefined) return 'there is no strace'
  return status === 0 ? null : 'strace may not watch processes'
}
