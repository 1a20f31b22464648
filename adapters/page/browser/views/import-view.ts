// The import of a file: choose it, see what it has, stage it, and commit it.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { SourceFormat } from '../../../../src/base/source-format.js'
import type { OnSchemaError } from '../../../../src/client/import-types.js'
import type { TableName } from '../base/api.js'
import { button, el, fill, start } from '../base/dom.js'
import { TEXT } from '../base/texts.js'
import {
  FORMATS,
  formatOf,
  isText,
  plainName,
  ReadFile,
  readSample,
} from '../import/import-file.js'
import { checkView, doneView, ProgressView, previewView } from '../import/import-parts.js'
import { type Check, checkSample, ImportRun } from '../import/import-run.js'
import { TargetForm } from '../import/import-target.js'
import { BegunNotice, Looks } from './import-begun.js'
import type { View, ViewContext } from './shell.js'

export async function openImport(context: ViewContext, tableId: string): Promise<View> {
  if (context.session.mode === 'session' && !context.session.writable) {
    const element = el(
      'section',
      { class: 'page' },
      el('h1', {}, TEXT.tabs.import),
      el('p', {}, TEXT.needsWrite),
    )
    return { element, title: TEXT.tabs.import, close: () => undefined }
  }
  const tables = await context.api.tables(context.signal)
  return new ImportView(context, tables, tableId).view
}

class ImportView {
  readonly view: View
  readonly #context: ViewContext
  readonly #tables: readonly TableName[]
  readonly #tableId: string
  readonly #body = el('div', { class: 'steps' })
  readonly #drop: HTMLElement
  /** `done` while nobody has seen it. */
  #step: 'choosing' | 'begun' | 'done' | 'seen' = 'choosing'
  #ending = new AbortController()

  constructor(context: ViewContext, tables: readonly TableName[], tableId: string) {
    this.#context = context
    this.#tables = tables
    this.#tableId = tableId
    this.#drop = this.#dropZone()
    const element = el(
      'section',
      { class: 'page import' },
      el('h1', {}, TEXT.tabs.import),
      this.#drop,
      this.#body,
    )
    const warn = (event: BeforeUnloadEvent): void => {
      if (this.#isUnderWay) event.preventDefault()
    }
    addEventListener('beforeunload', warn)
    this.view = {
      element,
      title: TEXT.tabs.import,
      onFile: (file) => this.#take(file),
      onShown: () => {
        if (this.#step === 'done') this.#step = 'seen'
      },
      isGoingOn: () => this.#step === 'begun' || this.#step === 'done',
      close: () => {
        removeEventListener('beforeunload', warn)
        this.#ending.abort()
      },
    }
  }

  #dropZone(): HTMLElement {
    const input = el('input', {
      type: 'file',
      id: 'file',
      accept: '.csv,.tsv,.tab,.json,.ndjson,.jsonl,.gz',
    })
    input.addEventListener('change', () => this.#take(input.files?.[0]))
    const label = el(
      'label',
      { for: 'file', class: 'dropLabel' },
      el('strong', {}, TEXT.dropHere),
      TEXT.dropFormats,
    )
    return el('div', { class: 'drop' }, label, input)
  }

  /** Whether it is shown and stays so: another view is still shown for a moment after a person has left it. */
  get #isSeen(): boolean {
    return this.view.element.isConnected && location.hash.startsWith('#/import')
  }

  get #isUnderWay(): boolean {
    return this.#body.querySelector('progress') !== null
  }

