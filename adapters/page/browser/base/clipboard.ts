// The clipboard of the browser, which pages that did not come by HTTPS or from this machine may only use the old way.
import { el } from './dom.js'
import * as TEXT from './texts.js'

/** @returns what to tell the person */
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
