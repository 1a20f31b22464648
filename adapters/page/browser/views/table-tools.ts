// The tools above the grid of a table: the search box, and tools that a narrow screen has in a menu.
import type { Column } from '../base/api.js'
import { button, el } from '../base/dom.js'
import type { PageSession } from '../base/session.js'
import * as TEXT from '../base/texts.js'
import { type CopyFormat, choiceMenu, columnMenu, moreTools } from '../grid/menus.js'
import { copyFormats } from './table-copies.js'

/** The contract's limit. */
const SEARCH_CHARACTERS_MAX = 256
/** The search begins this long after a person has typed, in milliseconds. */
const TYPED_MS = 300

export class SearchBox {
  readonly element: HTMLInputElement
  #typed: ReturnType<typeof setTimeout> | undefined

  /** @param onTyped - Called when a person has stopped typing. */
  constructor(value: string, onTyped: () => void) {
    const oninput = (): void => {
      clearTimeout(this.#typed)
      this.#typed = setTimeout(onTyped, TYPED_MS)
    }
    this.element = el('input', {
      type: 'search',
      class: 'search',
      maxlength: SEARCH_CHARACTERS_MAX,
      value,
      placeholder: TEXT.search,
      'aria-label': TEXT.searchHelp,
      title: TEXT.searchHelp,
      oninput,
    })
  }

  /** The current text. `onTyped` is not called for it any more. */
  take(): string {
    clearTimeout(this.#typed)
    return this.element.value
  }
}

export type ToolActions = Readonly<{
  openRow: () => void
  /** The IDs of the columns that are shown. */
  shown: () => readonly string[]
  show: (columns: readonly string[]) => void
  copy: (format: CopyFormat) => void
  showSchema: () => void
}>

/** @param others - Tools made elsewhere: those that change rows, and the download. */
export function tableTools(
  session: PageSession,
  columns: readonly Column[],
  [edit, download]: readonly [HTMLElement | undefined, HTMLElement],
  actions: ToolActions,
): readonly Node[] {
  return moreTools(
    edit,
    button(TEXT.openRow, actions.openRow),
    columnMenu(columns, actions.shown, actions.show),
    choiceMenu(TEXT.copy, TEXT.copyHelp, copyFormats(session), actions.copy),
    download,
    button(TEXT.schema, actions.showSchema),
  )
}
