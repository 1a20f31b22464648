// The target of a file: a new table, or a change of one.
import type { OnSchemaError } from '../../../../src/client/import-types.js'
import type { Api, TableName } from '../base/api.js'
import { el, fill, labeledField, start } from '../base/dom.js'
import * as TEXT from '../base/texts.js'
import type { Target } from './import-run.js'

type Given = Readonly<{ name: string; tables: readonly TableName[]; tableId: string }>

export class TargetForm {
  readonly element: HTMLElement
  readonly #api: Api
  readonly #mode = makeSelect('mode', TEXT.modes)
  readonly #name = el('input', { id: 'name', autocomplete: 'off' })
  readonly #table: HTMLSelectElement
  readonly #key = el('select', { id: 'merge-key' })
  /** The key of the table, which may be known before the file's columns are. */
  #keyOfTable: string | undefined
  readonly #misfits = makeSelect('misfits', TEXT.onSchemaError)
  readonly #fields: Readonly<Record<'name' | 'table' | 'key', HTMLElement>>
  readonly #fail: (failure: unknown) => void

  constructor(api: Api, given: Given, fail: (failure: unknown) => void, onChange: () => void) {
    this.#api = api
    this.#fail = fail
    const options = given.tables.map(({ id, name }) => el('option', { value: id }, name))
    this.#table = el('select', { id: 'table' }, ...options)
    this.#name.value = given.name
    if (given.tableId !== '') {
      this.#table.value = given.tableId
      this.#mode.value = 'add'
    }
    if (given.tables.length === 0) this.#mode.disabled = true
    this.#fields = {
      name: labeledField(TEXT.tableName, this.#name),
      table: labeledField(TEXT.table, this.#table),
      key: labeledField(TEXT.mergeKey, this.#key),
    }
    this.element = el(
      'div',
      { class: 'fields' },
      labeledField(TEXT.importAs, this.#mode),
      this.#fields.name,
      this.#fields.table,
      this.#fields.key,
      labeledField(TEXT.misfits, this.#misfits),
    )
    this.element.addEventListener('change', () => {
      this.#show()
      onChange()
    })
    this.#table.addEventListener('change', () => this.#takeKey())
    this.#show()
    this.#takeKey()
  }

  /** The target. undefined: a part of the form is not filled in. */
  get target(): Target | undefined {
    const mode = this.#mode.value
    const tableId = this.#table.value
    if (mode === 'create') return { mode, name: this.#name.value.trim() || TEXT.noName }
    if (tableId === '') return undefined
    if (mode !== 'merge') return { mode: mode === 'add' ? 'add' : 'overwrite', tableId }
    return this.#key.value === '' ? undefined : { mode, tableId, key: [this.#key.value] }
  }

  get onSchemaError(): OnSchemaError {
    return this.#misfits.value as OnSchemaError
  }

  /** The name of the changed table. */
  get tableName(): string {
    return this.#table.selectedOptions[0]?.textContent ?? ''
  }

  /** Offers the columns of the file as keys of a merge. */
  offerKeys(columns: readonly string[]): void {
    const chosen = this.#key.value || this.#keyOfTable
    fill(this.#key, ...columns.map((id) => el('option', { value: id }, id)))
    if (chosen !== undefined && columns.includes(chosen)) this.#key.value = chosen
  }

  #show(): void {
    const mode = this.#mode.value
    this.#fields.name.hidden = mode !== 'create'
    this.#fields.table.hidden = mode === 'create'
    this.#fields.key.hidden = mode !== 'merge'
  }

  /** Finds the key of the chosen table: a merge into the table must use it. */
  #takeKey(): void {
    const tableId = this.#table.value
    this.#keyOfTable = undefined
    if (tableId === '') return
    const asked = this.#api.info(tableId).then(({ key: [column] = [] }) => {
      if (column === undefined || tableId !== this.#table.value) return
      this.#keyOfTable = column
      const isOffered = [...this.#key.options].some(({ value }) => value === column)
      if (isOffered) this.#key.value = column
    })
    start(asked, this.#fail)
  }
}

function makeSelect(id: string, names: Readonly<Record<string, string>>): HTMLSelectElement {
  const options = Object.entries(names).map(([value, name]) => el('option', { value }, name))
  return el('select', { id }, ...options)
}
