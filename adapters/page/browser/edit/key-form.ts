// A form that sets or removes the key of a table.
import type { Api, TableInfo } from '../base/api.js'
import { button, el, setDisabled, setText, start } from '../base/dom.js'
import { wordsOf } from '../base/failure-words.js'
import * as SCHEMA from '../base/schema-texts.js'

export type SchemaTable = Readonly<{
  api: Api
  /** The table in the shown version. */
  info: () => TableInfo
  /** Must show the table with its new columns. */
  onSaved: (message: string) => void
}>

/** @param isDirty - Whether there are unsaved changes, which would be lost. */
export function keyForm({ api, info, onSaved }: SchemaTable, isDirty: () => boolean): HTMLElement {
  const { id: tableId, key = [], schema } = info()
  const columns = schema.columns.filter(({ type }) => type.kind !== 'array')
  const nameOf = (id: string): string =>
    columns.find((column) => column.id === id)?.displayName ?? id
  const boxes = columns.map(({ id }) =>
    el('input', { type: 'checkbox', value: id, checked: key.includes(id) }),
  )
  const problem = el('p', { class: 'problem', role: 'alert' })
  const chosen = (): readonly string[] =>
    boxes.filter(({ checked }) => checked).map(({ value }) => value)
  const send = (wanted: readonly string[] | null): void => {
    setText(problem, isDirty() ? SCHEMA.saveFirst : '')
    if (isDirty()) return
    setDisabled(true, set, remove)
    const saved = api.setKey(tableId, wanted).then(() => onSaved(SCHEMA.keySaved))
    start(saved, (failure) => {
      setDisabled(false, set, remove)
      setText(problem, wordsOf(failure))
    })
  }
  const set = button(SCHEMA.setKey, () => send(chosen()))
  const remove = button(SCHEMA.removeKey, () => send(null))
  const draw = (): void => {
    const ids = chosen()
    const isSame = ids.length === key.length && ids.every((id) => key.includes(id))
    setDisabled(ids.length === 0 || isSame, set)
  }
  draw()
  const items = columns.map(({ id }, at) => el('label', { class: 'check' }, boxes[at], nameOf(id)))
  // The choice is no unsaved change of the columns: only the buttons below save it.
  const list = el('fieldset', { oninput: draw }, el('legend', {}, SCHEMA.keyHelp), ...items)
  return el(
    'details',
    { class: 'keyForm' },
    el('summary', {}, SCHEMA.key(key.map(nameOf))),
    list,
    problem,
    el('div', { class: 'actions' }, set, key.length > 0 ? remove : null),
  )
}
