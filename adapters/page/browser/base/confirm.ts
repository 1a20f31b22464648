// Asks before something is deleted for good.
import { button, el } from './dom.js'
import * as TEXT from './texts.js'

export function confirmDeletion(label: string, question: string, onYes: () => void): void {
  const dialog = el('dialog', { 'aria-label': label })
  const close = (): void => {
    dialog.close()
    dialog.remove()
  }
  const remove = (): void => {
    close()
    onYes()
  }
  dialog.addEventListener('close', () => dialog.remove())
  dialog.append(
    el('p', {}, question),
    el(
      'div',
      { class: 'actions' },
      button(TEXT.deleteTable, remove, { class: 'danger' }),
      button(TEXT.cancel, close),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
}
