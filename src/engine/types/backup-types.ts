// The options of `store.backup` and the result of `restoreBackup`.

/** Options of `backup`. */
export type BackupOptions = Readonly<{
  /**
   * `include`: the backup contains the bytes of files. `reference`: it contains only their digests, for files that
   * are backed up in another way; a restore then needs their location. Default: `include`.
   */
  files?: 'include' | 'reference'
  /** Aborts the backup, which then fails with ABORTED; the bytes returned so far cannot be restored. Default: none. */
  signal?: AbortSignal
}>

/** The result of a restore. */
export type RestoreResult = Readonly<{
  /** When the backup was started, in milliseconds since 1970 UTC. */
  createdAt: number
  /** Records that were restored. */
  records: number
  /** Segments and files that were restored. */
  objects: number
  /** Size of the restored objects, in bytes. */
  bytes: number
  /**
   * Stashes that can no longer be used, because chunks may have been put after the backup: delete them, and put their
   * chunks again. Jobs that began with them before the backup continue.
   */
  unusableStashes: readonly Readonly<{ teamId: string; stashId: string }>[]
}>
