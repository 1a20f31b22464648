// The columns of a table: a person adds, renames, moves and deletes them, and saves everything in one commit.
import { ClientError } from '../../../../src/client/client-error.js'
import type { Column, TableInfo } from '../base/api.js'
import { confirmDeletion } from '../base/confirm.js'
import {
  button,
  el,
  fill,
  labeledField,
  setAttributes,
  setDisabled,
  setText,
  start,
} from '../base/dom.js'
import { wordsOf } from '../base/failure-words.js'
import * as SCHEMA from '../base/schema-texts.js'
import * as TEXT from '../base/texts.js'
import { shownType } from '../grid/cells.js'
import { askConversion } from './convert-dialog.js'
import { keyForm, type SchemaTable } from './key-form.js'
import { chosenType, kindSelect } from './kind-select.js'

type Item = {
  readonly column: Column
  readonly isNew: boolean
  readonly element: HTMLElement
  readonly input: HTMLInputElement
  isDropped: boolean
  /** The number of values in the column. undefined: not yet known. */
  values: number | undefined
}

/** How many times a change of the schema is repeated at most, if rows were changed meanwhile. */
const TRIES_MAX = 8

export class SchemaEditor {
  readonly element: HTMLFormElement
  readonly #table: SchemaTable
  /** The table as it was when the form was made: its unsaved changes are relative to it. */
  readonly #seen: TableInfo
  readonly #name: HTMLInputElement
  readonly #list = el('ol', { class: 'columnList' })
  readonly #newName = el('input', { id: 'new-column', autocomplete: 'off' })
  readonly #newKind = kindSelect('new-kind')
  readonly #said = el('p', { class: 'muted', role: 'status' })
  readonly #problem = el('p', { class: 'problem', role: 'alert' })
  readonly #save = el('button', { type: 'submit', class: 'primary' }, SCHEMA.save)
  readonly #discard = button(SCHEMA.discard, () => this.#restore())
  #items: Item[] = []
  #isSaving = false

