// The menu of a column, which opens below its header.
import { button, el } from '../base/dom.js'

export type MenuItem = readonly [label: string, onChoose: () => void]

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/**
 * @param left - The left edge of the menu in its container, in pixels, if there is room.
 * @param onBack - Called when the menu returns the focus.
 */
export function openHeaderMenu(
  place: HTMLElement,
  left: number,
  label: string,
  items: readonly MenuItem[],
  onBack: () => void,
): void {
  let isOpen = true
  const close = (goesBack: boolean): void => {
    if (!isOpen) return
    isOpen = false
    menu.remove()
    if (goesBack) onBack()
  }
  const buttons = items.map(([text, onChoose]) => {
    const choose = (): void => {
      close(true)
      onChoose()
    }
    return button(text, choose, { role: 'menuitem', tabindex: -1, class: 'plain' })
  })
  const menu = el(
    'div',
    {
      role: 'menu',
      class: 'menuBody headerMenu',
      'aria-label': label,
      onfocusout: (event) => {
        if (!menu.contains((event as FocusEvent).relatedTarget as Node | null)) close(false)
      },
      onkeydown: (event) => {
        const { key } = event as KeyboardEvent
        const step = STEPS[key]
        const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
        if (step !== undefined) buttons.at((at + step) % buttons.length)?.focus()
        else if (key === 'Escape' || key === 'Tab') close(true)
        else return
        event.preventDefault()
      },
    },
    ...buttons,
  )
  place.append(menu)
  menu.style.left = `${Math.max(0, Math.min(left, place.clientWidth - menu.offsetWidth))}px`
  buttons[0]?.focus()
}
