// All texts of the page.
import type { Advice, AdviceCode } from '../../../../src/intake/advice.js'
import { FILTER } from './filter-texts.js'

/** "1 row", "2 rows". */
function counted(count: number, shown: string, one: string, many: string): string {
  return `${shown} ${count === 1 ? one : many}`
}

type Amount = readonly [count: number, shown: string]

/** What was found in a file. A count is as far as rows were read. */
const ADVICE: Readonly<Record<AdviceCode, (about: Required<Advice>) => string>> = {
  encoding: ({ example }) =>
    `The text is read as ${example}, which nobody said: look at letters such as é and ß.`,
  at: ({ example }) => `The rows are those of the array at “${example}”.`,
  delimiter: () => '',
  oneColumn: () =>
    'No character divides the lines into fields alike, so they are one column. If one does, choose it in “Between fields”.',
  shortLines: ({ count }) =>
    `${lines(count)} with fewer fields than the header: their other cells are empty.`,
  skippedLines: ({ count }) => `${lines(count)} in front of the header left out.`,
  headerLooksLikeData: ({ example }) =>
    `The header looks like a row, for it has the value “${example}”. If it is one, change “Header”.`,
  columnNamed: ({ column }) => `A column without a name is called “${column}”.`,
  columnDropped: ({ count }) =>
    count > 0
      ? 'The columns that tell why the rows did not fit before are left out.'
      : 'A column without a name and without values is left out.',
  trimmed: () => 'Blanks around fields are left out.',
  backslashes: () => 'A backslash stands in front of quotes in fields.',
  nulls: ({ count }) =>
    `${counted(count, String(count), 'field', 'fields')} that mean nothing are empty cells.`,
  blankLines: ({ count }) => `${lines(count)} without a value left out.`,
  extraFields: ({ count }) =>
    `${lines(count)} with more fields than the header: these are left out.`,
  nested: () => 'Objects in rows became columns or text.',
  binary: () => '',
  comments: ({ count }) => `${lines(count)} that are comments left out.`,
  datesUnread: ({ column, example }) =>
    `Days of “${column}” have two readings, such as “${example}”. They stay text until you choose one in “Days”.`,
  pointsUnsure: ({ column, example }) =>
    `Points of “${column}”, such as “${example}”, may stand between thousands. If they do, choose “1.234,5” in “Numbers”.`,
  numbers: converted,
  dates: converted,
  dateTimes: converted,
  booleans: converted,
  textColumn: (about) => `${madeText(about)} Correct them if they are to be ${about.others}.`,
  paddedNumber: (about) => `${madeText(about)} Leave it as text if they are codes.`,
  groupedNumber: (about) => `${madeText(about)} Remove the separators of thousands.`,
  decimalComma: (about) => numbersAsText(about, 'a decimal comma') + choiceOf(about),
  commasUnsure: (about) => numbersAsText(about, 'a comma') + choiceOf(about),
  longInteger: (about) =>
    `${numbersAsText(about, 'more than 15 digits')} Leave it as text if they are codes.`,
  spacedNumber: (about) => `${numbersAsText(about, 'spaces around them')} Remove them.`,
  looseNumber: (about) =>
    `${numbersAsText(about, 'a plus sign, separators of thousands or no digit beside the point')} Leave it as text if they are codes.`,
  mixedTypes: ({ column, count, values, example, line }) =>
    `“${column}” is text because of its types: ${count} of ${values} values become text, the first ${example} in line ${line}.`,
  spacedNames: ({ column, count }) =>
    `${counted(count, String(count), 'name', 'names')} of columns with a space in front or behind, the first “${column}”.`,
  rowIDs: () => '$rowID is left out: a new table gives its rows new IDs.',
}

/** What the others of a column are not. */
function madeText({ column, count, values, example, line, others }: Required<Advice>): string {
  return `“${column}” is text because of ${count} of ${values} values, the first “${example}” in line ${line}; the others are ${others}.`
}

/** What reads decimal commas, if a choice does. */
function choiceOf({ remedy }: Required<Advice>): string {
  return remedy.option === 'decimal'
    ? ' If it stands before decimals, choose “1234,5” in “Numbers”.'
    : ' Write all numbers of the column alike.'
}

