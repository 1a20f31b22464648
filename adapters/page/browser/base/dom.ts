// Elements. Everything from a store is inserted as text, never as markup, and hidden characters are shown.
import { escapeControls } from '../../../../src/base/shown-text.js'

type Listener = (event: Event) => void
type Attribute = string | number | boolean | undefined | Listener
export type Child = Node | string | number | null | undefined

/**
 * A text as a person sees it: characters that are invisible, or change the order of the rest, are shown as JSON
 * escapes. Tabs and line breaks stay.
 */
export function shownText(text: string): string {
  return text.replace(/(?:[^\t\n\r]|\r(?!\n))+/g, escapeControls)
}

/** Attributes that people read. */
const READ: ReadonlySet<string> = new Set(['title', 'aria-label', 'alt'])

/**
 * Makes an element. Attributes that begin with `on` are listeners; `true` is an attribute without a value; `false` and
 * `undefined` are left out.
 */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  setAttributes(made, attributes)
  append(made, children)
  return made
}

export function setAttributes(
  element: Element,
  attributes: Readonly<Record<string, Attribute>>,
): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value === false || value === undefined) element.removeAttribute(name)
    else element.setAttribute(name, READ.has(name) ? shownText(String(value)) : String(value))
  }
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren()
  append(element, children)
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined) continue
    element.append(child instanceof Node ? child : shownText(String(child)))
  }
}

/** Replaces the text of an element. */
export function setText(element: Element, text: string): void {
  element.textContent = shownText(text)
}

export function button(
  label: string,
  onClick: () => void,
  attributes: Readonly<Record<string, Attribute>> = {},
): HTMLButtonElement {
  const made = el('button', { type: 'button', ...attributes }, label)
  made.addEventListener('click', () => {
    if (made.getAttribute('aria-disabled') !== 'true') onClick()
  })
  return made
}

export function labeledField(label: string, input: HTMLElement): HTMLElement {
  return el('div', { class: 'field' }, el('label', { for: input.id }, label), input)
}

/** Disables buttons for a while. They keep the focus, which the attribute `disabled` would remove. */
export function setDisabled(isDisabled: boolean, ...buttons: readonly HTMLButtonElement[]): void {
  for (const each of buttons) setAttributes(each, { 'aria-disabled': isDisabled && 'true' })
}

/** Starts work, and passes its failure to a function. */
export function start(work: Promise<unknown>, onFailure: (failure: unknown) => void): void {
  work.catch((failure: unknown) => {
    if (failure instanceof DOMException && failure.name === 'AbortError') return
    onFailure(failure)
  })
}
