// All texts of the page.
import { textOfAdvice } from './advice-texts.js'
import { counted } from './counted.js'

type Amount = readonly [count: number, shown: string]

/** Locales of numbers and ages, and of times. */
export const languages = { numbers: 'en', times: 'en-GB' } as const
export const byteUnits = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const
export const seconds = (count: number) => `${count} s`
export const minutes = (count: number) => `${count} min`
export const unknown = '–'
export const titleOf = (view: string) => `${view} – rowstash`
export const needsScript = 'This page needs JavaScript.'

export const tabs = {
  tables: 'Tables',
  import: 'Import',
  stored: 'Storage',
  health: 'Health',
} as const
export const views = 'Views'
export const loading = 'Loading …'
export const notShown = 'This cannot be shown.'
export const skip = 'Skip to the content'
export const tryAgain = 'Try again'
export const cancel = 'Cancel'
export const close = 'Close'
export const yes = 'yes'
export const no = 'no'

export const readOnly = 'read-only'
export const writable = 'writable'
export const apiKey = 'API key'
export const keyIs =
  'An API key is the password with which a person or a program uses this server. Whoever runs the server has it:'
export const keyPlaces = [
  '“rowstash serve” prints the key, or the file that has it.',
  '“rowstash keys add” makes another key, which may be only for reading.',
] as const
export const keyHelp = 'It is kept in this tab until you close it, and is sent only to this server.'
export const noSuchKey =
  'The server does not know this key. Check that you entered all of it, and nothing else.'
export const signIn = 'Show the tables'
export const signOut = 'Forget the key'
export const otherKey = 'Use another key'

export const findTable = 'Find a table'
export const noTables = 'There are no tables yet.'
export const addFromFile = 'Add from a file'
export const tableColumns = ['Name', 'Rows', 'Size', 'Columns', 'Changed', 'Actions'] as const
export const moreTables = (count: number) => `Show more (${count} left)`
export const noName = 'Untitled'
export const deleteTable = 'Delete'
export const deleteNamed = (name: string) => `Delete the table ${name}`
export const deleteQuestion = (name: string) =>
  `Delete the table “${name}” with all its rows? This cannot be undone.`
export const deleted = (name: string) => `“${name}” was deleted.`

export const rows = (count: number, shown: string) => counted(count, shown, 'row', 'rows')
export const columns = (count: number) => counted(count, String(count), 'column', 'columns')
export const version = (version: string) => `version ${version}`
export const changed = 'changed'
export const rowNumber = 'Row'
export const noRows = 'No rows'
export const searching = 'Searching …'
export const sorting = (place: string) => `${place} · sorting all rows …`
export const misplaced = 'Rows that you change keep their place until you sort and filter again.'
export const placeAgain = 'Sort and filter again'
export const place = (from: string, to: string, all: string) => `${from}–${to} of ${all}`
export const placeOfFirst = (from: string, to: string, all: string) =>
  `${from}–${to} of the first ${all} matches; more may follow`
export const newer = (found: string, shown: string) =>
  `The table has changed: it is now at version ${found}, and you see version ${shown}.`
export const rowsChanged = (count: number, shown: string) =>
  `${counted(count, shown, 'row', 'rows')} changed.`
export const follow = 'Show changes at once'
export const showNewer = 'Show the new version'
export const rowsEnded =
  'These rows can no longer be read. Show the new version, or apply the filter again.'
export const gridHelp = 'Arrow keys move. Shift+arrow chooses a block. Enter or Space opens a row.'
export const headerHelp =
  ' In the header, Enter sorts by the column, and Shift+Enter adds the column to the order. Alt+Left and Alt+Right change its width. Alt+Down opens its menu.'
export const menuOf = (column: string) => `Menu of ${column}`
export const sortUp = 'Sort ascending'
export const sortDown = 'Sort descending'
export const unsort = 'Do not sort'
export const hide = 'Hide'
export const sums = (sum: string, mean: string, least: string, greatest: string, count: string) =>
  `Sum ${sum} · average ${mean} · min ${least} · max ${greatest} · count ${count}`
export const arrows = { ascending: '↑', descending: '↓' } as const
export const placeOfSorted = (from: string, to: string, all: string) =>
  `${from}–${to} of the first ${all}; there are too many rows to sort them all`
export const chosen = (rows: string, columns: string) => `${rows} × ${columns} chosen`
export const blockTooLarge = (rows: number) =>
  `Nothing was copied: at most ${rows.toLocaleString('en')} rows can be copied at once. Download the rows instead.`
