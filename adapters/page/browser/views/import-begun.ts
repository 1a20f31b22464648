// An unfinished import of a file: begun here, in a tab that was closed, or before a server was restarted.
import type { Api } from '../base/api.js'
import { button, el, fill, start } from '../base/dom.js'
import { shownAge, shownCount, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import type { Reading } from '../import/import-file.js'
import { findBegun, makeStashPrefix, newStashId, type StashPlace } from '../import/import-run.js'
import type { ViewContext } from './shell.js'

/** Tells the latest of several overlapping reads from earlier ones, whose results are dropped. */
export class Looks {
  #last = 0

  next(): () => boolean {
    const own = ++this.#last
    return () => own === this.#last
  }
}

/** Reports that rows of a file are already staged. An import continues with them unless a person discards them. */
export class BegunNotice {
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #api: Api
  readonly #file: File
  readonly #context: ViewContext
  readonly #looks = new Looks()
  #stash = { id: '', isNew: true }

  constructor(api: Api, file: File, context: ViewContext) {
    this.#api = api
    this.#file = file
    this.#context = context
  }

  /** The stash of the import: the unfinished one's, or a new one. */
  get stash(): StashPlace {
    return this.#stash
  }

  find(reading: Reading): void {
    const isLast = this.#looks.next()
    const prefix = makeStashPrefix(this.#file, reading)
    this.#stash = { id: newStashId(prefix), isNew: true }
    this.element.hidden = true
    const found = findBegun(this.#api, prefix).then((begun) => {
      if (begun === undefined || !isLast()) return
      this.#stash = { id: begun.id, isNew: false }
      const { rows, createdAt, expiresAt } = begun
      const age = shownAge(createdAt, this.#context.now())
      const text = TEXT.begun(shownCount(rows), age, shownTime(expiresAt))
      const forget = button(TEXT.beginAnew, () => {
        start(
          this.#api.deleteStash(begun.id).then(() => this.find(reading)),
          this.#context.fail,
        )
      })
      fill(this.element, el('span', {}, text), forget)
      this.element.hidden = false
    })
    start(found, () => undefined) // If the server cannot list stashes, the import starts anew.
  }
}