  /** Begins with a file, in the place of one that was there. */
  #take(file: File | undefined): void {
    if (file === undefined) return
    if (this.#isUnderWay) {
      this.#context.say(TEXT.isUnderWay)
      return
    }
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#step = 'choosing'
    fill(this.#body)
    const { signal } = this.#ending
    const read = new ReadFile(file)
    const looked = isText(read).then((is) => {
      if (signal.aborted) return
      if (is) this.#prepare(read, formatOf(file))
      else fill(this.#body, problemOf(TEXT.noText(file.name)))
    })
    start(looked, this.#context.fail)
  }

  /** @param first - The format; undefined: a person must choose it. */
  #prepare(file: ReadFile, first: SourceFormat | undefined): void {
    const { api } = this.#context
    this.#step = 'choosing'
    this.#drop.hidden = false
    const preview = el('div', { class: 'preview' })
    const format = formatChoice(first)
    const formatNow = () => FORMATS.find((name) => name === format.value)
    const given = { name: plainName(file.file.name), tables: this.#tables, tableId: this.#tableId }
    const target = new TargetForm(api, given, this.#context.fail, () => look())
    const show = (shown: readonly Node[]): void => fill(preview, ...shown)
    const looks = new Looks()
    const look = (): void => {
      const { signal } = this.#ending
      const isLast = looks.next()
      const chosen = formatNow()
      if (chosen === undefined) {
        show([el('p', {}, TEXT.formatUnknown)])
        return
      }
      const looked = readSample(file, chosen).then(async (sample) => {
        if (!isLast()) return
        target.offerKeys(sample.columns)
        const where = target.target
        const check = where && (await checkSample(api, sample, where, target.onSchemaError, signal))
        if (isLast() && !signal.aborted) show(previewView(sample, check))
      })
      start(looked, (failure) => {
        if (isLast()) show([problemOf(messageOf(failure))])
      })
    }
    const begun = new BegunNotice(api, file, this.#context)
    const find = (): void => {
      const chosen = formatNow()
      if (chosen !== undefined) begun.find(chosen)
    }
    const begin = (): void => {
      const [chosen, how] = [target.target, formatNow()]
      if (how === undefined) format.focus()
      if (chosen === undefined || how === undefined) return
      const run = new ImportRun(api, begun.stashId, chosen, target.onSchemaError)
      this.#stage(run, file, how, target.onSchemaError)
    }
    format.addEventListener('change', () => {
      look()
      find()
    })
    fill(
      this.#body,
      el('h2', {}, file.file.name),
      el('div', { class: 'field' }, el('label', { for: 'format' }, TEXT.format), format),
      target.element,
      preview,
      begun.element,
      el('div', { class: 'actions' }, button(TEXT.beginImport, begin, { class: 'primary' })),
    )
    look()
    find()
  }

  #stage(run: ImportRun, file: ReadFile, format: SourceFormat, onSchemaError: OnSchemaError): void {
    const ending = new AbortController()
    const { signal } = ending
    this.#ending.signal.addEventListener('abort', () => ending.abort())
    const progress = new ProgressView(file, this.#context.now)
    this.#step = 'begun'
    this.#drop.hidden = true
    const cancel = button(TEXT.cancel, () => {
      ending.abort()
      this.#context.say(TEXT.cancelled)
      // A chunk that is under way would be staged again behind the deletion.
      void staged.catch(() => undefined).then(() => this.#giveUp(run, file, format))
    })
    fill(
      this.#body,
      el('h2', {}, file.file.name),
      progress.element,
      el('div', { class: 'actions' }, cancel),
    )
    const staged = run
      .stage(file, format, signal, (now) => progress.show(now))
      .then(async (rows) => {
        progress.say(TEXT.checking(rows))
        const check = await run.check(signal)
        if (check.problemCount === 0 && check.merge === undefined) {
          cancel.remove() // Whether a commit that was cancelled took place would not be known.
          return this.#commit(run, signal, progress)
        }
        this.#report(run, check, onSchemaError, file, format)
      })
    start(staged, (failure) => {
      if (signal.aborted) return
      const again = (): void => this.#stage(run, file, format, onSchemaError)
      this.#fail(failure, again, () => this.#giveUp(run, file, format))
    })
  }

  async #commit(run: ImportRun, signal: AbortSignal, progress: ProgressView): Promise<void> {
    progress.say(TEXT.committing)
    const done = await run.commit(signal)
    this.#drop.hidden = false
    this.#step = this.#isSeen ? 'seen' : 'done'
    fill(this.#body, ...doneView(done))
    this.#context.say(TEXT.imported)
  }

  /** Shows what does not fit, and what a merge would do. Whoever allowed misfits beforehand may go on. */
  #report(
    run: ImportRun,
    check: Check,
    onSchemaError: OnSchemaError,
    file: ReadFile,
    format: SourceFormat,
  ): void {
    const goOn = (): void => {
      const progress = new ProgressView(file, this.#context.now)
      fill(this.#body, progress.element)
      start(this.#commit(run, this.#ending.signal, progress), (failure) =>
        this.#fail(failure, goOn, change),
      )
    }
    const change = (): void => this.#giveUp(run, file, format)
    const isFitting = check.problemCount === 0
    const go = button(isFitting ? TEXT.merge : TEXT.importAnyway, goOn, { class: 'primary' })
    if (!this.#isSeen) this.#context.say(TEXT.importWaits)
    fill(
      this.#body,
      el('h2', {}, file.file.name),
      el('p', {}, TEXT.nothingImported),
      ...checkView(check),
      el(
        'div',
        { class: 'actions' },
        isFitting || onSchemaError === 'dropColumns' ? go : null,
        button(TEXT.changeImport, change),
      ),
    )
  }

  /** Deletes what was staged, and begins anew. */
  #giveUp(run: ImportRun, file: ReadFile, format: SourceFormat): void {
    start(
      run.discard().then(() => this.#prepare(file, format)),
      this.#context.fail,
    )
  }

  #fail(failure: unknown, again: () => void, giveUp: () => void): void {
    const message = messageOf(failure)
    if (!this.#isSeen) this.#context.fail(new Error(TEXT.importStopped(message)))
    this.#drop.hidden = false
    const retry = button(TEXT.goOn, again, { class: 'primary' })
    fill(
      this.#body,
      problemOf(message),
      el('p', { class: 'muted' }, TEXT.goOnHelp),
      el('div', { class: 'actions' }, retry, button(TEXT.beginAnew, giveUp)),
    )
  }
}

function formatChoice(chosen: SourceFormat | undefined): HTMLSelectElement {
  const format = el(
    'select',
    { id: 'format' },
    chosen === undefined ? el('option', { value: '' }, TEXT.chooseFormat) : null,
    ...FORMATS.map((name) => el('option', { value: name }, name.toUpperCase())),
  )
  format.value = chosen ?? ''
  return format
}

function problemOf(message: string): HTMLElement {
  return el('p', { class: 'problem', role: 'alert' }, message)
}
