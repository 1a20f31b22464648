// The unsaved changes, each with ways to resolve it.
import { button, el, fill } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { parseJson } from '../base/json-text.js'
import { shortText } from '../grid/cells.js'
import type { EditProblem, RowEdits } from './row-edits.js'

/** The maximum number of problems shown at once. Further problems follow when the shown ones are resolved. */
const SHOWN_MAX = 50

export class ProblemList {
  readonly element = el('section', {
    class: 'editProblems',
    'aria-label': EDIT.problems,
    'aria-live': 'polite',
    tabindex: -1,
    hidden: true,
  })
  readonly #edits: RowEdits
  readonly #nameOf: (problem: EditProblem) => string
  /** Called when the last problem has been resolved here. */
  readonly #onEmpty: () => void
  #shown: readonly EditProblem[] = []

  constructor(edits: RowEdits, nameOf: (problem: EditProblem) => string, onEmpty: () => void) {
    this.#edits = edits
    this.#nameOf = nameOf
    this.#onEmpty = onEmpty
  }

  refresh(): void {
    const { problems } = this.#edits
    if (problems === this.#shown) return
    const hadFocus = this.element.contains(document.activeElement)
    this.#shown = problems
    const items = problems.slice(0, SHOWN_MAX).map((problem) => this.#render(problem))
    const all = button(EDIT.discardAll, () => this.#edits.takeTheirs(problems))
    fill(this.element, el('ul', {}, ...items), problems.length > 1 ? all : null)
    this.element.hidden = problems.length === 0
    if (!hadFocus) return
    if (problems.length === 0) this.#onEmpty()
    else this.element.querySelector('button')?.focus()
  }

  #render(problem: EditProblem): HTMLElement {
    const { change, theirs, message } = problem
    const isConflict = theirs !== undefined
    const value = (token: string): HTMLElement => {
      const text = shortText(parseJson(token))
      return text === ''
        ? el('em', { class: 'muted' }, EDIT.empty)
        : el('span', { class: 'whole' }, text)
    }
    const pair = (name: string, token: string) => [el('dt', {}, name), el('dd', {}, value(token))]
    const mine = pair(EDIT.mine, change.after)
    return el(
      'li',
      {},
      el('strong', {}, this.#nameOf(problem)),
      el('span', {}, isConflict ? EDIT.conflict : message),
      el('dl', {}, ...(isConflict ? pair(EDIT.theirs, theirs) : []), ...mine),
      el(
        'span',
        { class: 'actions' },
        button(isConflict ? EDIT.takeTheirs : EDIT.discard, () =>
          this.#edits.takeTheirs([problem]),
        ),
        button(isConflict ? EDIT.takeMine : EDIT.retry, () => this.#edits.takeMine(problem)),
      ),
    )
  }
}
