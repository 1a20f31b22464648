// Reports that a table has changed since the shown version, and by how many rows, and shows the changes when a person
// wants them, or at once.
//
// While the tab is visible it follows the feed of the table, which occupies one of a browser's six connections to a
// server. Without a feed it polls.
import { pause } from '../../../../src/base/pause.js'
import type { Api } from '../base/api.js'
import { button, el, fill, setText } from '../base/dom.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'

/** How often the version of the table is polled without a feed, in milliseconds. */
const ASK_MS = 5_000
/** The number of polls between two attempts to follow the feed. */
const ASKED_BETWEEN = 12
/** Changes shown at once are collected for this many milliseconds after the first. */
const TOGETHER_MS = 1_000
/** Changes that are counted individually. Beyond this, their number is not shown. */
const COUNTED_MAX = 10_000

export type LiveTable = Readonly<{
  api: Api
  tableId: string
  signal: AbortSignal
  /** The version that is shown. */
  shown: () => number
  /** Shows the newest version. */
  take: () => void
  /** Whether a change made here is under way: a newer version may be the result of it. */
  isChanging: () => boolean
  /** Whether a person types into a cell: then nothing is shown at once. */
  isEditing: () => boolean
}>

export class TableLive {
  /** Hidden while there is no message. */
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #table: LiveTable
  readonly #said = el('span')
  readonly #show = button(TEXT.showNewer, () => this.#table.take(), { class: 'primary' })
  readonly #follow = el('input', { type: 'checkbox' })
  /** How many rows each version changed, for the versions that the feed has reported. */
  readonly #rows = new Map<number, number>()
  #newest = 0
  /** The last text about the number of rows. */
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
   * Must be called with a version that an answer names. It may be older than the shown version.
   * @param isSure - Whether others made changes up to it, even if a change made here is under way.
   */
  tell(version: number, isSure = false): void {
    this.#newest = Math.max(this.#newest, version)
    this.draw(isSure)
  }

  /** Draws again, after another version is shown. */
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
    // With `#follow` it stays visible: it says what has changed, and a person can stop the following.
    this.element.hidden = !isNewer && !this.#follow.checked
  }

  #say(shown: number): void {
    // The number of rows is known only if the feed has reported every version up to the newest.
    const rows = [...this.#rows.values()].reduce((sum, count) => sum + count, 0)
    // Without rows, names or columns have changed.
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
    this.#watch(signal).catch(() => undefined) // It fails only when the view has ended.
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
        // The feed is refused, or lost: polling replaces it for a while.
      }
      for (let asked = 0; asked < ASKED_BETWEEN && !signal.aborted; asked++) {
        await pause(ASK_MS, signal)
        await this.#ask()
      }
    }
  }

  /** Polls at once when a person returns to the tab. */
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
