// Elements. Everything that comes from a store is put in as text, never as markup.

type Listener = (event: Event) => void
type Attribute = string | number | boolean | undefined | Listener
export type Child = Node | string | number | null | undefined

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
    else element.setAttribute(name, String(value))
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
    element.append(typeof child === 'number' ? String(child) : child)
  }
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

export function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure)
}
