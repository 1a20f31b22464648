// The import of a file: choose it, see what it has, stage it, and commit it.
import type { SourceFormat } from '../../../src/base/source-format.js'
import type { OnSchemaError } from '../../../src/client/import-types.js'
import type { TableName } from './api.js'
import { button, el, fill, messageOf, start } from './dom.js'
import { BegunNotice, Looks } from './import-begun.js'
import { FORMATS, formatOf, isText, plainName, ReadFile, readSample } from './import-file.js'
import { checkView, doneView, ProgressView, previewView } from './import-parts.js'
import { type Check, checkSample, ImportRun } from './import-run.js'
import { TargetForm } from './import-target.js'
import type { View, ViewContext } from './shell.js'
import { TEXT } from './texts.js'

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
      close: () => {
        removeEventListener('beforeunload', warn)
        if (this.#isUnderWay) context.say(TEXT.importLeft)
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
    const format = formatOf(file)
    if (format !== undefined) {
      this.#prepare(new ReadFile(file), format)
      return
    }
    const { signal } = this.#ending
    start(
      isText(file).then((is) => {
        if (signal.aborted) return
        if (is) this.#prepare(new ReadFile(file), 'csv')
        else this.#context.say(TEXT.noText(file.name))
      }),
      this.#context.fail,
    )
  }

  #prepare(file: ReadFile, first: SourceFormat): void {
    const { api } = this.#context
    this.#drop.hidden = false
    const preview = el('div', { class: 'preview' })
    const format = el(
      'select',
      { id: 'format' },
      ...FORMATS.map((name) => el('option', { value: name }, name.toUpperCase())),
    )
    format.value = first
    const given = { name: plainName(file.file.name), tables: this.#tables, tableId: this.#tableId }
    const target = new TargetForm(api, given, this.#context.fail, () => look())
    const show = (shown: readonly Node[]): void => fill(preview, ...shown)
    const looks = new Looks()
    const look = (): void => {
      const { signal } = this.#ending
      const isLast = looks.next()
      const looked = readSample(file, format.value as SourceFormat).then(async (sample) => {
        if (!isLast()) return
        target.offerKeys(sample.columns)
        const where = target.target
        const check = where && (await checkSample(api, sample, where, target.onSchemaError, signal))
        if (isLast() && !signal.aborted) show(previewView(sample, check))
      })
      start(looked, (failure) => {
        if (isLast()) show([el('p', { class: 'problem', role: 'alert' }, messageOf(failure))])
      })
    }
    const begun = new BegunNotice(api, file, this.#context)
    const find = (): void => begun.find(format.value as SourceFormat)
    const begin = (): void => {
      const chosen = target.target
      if (chosen === undefined) return
      const run = new ImportRun(api, begun.stashId, chosen, target.onSchemaError)
      this.#stage(run, file, format.value as SourceFormat, target.onSchemaError)
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
        if (check.problemCount === 0) {
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
    fill(this.#body, ...doneView(done))
    this.#context.say(TEXT.imported)
  }

  /** Shows what does not fit. Whoever allowed it beforehand may go on. */
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
    fill(
      this.#body,
      el('h2', {}, file.file.name),
      el('p', {}, TEXT.nothingImported),
      ...checkView(check),
      el(
        'div',
        { class: 'actions' },
        onSchemaError === 'abort' ? null : button(TEXT.importAnyway, goOn, { class: 'primary' }),
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
    const message = el('p', { class: 'problem', role: 'alert' }, messageOf(failure))
    this.#drop.hidden = false
    const retry = button(TEXT.goOn, again, { class: 'primary' })
    fill(
      this.#body,
      message,
      el('p', { class: 'muted' }, TEXT.goOnHelp),
      el('div', { class: 'actions' }, retry, button(TEXT.beginAnew, giveUp)),
    )
  }
}
