export type FullOpenCase = Readonly<{
  /** So many bytes stay free. */
  bytes: number
  /** How the process ends that wrote the store. */
  ending: 'close' | 'kill'
  /** The approximate size of the last log of its database, in bytes. */
  logBytes: number
  durability: 'commit' | 'interval'
  /** There is no room on any other disk either. */
  isFullElsewhere?: boolean
}>

export type FullOpenJob = Readonly<{
  folder: string
  /** The system's folder for temporary files. */
  elsewhere: string
  cases: readonly FullOpenCase[]
}>

export type FullOpenResult = Readonly<{
  /** The store could only be read while the disk was full; null: it did not open. */
  isReadOnly: boolean | null
  wrong: readonly string[]
}>
