// The texts of what changes a table.
import { counted } from './counted.js'
import { shownCount } from './show.js'

/** "1 row", "2,000 rows". */
export function some(count: number, one: string, many: string): string {
  return counted(count, shownCount(count), one, many)
}

export const EDIT = {
  help: 'Arrow keys move, with Shift they choose a block, Enter or F2 edits a cell, Space opens the row, Delete empties the chosen cells, with Control it deletes their rows, Control and Z undoes. In the header, Enter sorts by a column, with Shift by one more, and Alt and an arrow key change its width.',
  cellOf: (column: string, row: string) => `${column}, row ${row}`,
  mustBe: (rule: string, isMaybe: boolean) =>
    `Must be ${rule}.${isMaybe ? ' Enter once more sends it all the same.' : ''}`,
  rules: {
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
  },
  listHelp: 'One value in each line. Shift and Enter begin a new line.',
  state: { pending: 'is being saved', saved: 'saved', conflict: 'conflict', failed: 'not saved' },
  saving: 'Saving …',
  saved: 'Saved',
  notSaved: (count: number) => `${some(count, 'change', 'changes')} not saved`,
  tools: 'Changes',
  undo: 'Undo',
  redo: 'Redo',
  addRow: 'Add row',
  deleteRows: 'Delete rows',
  rowAdded: 'A row was added.',
  rowsDeleted: (count: number) => `${some(count, 'row was', 'rows were')} deleted.`,
  rowsBack: (count: number) =>
    `${some(count, 'row is', 'rows are')} back, at the end of the table.`,
  nothingToUndo: 'There is nothing to undo.',
  undone: 'Undone.',
  redone: 'Done again.',
  problems: 'Changes that were not saved',
  conflict: 'Someone else has changed this cell meanwhile.',
  rowGone: 'Someone else has deleted this row meanwhile.',
  theirs: 'Theirs',
  mine: 'Yours',
  empty: 'empty',
  takeTheirs: 'Keep theirs',
  takeMine: 'Use yours',
  retry: 'Try again',
  discard: 'Discard yours',
  discardAll: 'Discard all of yours',
  rowsMax: (count: number) => `At most ${some(count, 'row', 'rows')} at a time.`,
  paste: 'Paste',
  pasteTooLong: (count: number) =>
    `${some(count, 'row', 'rows')} would lie below the last row of the table. Add rows first.`,
  pasteTooWide: (count: number) =>
    `${some(count, 'column', 'columns')} would lie beside the last column.`,
  misfits: (count: number) => `${some(count, 'value does', 'values do')} not fit:`,
  pasteRest: 'Paste the others',
  cancel: 'Cancel',
  pasted: (count: number) => `${some(count, 'cell', 'cells')} pasted.`,
  chooseFile: 'Choose a file …',
  uploading: (name: string) => `Uploading ${name} …`,
  fileHelp: 'Or drop a file on the cell. Alt and the down arrow choose one.',
} as const

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
  none: 'The table keeps no changes from before.',
  operation: (name: string, version: string) => `${OPERATIONS[name] ?? name} · version ${version}`,
  counts: (added: number, changed: number, removed: number) =>
    [
      added > 0 ? `${shownCount(added)} added` : '',
      changed > 0 ? `${shownCount(changed)} changed` : '',
      removed > 0 ? `${shownCount(removed)} removed` : '',
    ]
      .filter((text) => text !== '')
      .join(', '),
  asOf: 'Show the rows of then',
  rowsAt: (version: string, time: string) => `Rows as of version ${version}, ${time}`,
  first: (count: number) => `The first ${count} rows.`,
  close: 'Close',
} as const