export const search = 'Search'
export const searchHelp = 'Find rows by a text or a number in any column'
export const more = 'More'
export const openRow = 'Open row'
export * from './filter-texts.js'

export const columnMenu = 'Columns'
export const columnsShown = 'Visible columns'
export const allColumns = 'All'
export const oneColumn = 'Only the first'
export const copy = 'Copy'
export const copyHelp = 'Copy the visible rows:'
export const copyFormats = { json: 'as JSON', csv: 'as CSV', curl: 'as a curl command' } as const
export const copied = 'Copied.'
export const notCopied = 'The browser does not allow copying here.'
export const copyJson = 'Copy as JSON'

export const download = 'Download'
export const downloadHelp =
  'Download what the filter finds, in this order, with the visible columns:'
export const downloadFormats = {
  csv: 'as CSV',
  tsv: 'as TSV',
  ndjson: 'as NDJSON, one row in each line',
  json: 'as JSON',
  parquet: 'as Parquet',
} as const
export const downloading = (bytes: string) => `Downloading … ${bytes}`
export const downloaded = (bytes: string) => `Downloaded: ${bytes}.`
export const downloadBroken = 'The connection broke off. The file was not saved.'
export const downloadIsNewer = (version: string) =>
  `The file has version ${version}, which is newer.`
export const downloadUnderWay = 'A download is in progress. Cancel it before you start another one.'
export const tooLargeToHold =
  'This browser cannot save more than 1 GB from here. Narrow the rows by a filter, or use the command “rowstash export”.'

export const rowAt = (number: string) => `Row ${number}`
export const rowBefore = 'Previous'
export const rowAfter = 'Next'
export const rowVersion = (version: string) => `last changed in version ${version}`
export const rowIsNewer = (version: string) =>
  `changed in version ${version}, which is newer than the rows beside it`
export const showHistory = 'Show the previous version'
export const earlier = 'Show an earlier version'
export const changedIn = (version: string) => `Changed in version ${version}`
export const added = (version: string) => `Added in version ${version}.`
export const noHistory = (version: string) =>
  `Version ${version} is the earliest known version of this row: the table has no older history.`
export const emptyCell = 'empty'
export const storedFile = 'file'
export const noPicture = 'The file is missing, or is not a picture.'
export const schema = 'Schema'
export const columnName = 'Name'
export const columnId = 'ID'
export const columnType = 'Type'
export const key = 'key'

export const needsWrite = 'This store was opened read-only. Run “rowstash open --write” to import.'
export const dropHere = 'Drop a file anywhere on this page'
export const chooseFile = 'Choose a file'
export const dropNow = 'Drop the file to import it'
export const oneFile = 'One file at a time: only the first one is imported.'
export const isUnderWay = 'An import is in progress. Cancel it before you start another one.'
export const dropFormats = 'CSV, TSV, JSON or NDJSON, also compressed with gzip'
export const format = 'Format'
export const reading = 'How the file is read'
export const dialect = {
  delimiter: 'Between fields',
  header: 'Header',
  numbers: 'Numbers',
  dates: 'Days',
  encoding: 'Encoding',
  nested: 'Objects in rows',
  at: 'Where the rows are, as in data.items',
} as const
export const delimiters = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' } as const
export const headers = { absent: 'none' } as const
export const headerPresent = 'in the first line'
export const lineOfHeader = (line: number) => `in line ${line}`
export const numbers = {
  '.': '1234.5',
  ',': '1234,5',
  '.,': '1,234.5',
  ',.': '1.234,5',
  '. ': '1 234.5',
  ', ': '1 234,5',
  ".'": "1'234.5",
} as const
export const nestedWays = { flatten: 'as columns', text: 'as text' } as const
export const nestedRefused = 'refused'
export const detected = 'detected'
export const detectedAs = (value: string) => `detected: ${value}`
export const chooseFor = (example: string) => `choose: ${example}`
export const readAs = (parts: readonly string[]) => `Read as ${parts.join(', ')}.`
export const delimitedBy = (delimiter: string) => `${delimiter} between fields`
export const headerLine = (line: number | undefined) =>
  line === undefined ? 'no header' : `header in line ${line}`
export const advice = textOfAdvice
export const importStopped = (message: string) =>
  `The import stopped (${message}). Open “Import” to continue it.`
