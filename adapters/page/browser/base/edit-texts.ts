// The texts for changes of a table.
import { counted } from './counted.js'
import { shownCount } from './show.js'

/** "1 row", "2,000 rows". */
export function some(count: number, one: string, many: string): string {
  return counted(count, shownCount(count), one, many)
}

export const help =
  'Arrow keys move. Shift+arrow chooses a block. Enter or F2 edits a cell. Space opens the row. Delete empties the chosen cells. Control+Delete deletes their rows. Control+Z undoes.'
export const cellOf = (column: string, row: string) => `${column}, row ${row}`
export const mustBe = (rule: string, isMaybe: boolean) =>
  `Must be ${rule}.${isMaybe ? ' Press Enter again to send it anyway.' : ''}`
export const rules = {
  number: 'a number, such as 1234.50',
  boolean: 'true or false',
  date: 'a day, such as 2031-02-03',
  time: 'a time of day, such as 14:30',
  dateTime: 'a day and a time, such as 2031-02-03T14:30',
  duration: 'a duration, such as PT1H30M or 1:30:00',
  emailAddress: 'an e-mail address',
  phoneNumber: 'a phone number',
  uri: 'an address, such as https:…',
  imageURI: 'the address of an image, such as https:…/a.png',
  audioURI: 'the address of a sound, such as https:…/a.mp3',
  array: 'a list in JSON, or one value in each line',
} as const
export const listHelp = 'One value in each line. Shift+Enter begins a new line.'
export const state = {
  pending: 'is being saved',
  saved: 'saved',
  conflict: 'conflict',
  failed: 'not saved',
} as const
export const saving = 'Saving …'
export const saved = 'Saved'
export const notSaved = (count: number) => `${some(count, 'change', 'changes')} not saved`
export const tools = 'Changes'
export const undo = 'Undo'
export const redo = 'Redo'
export const addRow = 'Add row'
export const deleteRows = 'Delete rows'
export const rowAdded = 'A row was added.'
export const rowsDeleted = (count: number) => `${some(count, 'row was', 'rows were')} deleted.`
export const rowsBack = (count: number) =>
  `${some(count, 'row was', 'rows were')} restored at the end of the table.`
export const nothingToUndo = 'There is nothing to undo.'
export const undone = 'Undone.'
export const redone = 'Redone.'
export const problems = 'Changes that were not saved'
export const conflict = 'Someone else has changed this cell meanwhile.'
export const rowGone = 'Someone else has deleted this row meanwhile.'
export const theirs = 'Theirs'
export const mine = 'Yours'
export const empty = 'empty'
export const emptyCell = (column: string) => `Empty ${column}`
export const takeTheirs = 'Keep theirs'
export const takeMine = 'Use yours'
export const retry = 'Try again'
export const discard = 'Discard yours'
export const discardAll = 'Discard all'
export const rowsMax = (count: number) => `At most ${some(count, 'row', 'rows')} at a time.`
export const paste = 'Paste'
export const pasteTooLong = (count: number) =>
  `${some(count, 'row', 'rows')} would lie below the last row of the table. Add rows first.`
export const pasteTooWide = (count: number) =>
  `${some(count, 'column', 'columns')} would lie beside the last column.`
export const misfits = (count: number) => `${some(count, 'value does', 'values do')} not fit:`
export const pasteRest = 'Paste the others'
export const cancel = 'Cancel'
export const pasted = (count: number) => `${some(count, 'cell', 'cells')} pasted.`
export const chooseFile = 'Choose a file …'
export const uploading = (name: string) => `Uploading ${name} …`
export const fileHelp = 'Or drop a file on the cell. Alt+Down chooses a file.'

const OPERATIONS: Readonly<Record<string, string>> = {
  create: 'Created',
  add: 'Rows added',
  overwrite: 'All rows replaced',
  merge: 'Merged by key',
  update: 'Rows changed',
  delete: 'Rows deleted',
  alter: 'Columns or name changed',
  transaction: 'Several changes',
}

export const PAST = {
  title: 'History',
  show: 'Show the changes of the table',
  none: 'No earlier changes are kept.',
  operation: (name: string, version: string) => `${OPERATIONS[name] ?? name} · version ${version}`,
  counts: (added: number, changed: number, removed: number) =>
    [
      added > 0 ? `${shownCount(added)} added` : '',
      changed > 0 ? `${shownCount(changed)} changed` : '',
      removed > 0 ? `${shownCount(removed)} removed` : '',
    ]
      .filter((text) => text !== '')
      .join(', '),
  asOf: 'Show the rows of this version',
  rowsAt: (version: string, time: string) => `Rows as of version ${version}, ${time}`,
  first: (count: number) => `The first ${count} rows.`,
  close: 'Close',
} as const
