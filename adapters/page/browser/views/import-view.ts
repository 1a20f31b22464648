// The import of a file: choose it, preview it, stage it, and commit it.
import type { OnSchemaError } from '../../../../src/client/import-types.js'
import type { TableName } from '../base/api.js'
import { button, el, fill, start } from '../base/dom.js'
import { wordsOf } from '../base/failure-words.js'
import { shownBytes } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { DialectForm } from '../import/dialect-form.js'
import { dropZone } from '../import/drop-zone.js'
import { mayGoOn } from '../import/failures.js'
import { findFormat, type GivenReading, plainName, type Reading } from '../import/import-file.js'
import {
  type ColumnChoice,
  checkView,
  doneView,
  ProgressView,
  previewView,
} from '../import/import-parts.js'
import {
  addColumns,
  type Check,
  checkSample,
  ImportRun,
  readSampleFor,
  type Target,
} from '../import/import-run.js'
import { TargetForm } from '../import/import-target.js'
import { countMisfits, lackingColumns } from '../import/problem-groups.js'
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

/** An import under way. */
type Begun = Readonly<{
  run: ImportRun
  file: File
  reading: Reading
  target: Target
  onSchemaError: OnSchemaError
}>

/** What is read before an import. */
type Looked = Readonly<{
  file: File
  reading: Reading
  form: DialectForm
  target: TargetForm
  choice: ColumnChoice
}>

class ImportView {
  readonly view: View
  readonly #context: ViewContext
  readonly #tables: readonly TableName[]
  readonly #tableId: string
  readonly #body = el('div', { class: 'steps' })
  readonly #drop: HTMLElement
  /** `done`: the file is imported, but nobody has seen that yet. Then `seen`. */
  #step: 'choosing' | 'begun' | 'done' | 'seen' = 'choosing'
  #ending = new AbortController()
  /** The staged import that does not fit. Another file replaces it, such as a corrected one. */
  #refused: ImportRun | undefined

  constructor(context: ViewContext, tables: readonly TableName[], tableId: string) {
    this.#context = context
    this.#tables = tables
    this.#tableId = tableId
    this.#drop = dropZone((file) => this.#take(file))
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

  /** Whether the view is shown and stays shown: for a moment after a person leaves it, a view is still shown. */
  get #isSeen(): boolean {
    return this.view.element.isConnected && location.hash.startsWith('#/import')
  }