export const importFailed = (message: string) => `The import failed: ${message}`
export const keyRefused =
  'The server no longer accepts the key of this page: it may have restarted. Open the address that it printed, and import there.'
export const scopeMissing =
  'The key of this page may not do that. Ask for a key that may write, and open this page with it.'
export const fileGone =
  'The file was changed, moved or deleted after you chose it. Choose it again.'
export const importWaits = 'The import waits for your decision.'
export const importAs = 'Import as'
export const modes = {
  create: 'a new table',
  add: 'more rows of a table',
  overwrite: 'all rows of a table, replacing the old ones',
  merge: 'changes to a table, by a key column',
} as const
export const tableName = 'Name of the table'
export const table = 'Table'
export const mergeKey = 'Key column'
export const misfits = 'Values that do not fit'
export const onSchemaError = {
  abort: 'stop the import',
  dropColumns: 'leave their cells empty',
  updateSchema: 'change the columns to fit them',
} as const
export const sample = 'The first rows, with the types that their columns will get'
export const takeColumn = (column: string) => `Import the column ${column}`
export const omittedColumns = 'Left out:'
export const beginImport = 'Import'
export const progress = 'Progress of the import'
export const underWay = (
  now: Readonly<Record<'rows' | 'bytes' | 'all' | 'rate' | 'speed' | 'left', string>>,
) =>
  `${now.rows} rows · ${now.bytes} of ${now.all} · ${now.rate} rows/s, ${now.speed}/s · ${now.left} left`
export const checking = (rows: number) =>
  `Checking all ${counted(rows, rows.toLocaleString('en'), 'row', 'rows')} …`
export const committing = 'Committing …'
export const problems = (count: string) => `Values that do not fit: ${count}`
export const nothingImported = 'Nothing has been imported yet.'
export const problemList = 'By column and rule'
export const problemsOfSample = 'By column and rule, in the first rows of the file'
export const problemsOfFirst = (count: string) => `By column and rule, of the first ${count}`
export const problemColumns = ['Column', 'Takes', 'Values', 'The first ones'] as const
/** Rules of columns that the page words differently from the server. */
export const rules = {
  'a finite number': 'a number',
  'a finite number as JSON writes it': 'a number such as 1234.5',
  'text, a number, a boolean or an array':
    'any value but an object: choose in “Objects in rows” how to read objects',
} as const
export const mustBe = (rule: string) => `Must be ${rule}`
export const row = (row: string) => `row ${row}`
export const line = (line: number) => `line ${line}`
export const misfitsHelp =
  'Correct the file and drop it again, or change the import and choose what happens to “Values that do not fit”.'
export const lacksColumns = (columns: readonly string[]) =>
  `The table has no column ${columns.map((column) => `“${column}”`).join(', ')}.`
export const addAsText = 'Add as text'
export const columnsWereAdded = (count: number) =>
  `${counted(count, String(count), 'column was', 'columns were')} added.`
export const checkingAgain = 'Checking again …'
export const importAnyway = 'Import anyway'
export const merge = 'Merge'
export const wouldMerge = (counts: string) => `Effect of the merge on the rows: ${counts}.`
export const changeImport = 'Change the import'
export const cancelled = 'Cancelled. Nothing was changed.'
export const goOn = 'Continue'
export const goOnHelp =
  'The rows already sent are kept for 48 hours. Continue here, or drop the same file again. If rowstash was restarted, first open the address that it printed.'
export const beginAnew = 'Start over'
export const begun = (rows: string, age: string, end: string) =>
  `An import of this file was started ${age} and not completed. ${rows} rows are staged until ${end}; the import continues with them.`
export const retrying = 'The server does not answer. Trying again …'
export const imported = 'The import is complete.'
export const showTable = 'Show the table'
export const rowsImported = 'Rows of the file'
export const versionName = 'Version of the table'
export const mergeCounts = (
  counts: Readonly<Record<'added' | 'changed' | 'unchanged' | 'removed', number>>,
) =>
  `${counts.added} added, ${counts.changed} changed, ${counts.unchanged} unchanged, ${counts.removed} removed`
export const columnsAdded = 'New columns'
export const columnsChanged = 'Columns with a new type'
export const cellsDropped = 'Cells left empty'

export const files = 'Files'
export const filesHelp =
  'A file is kept while a row contains its URL. An unused file is deleted some time after the day shown.'
