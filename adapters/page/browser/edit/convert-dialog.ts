// Another type for a column and its cells: first what would not fit, then the change.
import type { Column, ConversionCheck } from '../base/api.js'
import { button, el, fill, labeledField, setDisabled, setText, start } from '../base/dom.js'
import { wordsOf, wordsOfRule } from '../base/failure-words.js'
import * as SCHEMA from '../base/schema-texts.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { shownType } from '../grid/cells.js'
import type { SchemaTable } from './key-form.js'
import { chosenType, kindSelect } from './kind-select.js'

/** Cells that are listed. */
const SHOWN_MAX = 20

export function askConversion({ api, info, onSaved }: SchemaTable, column: Column): void {
  const { id, displayName = id, type } = column
  const title = SCHEMA.convert(displayName)
  const said = el('p', { role: 'status' })
  const list = el('ul', { class: 'misfits', tabindex: 0 })
  const select = kindSelect('convert-kind', shownType(type))
  const dialog = el('dialog', { 'aria-label': title }, el('h2', {}, title))
  const wanted = () => ({ column: id, type: chosenType(select) })
  let checking = new AbortController()
  const say = (text: string, misfits: ConversionCheck['problems'] = []): void => {
    setText(said, text)
    fill(list, ...misfits.slice(0, SHOWN_MAX).map(renderMisfit))
  }
  const check = (): void => {
    checking.abort()
    checking = new AbortController()
    const { signal } = checking
    setDisabled(true, convert)
    const isSame = select.value === shownType(type)
    say(isSame ? '' : SCHEMA.checking)
    if (isSame) return
    const checked = api.checkConversion(info().id, wanted(), signal).then((found) => {
      if (signal.aborted) return
      const { rows, problems, problemCount } = found
      say(problemCount === 0 ? SCHEMA.fits(rows) : SCHEMA.misfits(problemCount), problems)
      setDisabled(problemCount > 0, convert)
    })
    start(checked, (failure) => !signal.aborted && say(wordsOf(failure)))
  }
  const convert = button(SCHEMA.convertNow, () => {
    setDisabled(true, convert)
    select.disabled = true
    say(SCHEMA.converting)
    const done = api.convert(info().id, wanted()).then(() => {
      dialog.close()
      onSaved(SCHEMA.converted)
    })
    start(done, (failure) => {
      select.disabled = false
      say(wordsOf(failure)) // Others have changed cells since they were checked.
    })
  })
  convert.classList.add('primary')
  select.addEventListener('change', check)
  dialog.addEventListener('close', () => {
    checking.abort()
    dialog.remove()
  })
  const cancel = button(TEXT.cancel, () => dialog.close())
  const actions = el('div', { class: 'actions' }, convert, cancel)
  dialog.append(labeledField(SCHEMA.newKind, select), said, list, actions)
  document.body.append(dialog)
  check()
  dialog.showModal()
}

function renderMisfit({ row, value = '', rule }: ConversionCheck['problems'][number]): HTMLElement {
  return el('li', {}, SCHEMA.misfit(shownCount(row + 1), value, wordsOfRule(rule)))
}
