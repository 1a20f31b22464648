// The texts of what changes the columns of a table.
import { some } from './edit-texts.js'

export const changes = { rename: 'Rename', convert: 'Change the type', drop: 'Delete' } as const
export const columns = 'Columns'
export const nameOf = (id: string) => `Name of the column ${id}`
export const up = (name: string) => `Move ${name} up`
export const down = (name: string) => `Move ${name} down`
export const moved = (name: string, at: number, of: number) => `${name} is column ${at} of ${of}.`
export const remove = (name: string) => `Delete the column ${name}`
export const keep = 'Keep'
export const keepNamed = (name: string) => `Keep the column ${name}`
export const counting = 'Will be deleted. Its values are being counted …'
export const loses = (count: number) => `Will be deleted with ${some(count, 'value', 'values')}.`
export const losesAll = 'Will be deleted with all its values.'
export const question = (names: readonly string[], values: number | undefined) =>
  `Delete the ${names.length === 1 ? 'column' : 'columns'} ${names.map((name) => `“${name}”`).join(', ')} with ${values === undefined ? 'all values' : some(values, 'value', 'values')}? This cannot be undone.`
export const isNew = 'new'
export const newName = 'New column'
export const newKind = 'Type'
export const convert = (name: string) => `Change the type of ${name}`
export const checking = 'Checking all values …'
export const fits = (rows: number) => `All values of ${some(rows, 'row', 'rows')} fit.`
export const misfits = (count: number) =>
  `${some(count, 'value does', 'values do')} not fit. Correct them first, or choose another type.`
export const misfit = (row: string, value: string, rule: string) =>
  `Row ${row}: ${value} is not ${rule}.`
export const words = 'Words'
export const wordsAre = (yes: string, no: string) => `“${yes}” is true, “${no}” is false`
export const convertNow = 'Change the type'
export const converting = 'Changing …'
export const converted = 'The type was changed.'
export const saveFirst = 'Save or discard the other changes first.'
export const add = 'Add'
export const noName = 'Give the new column a name.'
export const isThere = (name: string) => `The column ${name} exists already.`
export const save = 'Save'
export const saving = 'Saving …'
export const discard = 'Discard'
export const saved = 'The columns were saved.'
/** Says which changes are not yet saved. */
export const draft = (added: number, deleted: number, renamed: number, isMoved: boolean) =>
  [
    added > 0 ? `${added} added` : '',
    deleted > 0 ? `${deleted} deleted` : '',
    renamed > 0 ? `${renamed} renamed` : '',
    isMoved ? 'another order' : '',
  ]
    .filter((text) => text !== '')
    .join(', ')
export const notSaved = (changes: string) => `Not saved: ${changes}.`
export const changed =
  'Someone else has changed these columns meanwhile. Show them as they are now, and make your changes again.'
export const showNow = 'Show them'
export const key = (names: readonly string[]) =>
  `Key: ${names.length === 0 ? 'none' : names.join(', ')}`
export const keyHelp = 'No two rows may have the same values in all columns of the key.'
export const setKey = 'Set the key'
export const removeKey = 'Remove the key'
export const keySaved = 'The key was saved.'
