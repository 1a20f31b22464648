// The texts of what changes the columns of a table.
import { some } from './edit-texts.js'

export const SCHEMA = {
  columns: 'Columns',
  nameOf: (id: string) => `Name of the column ${id}`,
  up: (name: string) => `Move ${name} up`,
  down: (name: string) => `Move ${name} down`,
  moved: (name: string, at: number, of: number) => `${name} is column ${at} of ${of}.`,
  remove: (name: string) => `Delete the column ${name}`,
  keep: 'Keep',
  keepNamed: (name: string) => `Keep the column ${name}`,
  counting: 'Will be deleted. Its values are being counted …',
  loses: (count: number) => `Will be deleted with ${some(count, 'value', 'values')}.`,
  losesAll: 'Will be deleted with all its values.',
  question: (names: readonly string[], values: number | undefined) =>
    `Delete the ${names.length === 1 ? 'column' : 'columns'} ${names.map((name) => `“${name}”`).join(', ')} with ${values === undefined ? 'all values' : some(values, 'value', 'values')}? This cannot be undone.`,
  isNew: 'new',
  newName: 'New column',
  newKind: 'Type',
  convert: (name: string) => `Change the type of ${name}`,
  checking: 'Checking all values …',
  fits: (rows: number) => `All values of ${some(rows, 'row', 'rows')} fit.`,
  misfits: (count: number) =>
    `${some(count, 'value does', 'values do')} not fit. Correct them first, or choose another type.`,
  misfit: (row: string, value: string, rule: string) => `Row ${row}: ${value} is not ${rule}.`,
  convertNow: 'Change the type',
  converting: 'Changing …',
  converted: 'The type was changed.',
  saveFirst: 'Save or discard the other changes first.',
  add: 'Add',
  noName: 'Give the new column a name.',
  isThere: (name: string) => `There is a column ${name} already.`,
  save: 'Save',
  saving: 'Saving …',
  discard: 'Discard',
  saved: 'The columns were saved.',
  /** What would be saved. */
  draft: (added: number, deleted: number, renamed: number, isMoved: boolean) =>
    [
      added > 0 ? `${added} added` : '',
      deleted > 0 ? `${deleted} deleted` : '',
      renamed > 0 ? `${renamed} renamed` : '',
      isMoved ? 'another order' : '',
    ]
      .filter((text) => text !== '')
      .join(', '),
  notSaved: (changes: string) => `Not saved: ${changes}.`,
  changed:
    'Someone else has changed these columns meanwhile. Show them as they are now, and make your changes again.',
  showNow: 'Show them',
  key: (names: readonly string[]) => `Key: ${names.length === 0 ? 'none' : names.join(', ')}`,
  keyHelp: 'No two rows may have the same values in all columns of the key.',
  setKey: 'Set the key',
  removeKey: 'Remove the key',
  keySaved: 'The key was saved.',
} as const
