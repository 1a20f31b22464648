// Shows the content of a file, which cannot act: pictures are raster images, and texts are inserted as text.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { FileInfo } from '../base/api.js'
import { button, el, fill, start } from '../base/dom.js'
import { shownBytes } from '../base/show.js'
import * as TEXT from '../base/texts.js'

/** The types of pictures that are shown: types that contain no scripts and addresses, so SVG is not among them. */
const PICTURES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
])

/** The maximum number of bytes of a text that are shown. */
const TEXT_BYTES_MAX = 64 * 1024

export function previewFile({ id, fileName, contentType, bytes }: FileInfo): void {
  const [type = ''] = contentType.split(';')
  const path = `files/${encodeURIComponent(id)}`
  const body = el('div', { class: 'filePreview' })
  const dialog = el('dialog', { 'aria-label': TEXT.previewOf(fileName), class: 'wideDialog' })
  dialog.addEventListener('close', () => dialog.remove())
  const link = { href: path, target: '_blank', rel: 'noopener noreferrer' }
  dialog.append(
    el('h2', {}, fileName),
    el('p', { class: 'muted' }, `${contentType} · ${shownBytes(bytes)}`),
    body,
    el(
      'div',
      { class: 'actions' },
      button(TEXT.close, () => dialog.close(), { class: 'primary' }),
      el('a', link, TEXT.openFile),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
  if (PICTURES.has(type)) fill(body, el('img', { src: path, alt: fileName, class: 'preview' }))
  else if (type.startsWith('text/') || /[/+]json$/.test(type)) {
    start(showText(body, path, bytes), (failure) => fill(body, messageOf(failure)))
  } else fill(body, el('p', {}, TEXT.noPreview))
}

async function showText(body: HTMLElement, path: string, bytes: number): Promise<void> {
  const isCut = bytes > TEXT_BYTES_MAX
  const headers = isCut ? { range: `bytes=0-${TEXT_BYTES_MAX - 1}` } : {}
  const answer = await fetch(path, { headers })
  if (!answer.ok) throw new Error(TEXT.notRead(answer.status))
  const text = el('pre', { tabindex: 0 }, await answer.text())
  const note = el('p', { class: 'muted' }, TEXT.cutAt(shownBytes(TEXT_BYTES_MAX)))
  fill(body, isCut ? note : null, text)
}
