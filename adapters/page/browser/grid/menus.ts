// The menus of a table: which columns are shown, and what is copied.
import type { Column } from '../base/api.js'
import { button, el } from '../base/dom.js'
import { TEXT } from '../base/texts.js'

/** A part of the page that opens under its name, and closes when the focus goes elsewhere. */
function menu(label: string, ...content: readonly Node[]): HTMLDetailsElement {
  const details = el(
    'details',
    { class: 'menu' },
    el('summary', {}, label),
    el('div', { class: 'menuBody', tabindex: -1 }, ...content),
  )
  details.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !details.contains(relatedTarget)) details.open = false
  })
  details.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') closeMenu(details)
  })
  return details
}

function closeMenu(details: HTMLDetailsElement): void {
  details.open = false
  details.querySelector('summary')?.focus()
}

/**
 * @param shown - The IDs of those that are shown first.
 * @param onChoose - Called with the IDs of the columns that shall be shown: one at least.
 */
export function columnMenu(
  columns: readonly Column[],
  shown: readonly string[],
  onChoose: (chosen: readonly string[]) => void,
): HTMLElement {
  const boxes = columns.map(({ id }) =>
    el('input', { type: 'checkbox', checked: shown.includes(id), value: id }),
  )
  const tell = (): void => {
    const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value)
    if (chosen.length > 0) onChoose(chosen)
  }
  const setAll = (isChecked: boolean): void => {
    for (const box of boxes) box.checked = isChecked
    const [first] = boxes
    if (!isChecked && first !== undefined) first.checked = true
    tell()
  }
  const items = columns.map(({ id, displayName = id }, index) => {
    return el('label', { class: 'check' }, boxes[index], displayName)
  })
  const list = el('fieldset', { onchange: tell }, el('legend', {}, TEXT.columnsShown), ...items)
  const all = button(TEXT.allColumns, () => setAll(true))
  const one = button(TEXT.oneColumn, () => setAll(false))
  return menu(TEXT.columnMenu, el('div', { class: 'actions' }, all, one), list)
}

export type CopyFormat = keyof typeof TEXT.copyFormats

/** A menu whose choices act at once. @param note - What is said below them. */
export function choiceMenu<Choice extends string>(
  label: string,
  help: string,
  choices: Readonly<Partial<Record<Choice, string>>>,
  onChoose: (choice: Choice) => void,
  note?: string,
): HTMLElement {
  const choose = (choice: Choice): void => {
    closeMenu(made)
    onChoose(choice)
  }
  const items = (Object.entries(choices) as [Choice, string][]).map(([choice, text]) =>
    button(text, () => choose(choice), { class: 'plain' }),
  )
  const said = (text: string) => el('p', { class: 'muted' }, text)
  const made = menu(label, said(help), ...items, ...(note === undefined ? [] : [said(note)]))
  return made
}
