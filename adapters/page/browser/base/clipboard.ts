// The browser's clipboard. Pages that came neither by HTTPS nor from this machine may only use the old API.
import { el } from './dom.js'
import * as TEXT from './texts.js'

/** @returns the message for the person */
export async function copyToClipboard(text: string): Promise<string> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text)
    return TEXT.copied
  }
  const area = el('textarea', { readonly: true, class: 'offscreen', 'aria-hidden': 'true' })
  area.value = text
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (!isCopied) throw new Error(TEXT.notCopied)
  return TEXT.copied
}
