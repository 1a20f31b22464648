// What `store.backup` takes and `restoreBackup` gives.

export type BackupOptions = Readonly<{
  /**
   * `include`: the bytes of files are in the backup. `reference`: only their digests are, for files that are
   * kept safe in another way; who restores it says where they are. Default: `include`.
   */
  files?: 'include' | 'reference'
  /** Ends it early: it fails with ABORTED, and what there is of it cannot be restored. */
  signal?: AbortSignal
}>

/** What was restored. */
export type RestoreResult = Readonly<{
  /** When the backup was begun, in milliseconds since 1970 UTC. */
  createdAt: number
  records: number
  objects: number
  /** Of the objects. */
  bytes: number
}>
