// classic-level with a write buffer of 64 KiB instead of 4 MiB, so that little data makes LevelDB switch logs, write
// tables and compact them. Programs are built with this instead of the package.
import { createRequire } from 'node:module'
import type { ClassicLevel as Level } from 'classic-level'

const { ClassicLevel: Original } = createRequire(import.meta.url)('classic-level') as {
  ClassicLevel: typeof Level
}

const WRITE_BUFFER_BYTES = 65_536

export class ClassicLevel<K, V> extends Original<K, V> {
  constructor(...[path, options]: ConstructorParameters<typeof Level<K, V>>) {
    super(path, { ...options, writeBufferSize: WRITE_BUFFER_BYTES })
  }
}