  constructor(table: SchemaTable) {
    this.#table = table
    this.#seen = table.info()
    const { name } = this.#seen
    const limits = { required: true, maxlength: 1_000 }
    this.#name = el('input', { id: 'table-name', value: name, ...limits })
    this.#newName.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return
      event.preventDefault() // Enter would submit the form, which saves the schema.
      this.#add()
    })
    this.element = el(
      'form',
      { class: 'names', oninput: () => this.#say(), onsubmit: (event) => this.#submit(event) },
      el('label', { for: 'table-name' }, TEXT.tableName),
      this.#name,
      el('h3', {}, SCHEMA.columns),
      this.#list,
      el(
        'div',
        { class: 'fields' },
        labeledField(SCHEMA.newName, this.#newName),
        labeledField(SCHEMA.newKind, this.#newKind),
        button(SCHEMA.add, () => this.#add()),
      ),
      el(
        'div',
        { class: 'saveBar' },
        this.#said,
        this.#problem,
        el('div', { class: 'actions' }, this.#save, this.#discard),
      ),
      keyForm(table, () => this.isDirty),
    )
    this.#restore()
  }

  /** Begins a change of a column. */
  change(id: string, what: keyof typeof SCHEMA.changes): void {
    const item = this.#items.find(({ column }) => column.id === id)
    if (item === undefined) return
    if (what === 'drop' && !item.isDropped) this.#drop(item)
    else item.input.focus()
    if (what === 'convert') this.#convert(item.column)
  }

  /** Whether something is unsaved. */
  get isDirty(): boolean {
    return this.#summary() !== '' || this.#name.value.trim() !== this.#seen.name
  }

  #restore(): void {
    const { name, schema } = this.#seen
    this.#name.value = name
    this.#items = schema.columns.map((column) => this.#item(column, false))
    setText(this.#problem, '')
    this.#draw()
  }

  #item(column: Column, isNew: boolean): Item {
    const { id, displayName = id, type } = column
    const input = el('input', { value: displayName, 'aria-label': SCHEMA.nameOf(id) })
    const element = el('li', { onkeydown: (event) => this.#keyDown(item, event as KeyboardEvent) })
    const item: Item = { column, isNew, element, input, isDropped: false, values: undefined }
    const kind = isNew
      ? [` ${shownType(type)}`, el('span', { class: 'badge' }, SCHEMA.isNew)]
      : [button(shownType(type), () => this.#convert(column), { title: SCHEMA.convert(id) })]
    const about = el('span', { class: 'muted' }, el('code', {}, id), ...kind)
    element.append(input, el('span', { class: 'actions' }), about)
    return item
  }

  #draw(said = ''): void {
    for (const [at, item] of this.#items.entries()) this.#drawItem(item, at)
    fill(this.#list, ...this.#items.map(({ element }) => element))
    this.#say(said)
  }

  #drawItem(item: Item, at: number): void {
    const { element, input, isDropped } = item
    const name = shownName(item)
    const icon = (text: string, label: string, onClick: () => void, isOff = false) => {
      const made = button(text, onClick, { class: 'plain', 'aria-label': label, title: label })
      setDisabled(isOff, made)
      return made
    }
    element.classList.toggle('dropped', isDropped)
    setAttributes(input, { disabled: isDropped })
    const move = (by: number) => () => this.#move(item, by)
    const buttons = isDropped
      ? [button(SCHEMA.keep, () => this.#drop(item), { 'aria-label': SCHEMA.keepNamed(name) })]
      : [
          icon('↑', SCHEMA.up(name), move(-1), at === 0),
          icon('↓', SCHEMA.down(name), move(1), at === this.#items.length - 1),
          icon('×', SCHEMA.remove(name), () => this.#drop(item)),
        ]
    const [, actions, about] = element.children
    if (actions !== undefined) fill(actions, ...buttons)
    about?.querySelector('em')?.remove()
    if (isDropped) about?.append(el('em', {}, ` ${lossOf(item)}`))
  }

  #keyDown(item: Item, event: KeyboardEvent): void {
    if (!event.altKey || !/^Arrow(?:Up|Down)$/.test(event.key)) return
    event.preventDefault()
    this.#move(item, event.key === 'ArrowUp' ? -1 : 1)
  }

  /** Moves a column by one place. The focus stays in it. */
  #move(item: Item, by: number): void {
    const from = this.#items.indexOf(item)
    const to = from + by
    if (to < 0 || to >= this.#items.length) return
    const all = [...item.element.querySelectorAll<HTMLElement>('input, button')]
    const focused = all.indexOf(document.activeElement as HTMLElement)
    this.#items.splice(from, 1)
    this.#items.splice(to, 0, item)
    this.#draw(SCHEMA.moved(shownName(item), to + 1, this.#items.length))
    item.element.querySelectorAll<HTMLElement>('input, button')[focused]?.focus()
  }

  #drop(item: Item): void {
    const { column, isNew, isDropped } = item
    if (isNew) {
      this.#items = this.#items.filter((other) => other !== item)
      this.#draw()
      this.#newName.focus()
      return
    }
    item.isDropped = !isDropped
    this.#draw()
    item.element.querySelector('button')?.focus()
    if (isDropped) return
    const counted = this.#table.api.countValues(this.#seen.id, column.id).then((values) => {
      item.values = values
      if (item.isDropped) this.#drawLoss(item, lossOf(item))
    })
    start(counted, () => this.#drawLoss(item, SCHEMA.losesAll))
  }

  #convert(column: Column): void {
    setText(this.#problem, this.isDirty ? SCHEMA.saveFirst : '')
    if (!this.isDirty) askConversion(this.#table, column)
  }

  #drawLoss({ element, isDropped }: Item, text: string): void {
    const place = element.querySelector('em')
    if (isDropped && place !== null) setText(place, ` ${text}`)
    this.#say(text)
  }

  #add(): void {
    const id = this.#newName.value.trim()
    const isThere = this.#items.some(({ column }) => column.id === id)
    if (id === '' || isThere) {
      setText(this.#problem, id === '' ? SCHEMA.noName : SCHEMA.isThere(id))
      this.#newName.focus()
      return
    }
    this.#items.push(this.#item({ id, type: chosenType(this.#newKind) }, true))
    this.#newName.value = ''
    setText(this.#problem, '')
    this.#draw()
    this.#newName.focus()
  }

  /** The wanted columns. */
  #wanted(): readonly Column[] {
    return this.#items.flatMap(({ column, input, isDropped }) => {
      if (isDropped) return []
      const { displayName: _, ...rest } = column
      const name = input.value.trim()
      return { ...rest, ...(name !== '' && name !== column.id && { displayName: name }) }
    })
  }

  get #dropped(): readonly Item[] {
    return this.#items.filter(({ isDropped }) => isDropped)
  }

  #summary(): string {
    const { columns } = this.#seen.schema
    const wanted = this.#wanted()
    const added = this.#items.filter(({ isNew }) => isNew).length
    const before = new Map(columns.map(({ id, displayName = id }) => [id, displayName]))
    const renamed = wanted.filter(({ id, displayName = id }) => {
      const known = before.get(id)
      return known !== undefined && known !== displayName
    })
    const ids = wanted.map(({ id }) => id)
    const unmoved = [...before.keys(), ...ids.filter((id) => !before.has(id))]
    const isMoved = unmoved.filter((id) => ids.includes(id)).join('\n') !== ids.join('\n')
    return SCHEMA.draft(added, this.#dropped.length, renamed.length, isMoved)
  }

  #say(said = ''): void {
    const { isDirty } = this
    const changes = this.#summary()
    setText(this.#said, `${said} ${changes === '' ? '' : SCHEMA.notSaved(changes)}`.trim())
    setDisabled(!isDirty, this.#save, this.#discard)
  }

  #submit(event: Event): void {
    event.preventDefault()
    if (this.#isSaving || !this.isDirty) return
    const dropped = this.#dropped
    if (dropped.length === 0) {
      this.#send()
      return
    }
    const counts = dropped.map(({ values }) => values)
    const known = counts.filter((count) => count !== undefined)
    const sum = known.reduce((all, count) => all + count, 0)
    const all = known.length === counts.length ? sum : undefined
    const question = SCHEMA.question(dropped.map(shownName), all)
    confirmDeletion(SCHEMA.columns, question, () => this.#send())
  }

  #send(): void {
    this.#isSaving = true
    setDisabled(true, this.#save, this.#discard)
    setText(this.#problem, '')
    setText(this.#said, SCHEMA.saving)
    const saved = this.#alter().then((isSaved) => {
      if (isSaved) this.#table.onSaved(SCHEMA.saved)
      else this.#refuse(SCHEMA.changed, true)
    })
    start(saved, (failure) => this.#refuse(wordsOf(failure), false))
  }

  #refuse(message: string, isConflict: boolean): void {
    this.#isSaving = false
    this.#say()
    const show = button(SCHEMA.showNow, () => this.#table.onSaved(''))
    fill(this.#problem, message, ...(isConflict ? [' ', show] : []))
  }

  /** Saves, also if others change rows meanwhile. @returns false: not saved, because others have changed the columns */
  async #alter(): Promise<boolean> {
    const { api } = this.#table
    const columns = this.#wanted()
    const drop = this.#dropped.map(({ column }) => column.id)
    const change = { name: this.#name.value.trim(), schema: { columns } }
    let { id, version } = this.#table.info()
    for (let tries = 0; ; tries++) {
      try {
        await api.alter(id, version, { ...change, ...(drop.length > 0 && { drop }) })
        return true
      } catch (failure) {
        const isLater = failure instanceof ClientError && failure.status === 412
        if (!isLater || tries >= TRIES_MAX) throw failure
        const now = await api.info(id)
        if (shapeOf(now) === shapeOf(change)) return true // It was saved before: the answer was lost.
        if (shapeOf(now) !== shapeOf(this.#seen)) return false
        version = now.version
      }
    }
  }
}

function shapeOf({ name, schema }: Pick<TableInfo, 'name' | 'schema'>): string {
  const columns = schema.columns.map(({ id, displayName, type }) => [
    id,
    displayName,
    shownType(type),
  ])
  return JSON.stringify([name, columns])
}

function shownName({ column, input }: Item): string {
  return input.value.trim() || column.id
}

function lossOf({ values }: Item): string {
  return values === undefined ? SCHEMA.counting : SCHEMA.loses(values)
}
