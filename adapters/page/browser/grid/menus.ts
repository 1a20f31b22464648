// The menus of a table: shown columns, and copying.
import type { Column } from '../base/api.js'
import { button, type Child, el } from '../base/dom.js'
import * as TEXT from '../base/texts.js'

/** A part of the page that opens below its name, and closes when the focus leaves it. */
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

/** Tools that a narrow screen shows behind a button. */
export function moreTools(...tools: readonly Child[]): readonly Node[] {
  const place = el('div', { class: 'extra', tabindex: -1 }, ...tools)
  const isIn = (node: unknown) => node instanceof Node && (place.contains(node) || node === more)
  const show = (isOpen: boolean): void => {
    place.classList.toggle('open', isOpen)
    more.setAttribute('aria-expanded', String(isOpen))
  }
  const isOpen = () => place.classList.contains('open')
  const more = button(TEXT.more, () => show(!isOpen()), { class: 'more', 'aria-expanded': 'false' })
  const close = (): void => {
    if (!isOpen()) return
    if (isIn(document.activeElement)) more.focus()
    show(false)
  }
  for (const part of [place, more] as readonly HTMLElement[]) {
    part.addEventListener('focusout', ({ relatedTarget }) => isIn(relatedTarget) || show(false))
    part.addEventListener('keydown', ({ key }) => key === 'Escape' && close())
  }
  place.addEventListener('click', ({ target }) => target instanceof HTMLButtonElement && close())
  return [more, place]
}

/**
 * @param shown - The IDs of the shown columns.
 * @param onChoose - Called with the IDs of the columns to show: at least one.
 */
export function columnMenu(
  columns: readonly Column[],
  shown: () => readonly string[],
  onChoose: (chosen: readonly string[]) => void,
): HTMLElement {
  const boxes = columns.map(({ id }) => el('input', { type: 'checkbox', value: id }))
  const draw = (): void => {
    for (const box of boxes) box.checked = shown().includes(box.value)
  }
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
  const made = menu(TEXT.columnMenu, el('div', { class: 'actions' }, all, one), list)
  made.addEventListener('toggle', draw)
  return made
}

export type CopyFormat = keyof typeof TEXT.copyFormats

/** A menu whose choices act at once. */
export function choiceMenu<Choice extends string>(
  label: string,
  help: string,
  choices: Readonly<Partial<Record<Choice, string>>>,
  onChoose: (choice: Choice) => void,
): HTMLElement {
  const choose = (choice: Choice): void => {
    closeMenu(made)
    onChoose(choice)
  }
  const items = (Object.entries(choices) as [Choice, string][]).map(([choice, text]) =>
    button(text, () => choose(choice), { class: 'plain' }),
  )
  const made = menu(label, el('p', { class: 'muted' }, help), ...items)
  return made
}
