// The import of a file: choose it, see what it has, stage it, and commit it.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { OnSchemaError } from '../../../../src/client/import-types.js'
import type { TableName } from '../base/api.js'
import { button, el, fill, start } from '../base/dom.js'
import { TEXT } from '../base/texts.js'
import { DialectForm } from '../import/dialect-form.js'
import {
  checkText,
  formatOf,
  type GivenReading,
  plainName,
  type Reading,
} from '../import/import-file.js'
import { checkView, doneView, ProgressView, previewView } from '../import/import-parts.js'
import { type Check, checkSample, ImportRun, readSampleFor } from '../import/import-run.js'
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

/** An import that was begun. */
type Begun = Readonly<{
  run: ImportRun
  file: File
  reading: Reading
  onSchemaError: OnSchemaError
}>

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
    this.#prepare(file)
  }

  /** @param said - How it is read, if a person has said it before. */
  #prepare(file: File, said: GivenReading = { format: formatOf(file) }): void {
    const { api } = this.#context
    this.#step = 'choosing'
    this.#drop.hidden = false
    const preview = el('div', { class: 'preview' })
    const given = { name: plainName(file.name), tables: this.#tables, tableId: this.#tableId }
    const changed = (): void => look()
    const target = new TargetForm(api, given, this.#context.fail, changed)
    const form = new DialectForm(said, () => {
      look()
      find()
    })
    const begun = new BegunNotice(api, file, this.#context)
    const begin = (): void => {
      const [chosen, reading] = [target.target, form.reading]
      if (reading === undefined) form.focus()
      if (chosen === undefined || reading === undefined) return
      const run = new ImportRun(api, begun.stashId, chosen, target.onSchemaError)
      this.#stage({ run, file, reading, onSchemaError: target.onSchemaError })
    }
    const actions = el(
      'div',
      { class: 'actions' },
      button(TEXT.beginImport, begin, { class: 'primary' }),
    )
    const looks = new Looks()
    const look = (): void => {
      const { signal } = this.#ending
      const isLast = looks.next()
      const show = (shown: readonly Node[], canBegin: boolean): void => {
        if (!isLast() || signal.aborted) return
        fill(preview, ...shown)
        actions.hidden = !canBegin
      }
      const looked = this.#look(file, form, target, isLast)
      start(
        looked.then((shown) => show(shown, true)),
        (failure) => show([problemOf(messageOf(failure))], false),
      )
    }
    const find = (): void => {
      if (form.reading !== undefined) begun.find(form.reading)
    }
    fill(
      this.#body,
      el('h2', {}, file.name),
      form.element,
      target.element,
      preview,
      begun.element,
      actions,
    )
    look()
    find()
  }

  /** What the first rows of a file are, and would become. @throws {Error} if they cannot be read */
  async #look(
    file: File,
    form: DialectForm,
    target: TargetForm,
    isLast: () => boolean,
  ): Promise<readonly Node[]> {
    const { api } = this.#context
    const { signal } = this.#ending
    const { reading } = form
    if (reading === undefined) {
      await checkText(file)
      return [el('p', {}, TEXT.formatUnknown)]
    }
    const { onSchemaError } = target
    const sample = await readSampleFor(api, file, reading, target.target, onSchemaError, signal)
    if (!isLast()) return []
    form.tell(sample.report)
    target.offerKeys(sample.columns)
    const where = target.target
    const check = where && (await checkSample(api, sample, where, onSchemaError, signal))
    return previewView(sample, check)
  }

  #stage(begun: Begun): void {
    const { run, file, reading } = begun
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
      void staged.catch(() => undefined).then(() => this.#giveUp(begun))
    })
    fill(
      this.#body,
      el('h2', {}, file.name),
      progress.element,
      el('div', { class: 'actions' }, cancel),
    )
    const staged = run
      .stage(file, reading, signal, (now) => progress.show(now))
      .then(async (rows) => {
        progress.say(TEXT.checking(rows))
        const check = await run.check(signal)
        if (check.problemCount === 0 && check.merge === undefined) {
          cancel.remove() // Whether a commit that was cancelled took place would not be known.
          return this.#commit(run, signal, progress)
        }
        this.#report(begun, check)
      })
    start(staged, (failure) => {
      if (signal.aborted) return
      const again = (): void => this.#stage(begun)
      this.#fail(failure, again, () => this.#giveUp(begun))
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
  #report(begun: Begun, check: Check): void {
    const { run, file, onSchemaError } = begun
    const goOn = (): void => {
      const progress = new ProgressView(file, this.#context.now)
      fill(this.#body, progress.element)
      start(this.#commit(run, this.#ending.signal, progress), (failure) =>
        this.#fail(failure, goOn, change),
      )
    }
    const change = (): void => this.#giveUp(begun)
    const isFitting = check.problemCount === 0
    const go = button(isFitting ? TEXT.merge : TEXT.importAnyway, goOn, { class: 'primary' })
    if (!this.#isSeen) this.#context.say(TEXT.importWaits)
    fill(
      this.#body,
      el('h2', {}, file.name),
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
  #giveUp({ run, file, reading }: Begun): void {
    start(
      run.discard().then(() => this.#prepare(file, reading)),
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

function problemOf(message: string): HTMLElement {
  return el('p', { class: 'problem', role: 'alert' }, message)
}
