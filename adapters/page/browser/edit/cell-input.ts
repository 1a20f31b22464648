// An input that suits the kind of a cell's column.
import type { ColumnType } from '../base/api.js'
import { el } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { isUriKind } from '../grid/cells.js'
import { textOfCell } from './cell-text.js'

export type CellInput = Readonly<{
  control: HTMLInputElement | HTMLTextAreaElement
  /** A hint for the person. */
  help: string | undefined
  text: () => string
}>

const TYPES: Readonly<Record<string, string>> = {
  emailAddress: 'email',
  phoneNumber: 'tel',
  uri: 'url',
  imageURI: 'url',
  audioURI: 'url',
}

/** @param value - The initial value. */
export function cellInput(type: ColumnType, value: unknown, label: string): CellInput {
  const { kind, items } = type
  const first = textOfCell(value, type)
  const attributes = { 'aria-label': label, autocomplete: 'off', spellcheck: 'false' }
  if (kind === 'boolean') {
    const isOn = { checked: value === true }
    const control = el('input', { ...attributes, type: 'checkbox', role: 'switch', ...isOn })
    return { control, help: undefined, text: () => String(control.checked) }
  }
  if (items !== undefined || kind === 'string' || kind === 'markdown') {
    const control = el('textarea', { ...attributes, rows: Math.min(8, first.split('\n').length) })
    control.value = first
    const help = items === undefined ? undefined : EDIT.listHelp
    return { control, help, text: () => control.value }
  }
  const isNumber = kind === 'number'
  const control = el('input', {
    ...attributes,
    type: kind === 'date' ? 'date' : (TYPES[kind] ?? 'text'),
    inputmode: isNumber ? 'decimal' : undefined,
    class: isNumber ? 'number' : undefined,
  })
  control.value = first
  if (control.value !== first) control.type = 'text' // a day that no browser's calendar has
  control.value = first
  const help = isUriKind(kind) ? EDIT.fileHelp : undefined
  return { control, help, text: () => control.value }
}
