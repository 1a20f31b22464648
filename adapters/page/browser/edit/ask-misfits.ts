// Asks what to do with a paste whose values do not all fit.
import { button, el } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'

/** The maximum number of values that are listed. */
const SHOWN_MAX = 20

/** @param onRest - Called if the person wants to paste the values that fit. */
export function askMisfits(misfits: readonly string[], onRest: () => void): void {
  const dialog = el('dialog', { 'aria-label': EDIT.paste })
  const end = (): void => dialog.close()
  const rest = (): void => {
    end()
    onRest()
  }
  dialog.addEventListener('close', () => dialog.remove())
  dialog.append(
    el('p', {}, EDIT.misfits(misfits.length)),
    el('ul', {}, ...misfits.slice(0, SHOWN_MAX).map((text) => el('li', {}, text))),
    el('div', { class: 'actions' }, button(EDIT.cancel, end), button(EDIT.pasteRest, rest)),
  )
  document.body.append(dialog)
  dialog.showModal()
}