  get #isUnderWay(): boolean {
    return this.#body.querySelector('progress') !== null
  }

  /** Begins with a file, which replaces the previous one. */
  #take(file: File): void {
    if (this.#isUnderWay) {
      this.#context.say(TEXT.isUnderWay)
      return
    }
    this.#ending.abort()
    this.#ending = new AbortController()
    const { signal } = this.#ending
    const refused = this.#refused
    this.#refused = undefined
    const prepare = async (): Promise<void> => {
      await refused?.discard()
      const format = await findFormat(file)
      if (!signal.aborted) this.#prepare(file, { format })
    }
    start(prepare(), this.#context.fail)
  }

  /** @param said - How the file is read, as far as it is known. */
  #prepare(file: File, said: GivenReading): void {
    const { api } = this.#context
    this.#step = 'choosing'
    this.#showZone(true)
    const preview = el('div', { class: 'preview' })
    const given = { name: plainName(file.name), tables: this.#tables, tableId: this.#tableId }
    const target = new TargetForm(api, given, this.#context.fail, () => look())
    const omitted = new Set(said.omits)
    const changed = (): void => {
      look()
      begun.find(reading())
    }
    const form = new DialectForm(said, changed)
    const reading = (): Reading => ({
      ...form.reading,
      ...(omitted.size > 0 && { omits: [...omitted] }),
    })
    const choose = (column: string, isTaken: boolean): void => {
      if (isTaken) omitted.delete(column)
      else omitted.add(column)
      changed()
    }
    const begun = new BegunNotice(api, file, this.#context)
    const begin = (): void => {
      const { target: chosen, onSchemaError } = target
      if (chosen === undefined) return
      const run = new ImportRun(api, begun.stash, chosen, onSchemaError)
      this.#stage({ run, file, reading: reading(), target: chosen, onSchemaError })
    }
    const go = button(TEXT.beginImport, begin, { class: 'primary' })
    const looks = new Looks()
    const look = (): void => {
      const { signal } = this.#ending
      const isLast = looks.next()
      const show = (shown: readonly Node[], canBegin: boolean): void => {
        if (!isLast() || signal.aborted) return
        const { activeElement } = document
        const focused = preview.contains(activeElement) ? activeElement?.id : undefined
        fill(preview, ...shown)
        if (focused) document.getElementById(focused)?.focus() // The new checkbox of the same column.
        go.hidden = !canBegin
      }
      const choice = { omitted: [...omitted], choose }
      const about = { file, reading: reading(), form, target, choice }
      const looked = this.#look(about, isLast, look)
      start(
        looked.then((shown) => show(shown, true)),
        (failure) => show([problemOf(wordsOf(failure))], false),
      )
    }
    target.element.append(go)
    const size = el('span', { class: 'muted' }, ` ${shownBytes(file.size)}`)
    const title = el('h2', {}, file.name, size)
    fill(this.#body, title, form.element, target.element, begun.element, preview)
    changed()
  }

  /** The first rows of a file, and what they would become. @throws {Error} if they cannot be read */
  async #look(
    { file, reading, form, target, choice }: Looked,
    isLast: () => boolean,
    again: () => void,
  ): Promise<readonly Node[]> {
    const { api } = this.#context
    const { signal } = this.#ending
    const { onSchemaError } = target
    const sample = await readSampleFor(api, file, reading, target.target, onSchemaError, signal)
    if (!isLast()) return []
    form.tell(sample.report)
    target.offerKeys(sample.columns)
    const where = target.target
    const check = where && (await checkSample(api, sample, where, onSchemaError, signal))
    const lacking = check && this.#offerColumns(where, check, again)
    return [...(lacking ? [lacking] : []), ...previewView(sample, check, choice)]
  }

  /** Offers to add columns that a table lacks. */
  #offerColumns(target: Target, check: Check, added: () => void): HTMLElement | undefined {
    const columns = lackingColumns(check)
    if (target.mode === 'create' || columns.length === 0) return undefined
    const { api, say, fail } = this.#context
    const add = button(TEXT.addAsText, () => {
      const adding = addColumns(api, target.tableId, columns).then(() => {
        say(TEXT.columnsWereAdded(columns.length))
        added()
      })
      start(adding, fail)
    })
    return el('div', { class: 'notice' }, el('span', {}, TEXT.lacksColumns(columns)), add)
  }

  /** The drop zone: large before there is a file, and hidden during an import. */
  #showZone(isShown: boolean, isSmall = isShown): void {
    this.#drop.hidden = !isShown
    this.#drop.classList.toggle('small', isSmall)
  }

  #stage(begun: Begun): void {
    const { run, file, reading } = begun
    const ending = new AbortController()
    const { signal } = ending
    this.#ending.signal.addEventListener('abort', () => ending.abort())
    const progress = new ProgressView(file, this.#context.now)
    this.#step = 'begun'
    this.#showZone(false)
    const cancel = button(TEXT.cancel, () => {
      ending.abort()
      this.#context.say(TEXT.cancelled)
      // Otherwise a chunk under way would be staged again after the deletion.
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
      .then((rows) => {
        progress.say(TEXT.checking(rows))
        return this.#check(begun, signal, progress, () => cancel.remove())
      })
    start(staged, (failure) => {
      if (signal.aborted) return
      const again = (): void => this.#stage(begun)
      this.#fail(failure, again, () => this.#giveUp(begun))
    })
  }

  /** Commits the staged rows if all fit; otherwise a person decides. @param onCommit - Called before a commit. */
  async #check(
    begun: Begun,
    signal: AbortSignal,
    progress: ProgressView,
    onCommit: () => void = () => undefined,
  ): Promise<void> {
    const { run } = begun
    const check = await run.check(signal)
    if (check.problemCount > 0 || check.merge !== undefined) return this.#report(begun, check)
    onCommit() // No cancelling from here on: whether the commit took place would be unknown.
    return this.#commit(run, signal, progress)
  }

  async #commit(run: ImportRun, signal: AbortSignal, progress: ProgressView): Promise<void> {
    progress.say(TEXT.committing)
    const done = await run.commit(signal)
    this.#showZone(true)
    this.#step = this.#isSeen ? 'seen' : 'done'
    fill(this.#body, ...doneView(done))
    this.#takeFocus('a')
    if (this.#step === 'done') this.#context.say(TEXT.imported)
  }

  /** Shows the misfits, and the effect of a merge. A person who has allowed misfits may continue. */
  #report(begun: Begun, check: Check): void {
    const { run, file, target, onSchemaError } = begun
    const { signal } = this.#ending
    const change = (): void => this.#giveUp(begun)
    const goOn = (work: (progress: ProgressView) => Promise<void>): void => {
      this.#refused = undefined
      const progress = new ProgressView(file, this.#context.now)
      fill(this.#body, el('h2', {}, file.name), progress.element)
      start(work(progress), (failure) => this.#fail(failure, () => goOn(work), change))
    }
    const commit = (): void => goOn((progress) => this.#commit(run, signal, progress))
    const lacking = this.#offerColumns(target, check, () =>
      goOn((progress) => {
        progress.say(TEXT.checkingAgain)
        return this.#check(begun, signal, progress)
      }),
    )
    const isFitting = check.problemCount === 0
    const go = button(isFitting ? TEXT.merge : TEXT.importAnyway, commit, { class: 'primary' })
    const canGo = isFitting || onSchemaError === 'dropColumns'
    if (!this.#isSeen) this.#context.say(TEXT.importWaits)
    this.#refused = run
    this.#showZone(true)
    const actions = el(
      'div',
      { class: 'actions' },
      canGo ? go : null,
      button(TEXT.changeImport, change),
    )
    const help = countMisfits(check) === 0 || canGo ? null : el('p', {}, TEXT.misfitsHelp)
    const said = el('p', {}, TEXT.nothingImported)
    const title = el('h2', {}, file.name)
    fill(this.#body, title, said, lacking, ...checkView(check), help, actions)
    this.#takeFocus('button')
  }

  /** The pressed button has disappeared: the next one gets the focus, unless a person is elsewhere. */
  #takeFocus(next: 'a' | 'button'): void {
    const { activeElement } = document
    if (!this.#isSeen || (activeElement !== null && activeElement !== document.body)) return
    this.#body.querySelector<HTMLElement>(next)?.focus()
  }

  /** Deletes the staged rows, and starts anew. */
  #giveUp({ run, file, reading }: Begun): void {
    this.#refused = undefined
    start(
      run.discard().then(() => this.#prepare(file, reading)),
      this.#context.fail,
    )
  }

  #fail(failure: unknown, again: () => void, change: () => void): void {
    const message = wordsOf(failure)
    const isMendable = mayGoOn(failure)
    if (!this.#isSeen) {
      const text = isMendable ? TEXT.importStopped(message) : TEXT.importFailed(message)
      this.#context.fail(new Error(text))
    }
    this.#showZone(true)
    const retry = button(TEXT.goOn, again, { class: 'primary' })
    const anew = button(isMendable ? TEXT.beginAnew : TEXT.changeImport, change)
    fill(
      this.#body,
      problemOf(message),
      el('p', { class: 'muted' }, isMendable ? TEXT.goOnHelp : TEXT.nothingImported),
      el('div', { class: 'actions' }, isMendable ? retry : null, anew),
    )
    this.#takeFocus('button')
  }
}

function problemOf(message: string): HTMLElement {
  return el('p', { class: 'problem', role: 'alert' }, message)
}
