// Elements. Everything that comes from a store is put in as text, never as markup, and shows what it would hide.
import { escapeControls } from '../../../../src/base/shown-text.js'

type Listener = (event: Event) => void
type Attribute = string | number | boolean | undefined | Listener
export type Child = Node | string | number | null | undefined

/**
 * A text as a person sees it: what has no shape, or changes the order in which the rest is read, is shown as JSON
 * escapes it. Tabs and line breaks stay.
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

/** Puts children in the place of those that are there. */
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

/** Puts a text in the place of what is there. */
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

/** Has buttons do nothing for a while. They keep the focus, which the attribute `disabled` would take from them. */
export function setDisabled(isDisabled: boolean, ...buttons: readonly HTMLButtonElement[]): void {
  for (const each of buttons) setAttributes(each, { 'aria-disabled': isDisabled && 'true' })
}

/** Starts work whose failure is shown by a function. */
export function start(work: Promise<unknown>, onFailure: (failure: unknown) => void): void {
  work.catch((failure: unknown) => {
    if (failure instanceof DOMException && failure.name === 'AbortError') return
    onFailure(failure)
  })
}
