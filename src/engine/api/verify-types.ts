// What `store.verify` takes and gives.

export type VerifyOptions = Readonly<{
  /**
   * Also reads every frame and row of every segment, every record, and every byte of every file. Without
   * it, all that names something is held against what is there, which reads little. Default: false.
   */
  full?: boolean
  /** Ends it early: it fails with ABORTED. */
  signal?: AbortSignal
  /** Called with each finding at once, also with those that the report has no room for. */
  onFinding?: (finding: VerifyFinding) => void
}>

/**
 * What is found. The names are public API. Damage: rows, files or records are lost or wrong, and reading
 * them fails. Information (`orphan-object`, `orphan-record`): something is there that nothing needs; it
 * costs space only, and the sweep deletes it in time.
 */
export type VerifyFindingKind =
  | 'store' // The store cannot be opened. Only of the command, whose message says why.
  | 'commit-log' // Commits that were acknowledged are missing.
  | 'record' // A record fails its checksum or cannot be decoded.
  | 'record-missing' // A record that others need is not there.
  | 'record-mismatch' // Records that contradict each other.
  | 'object-missing' // An object that a record names is not there.
  | 'object-length' // An object is shorter or longer than what names it says.
  | 'segment' // A piece of a segment fails its checksum, or does not fit the others.
  | 'row' // The text of a row breaks the grammar of rows, or names a column that its segment does not list.
  | 'row-count' // There are more or fewer rows than the table counts.
  | 'row-id' // Two rows have one ID, or an ID is kept that cannot be.
  | 'row-version' // A row or an extent has a version that its table has not reached.
  | 'summary' // A column summary does not say what the values of its column are.
  | 'file' // The bytes of a file are not those that were stored.
  | 'unreadable' // The disk gave an error instead of the bytes.
  | 'orphan-object'
  | 'orphan-record'

export type VerifySeverity = 'damage' | 'information'

/** Where a finding is; parts that do not apply are left out. */
export type VerifyPlace = Readonly<{
  team?: string
  /** ID of the table. */
  table?: string
  /** Number of the extent, which is a run of positions of the table. */
  extent?: number
  /** ID of the stash, or of its nonce where the stash is gone. */
  stash?: string
  /** ID of the file or of the upload. */
  file?: string
  /** ID of the object. */
  object?: string
  /** What is meant in there, such as a frame or a row, in words. */
  place?: string
}>

export type VerifyFinding = VerifyPlace &
  Readonly<{
    kind: VerifyFindingKind
    severity: VerifySeverity
    /** For people; it may change at any time. */
    message: string
  }>

/** How much was looked at. */
export type VerifyCounts = Readonly<{
  teams: number
  tables: number
  /** Live rows of the tables as they are; with `full` each was read. */
  rows: number
  stashes: number
  files: number
  uploads: number
  objects: number
  /** Of objects: bytes that were read. */
  bytes: number
}>

export type VerifyReport = Readonly<{
  /** No damage was found. */
  ok: boolean
  full: boolean
  damageCount: number
  informationCount: number
  /** The first findings, in the order in which they were made: 1,000 at most. */
  findings: readonly VerifyFinding[]
  checked: VerifyCounts
}>
