// Another type for a column and its cells: first what would not fit, then the change.
import type { Column, ConversionCheck } from '../base/api.js'
import { button, el, fill, labeledField, setDisabled, setText, start } from '../base/dom.js'
import { wordsOf, wordsOfRule } from '../base/failure-words.js'
import { plainText } from '../base/json-text.js'
import * as SCHEMA from '../base/schema-texts.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { shownType } from '../grid/cells.js'
import type { SchemaTable } from './key-form.js'
import { chosenType, kindSelect } from './kind-select.js'

/** The maximum number of cells that are listed. */
const SHOWN_MAX = 20
/** Two words are offered only if a column has fewer different values than this. `Yes` and `yes` are two values. */
const WORDS_MAX = 9
/** Words such as yes, ja, oui, on, si, true, wahr, vrai and 1, but not off. */
const LIKE_TRUE = /^(?:[yjstwv1x]|o[^f])/

export function askConversion({ api, info, onSaved }: SchemaTable, column: Column): void {
  const { id, displayName = id, type } = column
  const title = SCHEMA.convert(displayName)
  const said = el('p', { role: 'status' })
  const list = el('ul', { class: 'misfits', tabindex: 0 })
  const select = kindSelect('convert-kind', shownType(type))
  const dialog = el('dialog', { 'aria-label': title }, el('h2', {}, title))
  const words = wordsChoice(api, info, id, () => check())
  const wanted = () => ({ column: id, type: chosenType(select), ...words.chosen })
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
    const checked = api.checkConversion(info().id, wanted(), signal).then(async (found) => {
      if (signal.aborted) return
      if (found.problemCount > 0 && (await words.offer(select.value, signal))) return check()
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
  select.addEventListener('change', () => {
    words.field.hidden = true
    check()
  })
  dialog.addEventListener('close', () => {
    checking.abort()
    dialog.remove()
  })
  const cancel = button(TEXT.cancel, () => dialog.close())
  const actions = el('div', { class: 'actions' }, convert, cancel)
  dialog.append(labeledField(SCHEMA.newKind, select), words.field, said, list, actions)
  document.body.append(dialog)
  check()
  dialog.showModal()
}

/** The choice which of two words is true, and which is false. It is shown if the column has no other values. */
function wordsChoice(
  api: SchemaTable['api'],
  info: SchemaTable['info'],
  id: string,
  onChange: () => void,
) {
  const select = el('select', { id: 'convert-words', onchange: onChange })
  const field = labeledField(SCHEMA.words, select)
  field.hidden = true
  const option = (yes: string, no: string) =>
    el('option', { value: `${yes}\n${no}` }, SCHEMA.wordsAre(yes, no))
  return {
    field,
    get chosen() {
      return field.hidden ? {} : { booleans: select.value.split('\n') }
    },
    /** @returns whether it is offered now, and was not before */
    async offer(type: string, signal: AbortSignal): Promise<boolean> {
      if (type !== 'boolean' || !field.hidden) return false
      const groups = await api.groups(info().id, id, { limit: WORDS_MAX }, signal)
      const found = new Set(groups.map(({ values }) => plainText(values[id]).trim().toLowerCase()))
      found.delete('')
      const rank = (word: string) => Number(!LIKE_TRUE.test(word))
      const [one = '', other = ''] = [...found].sort((a, b) => rank(a) - rank(b))
      if (groups.length === WORDS_MAX || found.size !== 2 || signal.aborted) return false
      fill(select, option(one, other), option(other, one))
      field.hidden = false
      return true
    },
  }
}

function renderMisfit({ row, value = '', rule }: ConversionCheck['problems'][number]): HTMLElement {
  return el('li', {}, SCHEMA.misfit(shownCount(row + 1), value, wordsOfRule(rule)))
}
