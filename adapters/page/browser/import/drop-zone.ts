// Where a file is dropped, or chosen.
import { el } from '../base/dom.js'
import * as TEXT from '../base/texts.js'

const ENDINGS = '.csv,.tsv,.tab,.txt,.dat,.json,.ndjson,.jsonl,.gz'

export function dropZone(onFile: (file: File) => void): HTMLElement {
  const input = el('input', { type: 'file', id: 'file', accept: ENDINGS, class: 'offscreen' })
  input.addEventListener('change', () => {
    const [file] = input.files ?? []
    if (file !== undefined) onFile(file)
  })
  const label = el(
    'label',
    { for: 'file', class: 'dropLabel' },
    el('strong', {}, TEXT.dropHere),
    el('span', { class: 'muted' }, TEXT.dropFormats),
    el('span', { class: 'button' }, TEXT.chooseFile),
  )
  return el('div', { class: 'drop' }, input, label)
}
