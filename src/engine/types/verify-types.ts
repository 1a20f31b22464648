// The options and the report of `store.verify`.

/** Options of `verify`. */
export type VerifyOptions = Readonly<{
  /**
   * Also reads every record, every row of every segment and every byte of every file. If false, it is only checked that
   * everything that records name exists, which reads little. Default: false.
   */
  full?: boolean
  /** Aborts the verification, which fails with ABORTED. Default: none. */
  signal?: AbortSignal
  /** Called with each finding as it is found, including those beyond the 1,000 of the report. Default: none. */
  onFinding?: (finding: VerifyFinding) => void
  /** Called with the amounts checked so far, before each step, even if they have not changed. Default: none. */
  onProgress?: (checked: VerifyCounts) => void
}>

/**
 * The kind of a finding. The names are public API. The last two are information: they cost only space, and the garbage
 * collection deletes them. All others are damage: rows, files or records are lost or wrong, and reading them fails.
 *
 * - `store`: the store cannot be opened (reported only by the command line)
 * - `commit-log`: acknowledged commits are missing
 * - `record`: a record fails its checksum or cannot be decoded
 * - `record-missing`: a record that others need is missing
 * - `record-mismatch`: records contradict each other
 * - `object-missing`: an object that a record names is missing
 * - `object-length`: an object has another length than its record says
 * - `segment`: a part of a segment fails its checksum or does not fit the others
 * - `row`: a row cannot be parsed, or has a column that its segment does not list
 * - `row-count`: the number of rows is not that of the table head
 * - `row-id`: two rows have one ID, or a preserved ID is impossible
 * - `row-version`: a row or an extent has a version that the table has not reached
 * - `summary`: a column summary does not match the values of its column
 * - `file`: the bytes of a file do not match their checksum
 * - `unreadable`: the disk returned an error
 * - `orphan-object`: nothing names this object
 * - `orphan-record`: nothing needs this record
 */
export type VerifyFindingKind =
  | 'store'
  | 'commit-log'
  | 'record'
  | 'record-missing'
  | 'record-mismatch'
  | 'object-missing'
  | 'object-length'
  | 'segment'
  | 'row'
  | 'row-count'
  | 'row-id'
  | 'row-version'
  | 'summary'
  | 'file'
  | 'unreadable'
  | 'orphan-object'
  | 'orphan-record'

/** `damage`: data is lost or wrong. `information`: data is superfluous. */
export type VerifySeverity = 'damage' | 'information'

/** The place of a finding. Parts that do not apply are absent. */
export type VerifyPlace = Readonly<{
  /** ID of the team. */
  team?: string
  /** ID of the table. */
  table?: string
  /** Number of the extent, which is a run of positions of the table. */
  extent?: number
  /** ID of the stash; if the stash no longer exists, its nonce in hex. */
  stash?: string
  /** ID of the file or of the upload. */
  file?: string
  /** ID of the object. */
  object?: string
  /** The part of the object, such as a frame or a row, in words. */
  place?: string
}>

/** One finding: its kind, its place and a message. */
export type VerifyFinding = VerifyPlace &
  Readonly<{
    /** What was found, for programs. */
    kind: VerifyFindingKind
    /** Whether data is lost or wrong, or only superfluous. */
    severity: VerifySeverity
    /** For people; it may change at any time. */
    message: string
  }>

/** The amounts of data that were checked. */
export type VerifyCounts = Readonly<{
  /** Teams with records. */
  teams: number
  /** Tables that are not deleted. */
  tables: number
  /** Rows of these tables; with `full`, each row was read. */
  rows: number
  /** Stashes with their chunks. */
  stashes: number
  /** Files that were completed. */
  files: number
  /** Uploads that are open. */
  uploads: number
  /** Objects that were checked. */
  objects: number
  /** Bytes read from objects. */
  bytes: number
}>

/** The result of a verification. */
export type VerifyReport = Readonly<{
  /** Whether no damage was found. */
  ok: boolean
  /** Whether every row and byte was checked. */
  full: boolean
  /** Findings of the severity `damage`, including those beyond the first 1,000. */
  damageCount: number
  /** Findings of the severity `information`, including those beyond the first 1,000. */
  informationCount: number
  /** The first 1,000 findings, in the order of their discovery. */
  findings: readonly VerifyFinding[]
  /** How much was checked. */
  checked: VerifyCounts
}>

/** The kind of a problem and its message, without the table, file or object that it concerns. */
export type Problem = Readonly<{ kind: VerifyFindingKind; message: string; place?: string }>
