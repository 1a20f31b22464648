// Saves the current rows as a file: with their filter, their order and the shown columns.
import type { RowsQuery, TableInfo } from '../base/api.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import { chooseFile, fileName, linesToArray } from '../base/saved-file.js'
import { shownBytes, shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { choiceMenu } from '../grid/menus.js'
import type { ViewContext } from './shell.js'

type DownloadFormat = keyof typeof TEXT.downloadFormats

/** How often the progress is reported, in milliseconds. */
const SAID_MS = 250

export type Downloaded = Readonly<{
  info: TableInfo
  query: RowsQuery
}>

/** One download at a time. It continues while other views are shown. */
export class TableDownload {
  /** Hidden while nothing is downloaded. */
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #context: ViewContext
  readonly #said = el('span')
  #ending: AbortController | undefined

  constructor(context: ViewContext) {
    this.#context = context
    fill(
      this.element,
      this.#said,
      button(TEXT.cancel, () => this.#ending?.abort()),
    )
  }

  /** @param what - Called when a person has chosen a format: what is shown then. */
  menu(what: () => Downloaded): HTMLElement {
    const run = (format: DownloadFormat): void => {
      start(this.#run(what(), format), this.#context.fail)
    }
    const { parquet, ...others } = TEXT.downloadFormats
    const formats = this.#context.session.parquet ? { ...others, parquet } : others
    return choiceMenu<DownloadFormat>(TEXT.download, TEXT.downloadHelp, formats, run)
  }

  async #run({ info, query }: Downloaded, format: DownloadFormat): Promise<void> {
    if (this.#ending !== undefined) return this.#context.say(TEXT.downloadUnderWay)
    this.#ending = new AbortController()
    const { signal } = this.#ending
    try {
      const file = await chooseFile(fileName(info.name, format))
      this.#say(0)
      this.element.hidden = false
      const asked = { ...query, format: format === 'json' ? 'ndjson' : format }
      const { body, version } = await this.#context.api.exported(info.id, asked, signal)
      let bytes = 0
      const rows = format === 'json' ? body.pipeThrough(linesToArray()) : body
      const counted = rows.pipeThrough(this.#counter((more) => (bytes += more)))
      await counted.pipeTo(file, { signal }).catch((failure: unknown) => {
        throw failure instanceof TypeError
          ? new Error(TEXT.downloadBroken, { cause: failure })
          : failure
      })
      const isNewer = version > info.version
      const about = isNewer ? ` ${TEXT.downloadIsNewer(shownCount(version))}` : ''
      this.#context.say(TEXT.downloaded(shownBytes(bytes)) + about)
    } finally {
      this.#ending = undefined
      this.element.hidden = true
    }
  }

  #counter(add: (bytes: number) => number): TransformStream<Uint8Array<ArrayBuffer>> {
    let saidAt = 0
    return new TransformStream({
      transform: (piece, controller) => {
        const bytes = add(piece.length)
        const now = this.#context.now()
        if (now - saidAt > SAID_MS) {
          saidAt = now
          this.#say(bytes)
        }
        controller.enqueue(piece)
      },
    })
  }

  #say(bytes: number): void {
    setText(this.#said, TEXT.downloading(shownBytes(bytes)))
  }
}