function numbersAsText(
  { column, count, values, example, line }: Required<Advice>,
  what: string,
): string {
  return `“${column}” is text because ${count} of ${values} values have ${what}, the first “${example}” in line ${line}.`
}

function lines(count: number): string {
  return counted(count, String(count), 'line', 'lines')
}

function converted({ column, count, example, line }: Required<Advice>): string {
  const values = counted(count, String(count), 'value', 'values')
  return `${values} of “${column}” converted, such as “${example}” in line ${line}.`
}

/** What is said of a file without telling it from others. */
const NO_ADVICE = {
  column: '',
  line: 0,
  count: 0,
  values: 0,
  others: 'numbers',
  example: '',
  remedy: { option: 'header', value: '' },
} as const

export const TEXT = {
  /** Of numbers and ages, and of times. */
  languages: { numbers: 'en', times: 'en-GB' },
  byteUnits: ['bytes', 'kB', 'MB', 'GB', 'TB'],
  seconds: (count: number) => `${count} s`,
  minutes: (count: number) => `${count} min`,
  unknown: '–',
  titleOf: (view: string) => `${view} – rowstash`,
  needsScript: 'This page needs JavaScript.',

  tabs: { tables: 'Tables', import: 'Import', stored: 'Storage', health: 'Health' },
  views: 'Views',
  loading: 'Loading …',
  notShown: 'This cannot be shown.',
  skip: 'Skip to the content',
  tryAgain: 'Try again',
  cancel: 'Cancel',
  close: 'Close',
  yes: 'yes',
  no: 'no',

  readOnly: 'read-only',
  writable: 'writable',
  apiKey: 'API key',
  keyIs:
    'An API key is the password with which a person or a program uses this server. Whoever runs the server has it:',
  keyPlaces: [
    '“rowstash serve” prints the key that it makes, or the file that it keeps it in.',
    '“rowstash keys add” makes one more, for reading only if you like.',
  ],
  keyHelp: 'It is kept in this tab until you close it, and is sent only to this server.',
  noSuchKey:
    'The server does not know this key. Check that it is whole, with nothing in front or behind.',
  signIn: 'Show the tables',
  signOut: 'Forget the key',
  otherKey: 'Use another key',

  findTable: 'Find a table',
  noTables: 'There are no tables yet.',
  addFromFile: 'Add from a file',
  tableColumns: ['Name', 'Rows', 'Size', 'Columns', 'Changed', 'Actions'],
  moreTables: (count: number) => `Show more (${count} left)`,
  noName: 'Untitled',
  deleteTable: 'Delete',
  deleteNamed: (name: string) => `Delete the table ${name}`,
  deleteQuestion: (name: string) =>
    `Delete the table “${name}” with all its rows? This cannot be undone.`,
  deleted: (name: string) => `“${name}” was deleted.`,

  rows: (count: number, shown: string) => counted(count, shown, 'row', 'rows'),
  columns: (count: number) => counted(count, String(count), 'column', 'columns'),
  version: (version: string) => `version ${version}`,
  changed: 'changed',
  rowNumber: 'Row',
  noRows: 'No rows',
  searching: 'Searching …',
  place: (from: string, to: string, all: string) => `${from}–${to} of ${all}`,
  placeOfFirst: (from: string, to: string, all: string) =>
    `${from}–${to} of the first ${all} matches; more may follow`,
  newer: (found: string, shown: string) =>
    `The table has changed: it is now at version ${found}, and you see version ${shown}.`,
  rowsChanged: (count: number, shown: string) => `${counted(count, shown, 'row', 'rows')} changed.`,
  follow: 'Show changes at once',
  showNewer: 'Show the new version',
  rowsEnded: 'These rows are no longer read. Show the new version, or apply the filter again.',
  gridHelp:
    'Arrow keys move, with Shift they choose a block, Enter or Space opens a row. In the header, Enter sorts by a column, with Shift by one more, and Alt and an arrow key change its width.',
  arrows: { ascending: '↑', descending: '↓' },
  placeOfSorted: (from: string, to: string, all: string) =>
    `${from}–${to} of the first ${all}; there are too many rows to sort them all`,
  chosen: (rows: string, columns: string) => `${rows} × ${columns} chosen`,
  blockTooLarge: (rows: number) =>
    `At most ${rows.toLocaleString('en')} rows are copied. Download them instead.`,
  search: 'Search',
  searchHelp: 'Find rows by a text in any column',

  ...FILTER,

  columnMenu: 'Columns',
  columnsShown: 'Visible columns',
  allColumns: 'All',
  oneColumn: 'Only the first',
  copy: 'Copy',
  copyHelp: 'Copy the visible rows:',
  copyFormats: { json: 'as JSON', csv: 'as CSV', curl: 'as a curl command' },
  copied: 'Copied.',
  notCopied: 'The browser does not allow copying here.',
  copyJson: 'Copy as JSON',

  download: 'Download',
  downloadHelp: 'Download what the filter finds, in this order, with the visible columns:',
  downloadFormats: {
    csv: 'as CSV',
    tsv: 'as TSV',
    ndjson: 'as NDJSON, one row in each line',
    json: 'as JSON',
  },
  noParquet: 'As Parquet: use the command “rowstash export”; the server does not write it.',
  downloading: (bytes: string) => `Downloading … ${bytes}`,
  downloaded: (bytes: string) => `Downloaded: ${bytes}.`,
  downloadBroken: 'The connection broke off. The file was not saved.',
  downloadIsNewer: (version: string) => `The file has the newer version ${version}.`,
  downloadUnderWay: 'A download is in progress. Cancel it before you start another one.',
  tooLargeToHold:
    'This browser cannot save more than 1 GB from here. Narrow the rows by a filter, or use the command “rowstash export”.',

  rowAt: (number: string) => `Row ${number}`,
  rowBefore: 'Previous',
  rowAfter: 'Next',
  rowVersion: (version: string) => `last changed in version ${version}`,
  rowIsNewer: (version: string) =>
    `changed in version ${version}, which is newer than the rows beside it`,
  showHistory: 'Show the previous version',
  earlier: 'Show an earlier version',
  changedIn: (version: string) => `Changed in version ${version}`,
  added: (version: string) => `Added in version ${version}.`,
  noHistory: (version: string) =>
    `Version ${version} is the earliest known version of this row: the table has no older history.`,
  saveNames: 'Save the names',
  namesSaved: 'The names were saved.',
  displayNameOf: (id: string) => `Name of the column ${id}`,
  emptyCell: 'empty',
  storedFile: 'file',
  noPicture: 'The file is missing, or is no picture.',
  schema: 'Schema',
  columnName: 'Name',
  columnId: 'ID',
  columnType: 'Type',
  key: 'key',

  needsWrite: 'This store was opened read-only. Run “rowstash open --write” to import.',
  dropHere: 'Drop a file anywhere on this page',
  chooseFile: 'Choose a file',
  dropNow: 'Drop the file to import it',
  oneFile: 'One file at a time: only the first one is imported.',
  isUnderWay: 'An import is in progress. Cancel it before you start another one.',
  dropFormats: 'CSV, TSV, JSON or NDJSON, also compressed with gzip',
  format: 'Format',
  reading: 'How the file is written',
  dialect: {
    delimiter: 'Between fields',
    header: 'Header',
    numbers: 'Numbers',
    dates: 'Days',
    encoding: 'Encoding',
    nested: 'Objects in rows',
    at: 'Where the rows are, as in data.items',
  },
  delimiters: { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' },
  headers: { absent: 'none' },
  headerPresent: 'in the first line',
  lineOfHeader: (line: number) => `in line ${line}`,
  numbers: {
    '.': '1234.5',
    ',': '1234,5',
    '.,': '1,234.5',
    ',.': '1.234,5',
    '. ': '1 234.5',
    ', ': '1 234,5',
    ".'": "1'234.5",
  },
  nestedWays: { flatten: 'as columns', text: 'as text' },
  nestedRefused: 'refused',
  detected: 'detected',
  detectedAs: (value: string) => `detected: ${value}`,
  chooseFor: (example: string) => `choose: ${example}`,
  readAs: (parts: readonly string[]) => `Read as ${parts.join(', ')}.`,
  delimitedBy: (delimiter: string) => `${delimiter} between fields`,
  headerLine: (line: number | undefined) =>
    line === undefined ? 'no header' : `header in line ${line}`,
  advice: (advice: Advice) => ADVICE[advice.code]({ ...NO_ADVICE, ...advice }),
  importStopped: (message: string) =>
    `The import stopped (${message}). Open “Import” to continue it.`,
  importFailed: (message: string) => `The import failed: ${message}`,
  keyRefused:
    'The server no longer takes the key of this page: it may have been started again. Open the address that it printed, and drop the file again.',
  scopeMissing:
    'The key of this page may not do that: it was made for less. Ask for one that may write, and open this page with it.',
  fileGone: 'The file was changed, moved or deleted after you chose it. Choose it again.',
  importWaits: 'The import waits for your decision.',
  importAs: 'Import as',
  modes: {
    create: 'a new table',
    add: 'more rows of a table',
    overwrite: 'all rows of a table, replacing the old ones',
    merge: 'changes to a table, by a key column',
  },
  tableName: 'Name of the table',
  table: 'Table',
  mergeKey: 'Key column',
  misfits: 'Values that do not fit',
  onSchemaError: {
    abort: 'stop the import',
    dropColumns: 'leave their cells empty',
    updateSchema: 'change the columns to fit them',
  },
  sample: 'The first rows, with the types that their columns will get',
  beginImport: 'Import',
  progress: 'Progress of the import',
  underWay: (now: Readonly<Record<'rows' | 'bytes' | 'all' | 'rate' | 'speed' | 'left', string>>) =>
    `${now.rows} rows · ${now.bytes} of ${now.all} · ${now.rate} rows/s, ${now.speed}/s · ${now.left} left`,
  checking: (rows: number) =>
    `Checking all ${counted(rows, rows.toLocaleString('en'), 'row', 'rows')} …`,
  committing: 'Committing …',
  problems: (count: string) => `Values that do not fit: ${count}`,
  nothingImported: 'Nothing has been imported yet.',
  problemList: 'By column and rule',
  problemsOfSample: 'By column and rule, in the first rows of the file',
  problemsOfFirst: (count: string) => `By column and rule, of the first ${count}`,
  problemColumns: ['Column', 'Takes', 'Values', 'The first ones'],
  /** What a server says of a column, where the page says it otherwise. */
  rules: {
    'a finite number': 'a number',
    'a finite number as JSON writes it': 'a number such as 1234.5',
    'text, a number, a boolean or an array: no column holds objects':
      'no objects: choose what becomes of them in “Objects in rows”',
  },
  mustBe: (rule: string) => `Must be ${rule}`,
  row: (row: string) => `row ${row}`,
  line: (line: number) => `line ${line}`,
  misfitsHelp:
    'Correct the file and drop it again, or change the import and choose what happens to “Values that do not fit”.',
  lacksColumns: (columns: readonly string[]) =>
    `The table has no column ${columns.map((column) => `“${column}”`).join(', ')}.`,
  addAsText: 'Add as text',
  columnsWereAdded: (count: number) =>
    `${counted(count, String(count), 'column was', 'columns were')} added.`,
  checkingAgain: 'Checking again …',
  importAnyway: 'Import anyway',
  merge: 'Merge',
  wouldMerge: (counts: string) => `The merge will make these changes, in rows: ${counts}.`,
  changeImport: 'Change the import',
  cancelled: 'Cancelled. Nothing was changed.',
  goOn: 'Continue',
  goOnHelp:
    'The rows already sent are kept for 48 hours. Continue here, or drop the same file again. If rowstash was restarted, first open the address that it printed.',
  beginAnew: 'Start over',
  begun: (rows: string, age: string, end: string) =>
    `An import of this file was started ${age} and not completed. ${rows} rows are staged until ${end}; the import continues with them.`,
  retrying: 'The server does not answer. Trying again …',
  imported: 'The import is complete.',
  showTable: 'Show the table',
  rowsImported: 'Rows of the file',
  versionName: 'Version of the table',
  mergeCounts: (counts: Readonly<Record<'added' | 'changed' | 'unchanged' | 'removed', number>>) =>
    `${counts.added} added, ${counts.changed} changed, ${counts.unchanged} unchanged, ${counts.removed} removed`,
  columnsAdded: 'New columns',
  columnsChanged: 'Columns with a new type',
  cellsDropped: 'Cells left empty',

  files: 'Files',
  filesHelp:
    'A file is kept while a row contains its URL. An unused file is deleted some time after the day shown.',
  fileColumns: ['Name', 'Type', 'Size', 'Stored', 'Kept unused until'],
  stashes: 'Staged rows',
  stashesHelp: 'Rows of unfinished imports, such as those whose tab was closed.',
  stashColumns: ['Name', 'Rows', 'Size', 'Begun', 'Ends'],
  uploads: 'Open uploads',
  uploadsHelp: 'Files whose upload has begun and is not complete.',
  uploadColumns: ['Name', 'Type', 'Size', 'Begun', 'Ends'],
  jobs: 'Jobs',
  jobsHelp: 'Background operations. They are listed for 7 days after they end.',
  jobColumns: ['Operation', 'Table', 'State', 'Begun'],
  jobStates: { running: 'running', succeeded: 'done', failed: 'failed' } as Readonly<
    Record<string, string>
  >,
  nothingThere: 'None.',
  moreFiles: 'Show more',
  actions: 'Actions',
  deleteStored: (name: string) => `Delete ${name}`,
  forgetQuestion: (name: string) => `Delete “${name}”? This cannot be undone.`,
  preview: 'Preview',
  previewOf: (name: string) => `Preview of ${name}`,
  noPreview: 'This type has no preview. The link downloads the file.',
  openFile: 'Open the file',
  notRead: (status: number) => `The server answered with status ${status}.`,
  cutAt: (bytes: string) => `The first ${bytes}:`,

  adminKey: 'Admin key',
  adminKeyHelp:
    'Metrics and verification need an admin key of the server. The key is kept until you leave this page.',
  showHealth: 'Show',
  plots: {
    requests: 'Requests',
    median: 'Median response time',
    slowest: '95th percentile of response time',
    rowsIn: 'Rows in',
    rowsOut: 'Rows out',
    commits: 'Commits',
    written: 'Written',
    memory: 'Memory of the process',
    caches: 'Caches',
  },
  highest: (value: string) => `highest ${value}`,
  periods: { day: 'The last day', now: 'The last 4 minutes' },
  period: 'Period',
  plotBegin: { day: '24 h ago', now: '4 min ago' },
  plotEnd: 'now',
  perSecond: (value: string) => `${value}/s`,
  within: (milliseconds: string) => `≤ ${milliseconds} ms`,
  beyond: '> 10 s',
  allWell: 'Nothing is wrong: the store accepts changes, and no request failed in the last day.',
  allWellNow: 'Nothing is wrong: the store accepts changes.',
  notWritable: 'The store accepts no changes: its disk is full, or a write has failed.',
  waitForMemory: (count: string) => `Requests that wait for memory: ${count}.`,
  requestsFailed: (count: string, age: string) =>
    `Requests that the server could not answer in the last day: ${count}, the last of them ${age}.`,
  state: 'The server',
  accepts: 'The disk accepts writes',
  jobsRunning: 'Running jobs',
  runsSince: 'Started',
  disk: 'On disk',
  held: { rows: 'Rows of tables', stashes: 'Staged rows', files: 'Files', uploads: 'Open uploads' },
  maintenance: 'Last maintenance',
  maintenanceKinds: {
    garbageCollection: 'Garbage collection',
    compaction: 'Compaction',
    recompression: 'Recompression',
    backup: 'Backup',
  },
  notYet: 'none since the start',
  noMaintenance: 'A store that was opened read-only does no background work.',
  verify: 'Verify the store',
  verifyHelp: 'Reads the stored data and checks it. The full check reads every byte.',
  verifyQuick: 'Verify the records',
  verifyFull: 'Verify everything',
  verifying: (seconds: number, checked: string) =>
    `Verifying for ${seconds} s … ${checked === '' ? '' : `So far: ${checked}`}`,
  checked: (tables: Amount, rows: Amount, files: Amount, bytes: string) =>
    [
      counted(...tables, 'table', 'tables'),
      counted(...rows, 'row', 'rows'),
      counted(...files, 'file', 'files'),
      `${bytes} read`,
    ].join(', '),
  checkedAll: (amounts: string) => `Checked: ${amounts}.`,
  verifyCancelled: 'The verification was cancelled.',
  severities: { damage: 'Damage:', information: 'Superfluous:' },
  verified: (isOk: boolean, count: string) =>
    isOk ? 'No damage was found.' : `Damage found: ${count}.`,
} as const
