// The names of a table and of its columns, to be changed. IDs and types stay as they are.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { Api, TableInfo } from '../base/api.js'
import { el, setText, start } from '../base/dom.js'
import { TEXT } from '../base/texts.js'

/**
 * @param infoOf - The table as it is shown, which may come to a later version with the same names.
 * @param inputs - The display name of each column, in the order of the columns.
 */
export function nameForm(
  api: Api,
  infoOf: () => TableInfo,
  inputs: readonly HTMLInputElement[],
  table: HTMLElement,
  onSaved: () => void,
): HTMLElement {
  const given = el('input', {
    id: 'table-name',
    value: infoOf().name,
    required: true,
    maxlength: 1_000,
  })
  const problem = el('p', { class: 'problem', role: 'alert' })
  const save = el('button', { type: 'submit', class: 'primary' }, TEXT.saveNames)
  const form = el(
    'form',
    { class: 'names' },
    el('label', { for: 'table-name' }, TEXT.tableName),
    given,
    table,
    problem,
    el('div', { class: 'actions' }, save),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const { id, schema, version } = infoOf()
    const columns = schema.columns.map(({ displayName: _, ...column }, at) => {
      const shown = inputs[at]?.value.trim() ?? ''
      return { ...column, ...(shown !== '' && shown !== column.id && { displayName: shown }) }
    })
    const change = { name: given.value.trim(), schema: { columns } }
    start(api.alter(id, version, change).then(onSaved), (failure) => {
      setText(problem, messageOf(failure))
    })
  })
  return form
}
