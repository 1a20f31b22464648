// Says that a table has changed since the version that is shown, and by how many rows, and takes the changes when a
// person wants them, or at once.
//
// While the tab is seen it follows the feed of the table, which holds a connection, of which a browser has six to a
// server. Without a feed it asks now and then.
import { pause } from '../../../../src/base/pause.js'
import type { Api } from '../base/api.js'
import { button, el, fill, setText } from '../base/dom.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'

/** How often the version of the table is asked for where there is no feed, in milliseconds. */
const ASK_MS = 5_000
/** Questions between two attempts to follow the feed. */
const ASKED_BETWEEN = 12
/** Changes that are taken at once are taken together, so many milliseconds after the first. */
const TOGETHER_MS = 1_000
/** Changes that are counted one by one. Their number is not said beyond. */
const COUNTED_MAX = 10_000

export type LiveTable = Readonly<{
  api: Api
  tableId: string
  signal: AbortSignal
  /** The version that is shown. */
  shown: () => number
  /** Shows the newest version. */
  take: () => void
  /** Whether a change of this page is under way: a newer version may be its own. */
  isChanging: () => boolean
  /** Whether a person types into a cell, which waits for nothing to be taken. */
  isEditing: () => boolean
}>

export class TableLive {
  /** Hidden while there is nothing to say. */
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #table: LiveTable
  readonly #said = el('span')
  readonly #show = button(TEXT.showNewer, () => this.#table.take(), { class: 'primary' })
  readonly #follow = el('input', { type: 'checkbox' })
  /** By version that the feed has told, how many rows it changed. */
  readonly #rows = new Map<number, number>()
  #newest = 0
  /** What was said last of the number of rows. */
  #counted = ''
  #taking: ReturnType<typeof setTimeout> | undefined
  #later: ReturnType<typeof setTimeout> | undefined
  #following = new AbortController()

  constructor(table: LiveTable) {
    this.#table = table
    this.#follow.addEventListener('change', () => this.draw())
    const label = el('label', { class: 'check' }, this.#follow, TEXT.follow)
    fill(this.element, this.#said, this.#show, label)
    const { signal } = table
    document.addEventListener('visibilitychange', () => this.#begin(), { signal })
    addEventListener('focus', () => this.#look(), { signal })
    signal.addEventListener('abort', () => {
      clearTimeout(this.#taking)
      clearTimeout(this.#later)
      this.#following.abort()
    })
    this.#begin()
  }

  /**
   * A version is known to be there. An answer may be older than what is shown by now.
   * @param isSure - Others made a part of it, whatever is under way here.
   */
  tell(version: number, isSure = false): void {
    this.#newest = Math.max(this.#newest, version)
    this.draw(isSure)
  }

  /** Draws again, as after another version is shown. */
  draw(isSure = false): void {
    const shown = this.#table.shown()
    clearTimeout(this.#later)
    if (this.#newest > shown && !isSure && this.#table.isChanging()) {
      this.#later = setTimeout(() => this.draw(), TOGETHER_MS)
      return
    }
    for (const version of this.#rows.keys()) {
      if (version <= shown || this.#rows.size > COUNTED_MAX) this.#rows.delete(version)
    }
    const isNewer = this.#newest > shown
    if (!isNewer || !this.#follow.checked) {
      clearTimeout(this.#taking)
      this.#taking = undefined
    } else {
      this.#taking ??= setTimeout(() => {
        this.#taking = undefined
        if (this.#table.isEditing()) this.draw()
        else this.#table.take()
      }, TOGETHER_MS)
    }
    this.#show.hidden = !isNewer
    if (isNewer) this.#say(shown)
    else this.#put(this.#counted)
    // What is taken at once is said, and can be stopped.
    this.element.hidden = !isNewer && !this.#follow.checked
  }

  #say(shown: number): void {
    // The feed may tell fewer versions than an answer has shown.
    const rows = [...this.#rows.values()].reduce((sum, count) => sum + count, 0)
    // No rows: names or columns have changed.
    const isCounted = this.#rows.size === this.#newest - shown && rows > 0
    const version = TEXT.newer(shownCount(this.#newest), shownCount(shown))
    this.#counted = isCounted ? TEXT.rowsChanged(rows, shownCount(rows)) : ''
    this.#put(`${this.#counted} ${version}`.trim())
  }

  #put(text: string): void {
    if (this.#said.textContent !== text) setText(this.#said, text)
  }

  #begin(): void {
    this.#following.abort()
    if (document.hidden || this.#table.signal.aborted) return
    this.#following = new AbortController()
    const { signal } = this.#following
    this.#watch(signal).catch(() => undefined) // The end of the view.
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { api, tableId, shown } = this.#table
    while (!signal.aborted) {
      try {
        const since = Math.max(shown(), ...this.#rows.keys())
        for await (const { version, counts } of api.changes(tableId, since, signal)) {
          this.#rows.set(Number(version), counts.added + counts.changed + counts.removed)
          this.tell(Number(version))
        }
      } catch {
        // It is refused, or lost: what is asked for tells the rest.
      }
      for (let asked = 0; asked < ASKED_BETWEEN && !signal.aborted; asked++) {
        await pause(ASK_MS, signal)
        await this.#ask()
      }
    }
  }

  /** Whoever comes back to the tab need not wait. */
  #look(): void {
    this.#ask().catch(() => undefined)
  }

  async #ask(): Promise<void> {
    const { api, tableId, shown, signal } = this.#table
    if (document.hidden || this.#newest > shown()) return
    const found = await api.newerVersion(tableId, shown(), signal).catch(() => undefined)
    if (found !== undefined && !signal.aborted) this.tell(found)
  }
}