export const fileColumns = ['Name', 'Type', 'Size', 'Stored', 'Kept at least until'] as const
export const stashes = 'Staged rows'
export const stashesHelp = 'Rows of unfinished imports, such as when a tab was closed.'
export const stashColumns = ['Name', 'Rows', 'Size', 'Begun', 'Ends'] as const
export const uploads = 'Open uploads'
export const uploadsHelp = 'Files whose upload is not complete.'
export const uploadColumns = ['Name', 'Type', 'Size', 'Begun', 'Ends'] as const
export const jobs = 'Jobs'
export const jobsHelp = 'Background operations. They are listed for 7 days after they end.'
export const jobColumns = ['Operation', 'Table', 'State', 'Begun'] as const
export const jobStates = { running: 'running', succeeded: 'done', failed: 'failed' } as Readonly<
  Record<string, string>
>
export const nothingThere = 'None.'
export const moreFiles = 'Show more'
export const actions = 'Actions'
export const deleteStored = (name: string) => `Delete ${name}`
export const forgetQuestion = (name: string) => `Delete “${name}”? This cannot be undone.`
export const preview = 'Preview'
export const previewOf = (name: string) => `Preview of ${name}`
export const noPreview = 'This type has no preview. The link downloads the file.'
export const openFile = 'Open the file'
export const notRead = (status: number) => `The server answered with status ${status}.`
export const cutAt = (bytes: string) => `The first ${bytes}:`

export const adminKey = 'Admin key'
export const adminKeyHelp =
  'Metrics and verification need an admin key of the server. The key is kept until you leave this page.'
export const showHealth = 'Show'
export const plots = {
  requests: 'Requests',
  median: 'Median response time',
  slowest: '95th percentile of response time',
  rowsIn: 'Rows in',
  rowsOut: 'Rows out',
  commits: 'Commits',
  written: 'Written',
  memory: 'Memory of the process',
  caches: 'Caches',
} as const
export const highest = (value: string) => `highest ${value}`
export const periods = { day: 'The last day', now: 'The last 4 minutes' } as const
export const period = 'Period'
export const plotBegin = { day: '24 h ago', now: '4 min ago' } as const
export const plotEnd = 'now'
export const perSecond = (value: string) => `${value}/s`
export const within = (milliseconds: string) => `≤ ${milliseconds} ms`
export const beyond = '> 10 s'
export const allWell =
  'Nothing is wrong: the store accepts changes, and no request failed in the last day.'
export const allWellNow = 'Nothing is wrong: the store accepts changes.'
export const notWritable = 'The store accepts no changes: its disk is full, or a write has failed.'
export const waitForMemory = (count: string) => `Requests that wait for memory: ${count}.`
export const requestsFailed = (count: string, age: string) =>
  `Requests that the server could not answer in the last day: ${count}, the last of them ${age}.`
export const state = 'The server'
export const accepts = 'The disk accepts writes'
export const jobsRunning = 'Running jobs'
export const runsSince = 'Started'
export const disk = 'On disk'
export const held = {
  rows: 'Rows of tables',
  stashes: 'Staged rows',
  files: 'Files',
  uploads: 'Open uploads',
} as const
export const maintenance = 'Last maintenance'
export const maintenanceKinds = {
  garbageCollection: 'Garbage collection',
  compaction: 'Compaction',
  recompression: 'Recompression',
  backup: 'Backup',
} as const
export const notYet = 'none since the start'
export const noMaintenance = 'A store that was opened read-only does no background work.'
export const verify = 'Verify the store'
export const verifyHelp = 'Reads the stored data and checks it. The full check reads every byte.'
export const verifyQuick = 'Verify the records'
export const verifyFull = 'Verify everything'
export const verifying = (seconds: number, checked: string) =>
  `Verifying for ${seconds} s … ${checked === '' ? '' : `So far: ${checked}`}`
export const checked = (tables: Amount, rows: Amount, files: Amount, bytes: string) =>
  [
    counted(...tables, 'table', 'tables'),
    counted(...rows, 'row', 'rows'),
    counted(...files, 'file', 'files'),
    `${bytes} read`,
  ].join(', ')
export const checkedAll = (amounts: string) => `Checked: ${amounts}.`
export const verifyCancelled = 'The verification was cancelled.'
export const severities = { damage: 'Damage:', information: 'Superfluous:' } as const
export const verified = (isOk: boolean, count: string) =>
  isOk ? 'No damage was found.' : `Damage found: ${count}.`
