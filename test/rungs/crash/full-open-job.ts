export type FullOpenCase = Readonly<{
  /** Bytes that stay free. */
  bytes: number
  /** How the process that wrote the store ends. */
  ending: 'close' | 'kill'
  /** The approximate size of the last log of its database, in bytes. */
  logBytes: number
  durability: 'commit' | 'interval'
  /** Whether all other disks are full too. */
  isFullElsewhere?: boolean
}>

export type FullOpenJob = Readonly<{
  folder: string
  /** The system's folder for temporary files. */
  elsewhere: string
  cases: readonly FullOpenCase[]
}>

export type FullOpenResult = Readonly<{
  /** Whether the store was read-only while the disk was full; null: it did not open. */
  isReadOnly: boolean | null
  wrong: readonly string[]
}>
