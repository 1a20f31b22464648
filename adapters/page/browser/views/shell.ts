// The frame of every view: the head with links to the views, the place for messages, and the choice of the view by the
// part of the address after `#`, which browsers do not send.

import { systemClock } from '../../../../src/base/clock.js'
import { messageOf } from '../../../../src/base/shown-text.js'
import { type Api, isRefused } from '../base/api.js'
import { button, el, fill, setAttributes, setText, shownText } from '../base/dom.js'
import type { PageSession } from '../base/session.js'
import * as TEXT from '../base/texts.js'
import { WidthsOfTables } from '../grid/grid-columns.js'

export type View = Readonly<{
  element: HTMLElement
  title: string
  /** Called once the view is in the document. */
  onShown?: () => void
  /** Takes the focus, if the view had the focus before it was reopened. */
  focus?: () => void
  /** Takes a file that was dropped anywhere on the page. Files that no view takes open the import. */
  onFile?: (file: File) => void
  /** Whether the view continues in the background: then it is not closed, and returns when its tab is opened. */
  isGoingOn?: () => boolean
  close(): void
}>

export type ViewContext = Readonly<{
  api: Api
  session: PageSession
  /** Ends when another view is opened. */
  signal: AbortSignal
  now: () => number
  widths: WidthsOfTables
  /** Shows a message. */
  say: (message: string) => void
  /** Shows a failure. */
  fail: (failure: unknown) => void
  /** Opens the view again. */
  reload: () => void
  /** The view's part of the address, after a question mark. */
  query: string
  /** Changes the view's part of the address. @param isNew - Whether the back button returns to the previous one. */
  setQuery: (query: string, isNew: boolean) => void
  /** Opens another view, by its part of the address after `#`. */
  go: (place: string) => void
  /** Takes a file as if it were dropped. */
  take: (file: File) => void
}>

/** Whether a person may write. Their key may turn out to be read-only. */
export function mayWrite({ session }: ViewContext): boolean {
  return session.mode === 'key' || session.writable
}

/** Opens the view of a place, whose parameters are decoded. */
export type OpenView = (context: ViewContext, parameter: string) => Promise<View>

/** After this time, in milliseconds, a view is reported as loading. */
const SLOW_MS = 250

const TABS = ['tables', 'import', 'stored', 'health'] as const

export class Shell {
  readonly #api: Api
  readonly #session: PageSession
  readonly #views: Readonly<Record<string, OpenView>>
  readonly #main = el('main', { id: 'main', tabindex: -1 })
  readonly #said = el('div', { class: 'said', role: 'status' })
  readonly #failed = el('div', { class: 'failed', role: 'alert', hidden: true })
  readonly #tabs: readonly HTMLElement[]
  readonly #onSignOut: () => void
  #view: View | undefined
  /** The name of the shown view, and the views that continue in the background. */
  #name = ''
  readonly #goingOn = new Map<string, View>()
  readonly #widths = new WidthsOfTables()
  /** The last place opened, without its query. */
  #opened: string | undefined
  #slow: ReturnType<typeof setTimeout> | undefined
  #ending = new AbortController()
  #quiet: ReturnType<typeof setTimeout> | undefined
  /** A file that was dropped on another view than the import. */
  #dropped: File | undefined

  constructor(
    api: Api,
    session: PageSession,
    views: Readonly<Record<string, OpenView>>,
    onSignOut: () => void,
  ) {
    this.#api = api
    this.#session = session
    this.#views = views
    this.#onSignOut = onSignOut
    this.#tabs = TABS.map((name) => el('a', { href: `#/${name}` }, TEXT.tabs[name]))
  }

  open(): void {
    const skip = button(TEXT.skip, () => this.#main.focus(), { class: 'skip' })
    const head = el(
      'header',
      { class: 'top' },
      el('span', { class: 'brand' }, 'rowstash'),
      el('nav', { 'aria-label': TEXT.views }, ...this.#tabs),
      this.#place(),
    )
    this.#api.onRetry = () => this.#say(TEXT.retrying)
    fill(document.body, skip, head, this.#failed, this.#main, this.#said)
    addEventListener('hashchange', () => this.#show())
    takeDrops((files) => this.#drop(files))
    this.#show()
  }

  #place(): HTMLElement {
    const session = this.#session
    if (session.mode === 'key') {
      return el(
        'span',
        { class: 'where' },
        button(TEXT.signOut, this.#onSignOut, { class: 'plain' }),
      )
    }
    const right = session.writable ? TEXT.writable : TEXT.readOnly
    const badge = el('span', { class: 'badge' }, right)
    return el('span', { class: 'where' }, el('span', { class: 'store' }, session.place), badge)
  }

  #show(): void {
    const [place = '', query = ''] = splitOnce(location.hash.slice(1), '?')
    const [, name = 'tables', given = ''] = place.split('/')
    const open = this.#views[name] ?? this.#views['tables']
    this.#ending.abort()
    this.#ending = new AbortController()
    const { signal } = this.#ending
    this.#failed.hidden = true
    for (const tab of this.#tabs) {
      const isShown = tab.getAttribute('href') === `#/${name === 'table' ? 'tables' : name}`
      if (isShown) tab.setAttribute('aria-current', 'page')
      else tab.removeAttribute('aria-current')
    }
    const there = name === this.#name ? this.#view : this.#goingOn.get(name)
    if (there?.isGoingOn?.() === true) {
      this.#put(name, there)
      return
    }
    const isThere = place === this.#opened
    this.#opened = place
    clearTimeout(this.#slow)
    this.#slow = setTimeout(() => this.#wait(true), SLOW_MS)
    open?.(this.#contextOf(signal, place, query), decode(given)).then(
      (view) => {
        if (signal.aborted) view.close()
        else this.#put(name, view)
      },
      (failure: unknown) => {
        if (signal.aborted) return
        this.#wait(false)
        this.#fail(failure)
        // Nothing of the previous view may be mistaken for this one.
        if (!isThere) this.#put(name, emptyView())
      },
    )
  }

  #wait(isSlow: boolean): void {
    clearTimeout(this.#slow)
    setAttributes(this.#main, { 'aria-busy': isSlow && 'true' })
  }

  #put(name: string, view: View): void {
    this.#wait(false)
    const before = this.#view
    const hadFocus = name === this.#name && this.#main.contains(document.activeElement)
    this.#goingOn.delete(name)
    if (before !== undefined && before !== view) {
      if (before.isGoingOn?.() === true) this.#goingOn.set(this.#name, before)
      else before.close()
    }
    this.#view = view
    this.#name = name
    document.title = shownText(TEXT.titleOf(view.title))
    fill(this.#main, view.element)
    view.onShown?.()
    if (hadFocus) view.focus?.()
    const dropped = this.#dropped
    this.#dropped = undefined
    if (dropped !== undefined) view.onFile?.(dropped)
  }

  #drop([file, ...more]: readonly File[]): void {
    if (file === undefined) return
    if (more.length > 0) this.#say(TEXT.oneFile)
    if (this.#view?.onFile !== undefined) {
      this.#view.onFile(file)
      return
    }
    this.#dropped = file
    location.hash = '#/import'
  }

  #contextOf(signal: AbortSignal, place: string, query: string): ViewContext {
    return {
      api: this.#api,
      session: this.#session,
      signal,
      now: () => systemClock.now(),
      widths: this.#widths,
      say: (message) => this.#say(message),
      fail: (failure) => this.#fail(failure),
      reload: () => this.#show(),
      query,
      setQuery: (text, isNew) => {
        const hash = text === '' ? `#${place}` : `#${place}?${text}`
        if (signal.aborted || hash === location.hash) return
        history[isNew ? 'pushState' : 'replaceState'](null, '', hash)
      },
      go: (place) => {
        location.hash = place
      },
      take: (file) => this.#drop([file]),
    }
  }

  #say(message: string): void {
    clearTimeout(this.#quiet)
    setText(this.#said, message)
    this.#quiet = setTimeout(() => fill(this.#said), 4_000)
  }

  #fail(failure: unknown): void {
    const again = button(TEXT.tryAgain, () => this.#show())
    const isOfKey = this.#session.mode === 'key' && isRefused(failure)
    const other = isOfKey ? button(TEXT.otherKey, this.#onSignOut) : null
    fill(this.#failed, el('span', {}, messageOf(failure)), again, other)
    this.#failed.hidden = false
  }
}

function splitOnce(text: string, by: string): readonly string[] {
  const at = text.indexOf(by)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + by.length)]
}

/** Replaces a view that cannot be shown; the failure is shown above it. */
function emptyView(): View {
  const element = el('section', { class: 'page' }, el('h1', {}, TEXT.notShown))
  return { element, title: TEXT.notShown, close: () => undefined }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A drag counts as ended this long after its last report, in milliseconds: browsers do not always report its end. */
const OVER_MS = 1_000

function hasFiles(dragged: DataTransfer | null): boolean {
  return dragged?.types.includes('Files') === true
}

/** Takes files that are dropped where no view accepts them. Otherwise the browser would replace the page by them. */
function takeDrops(onFiles: (files: readonly File[]) => void): void {
  const over = el('div', { class: 'over', hidden: true }, el('strong', {}, TEXT.dropNow))
  document.body.append(over)
  let hides: ReturnType<typeof setTimeout> | undefined
  const mark = (isOver: boolean): void => {
    over.hidden = !isOver
    clearTimeout(hides)
    if (isOver) hides = setTimeout(() => mark(false), OVER_MS)
  }
  // Captured before any view gets them, so that a drop that a view accepts itself also ends the mark.
  const early = { capture: true }
  addEventListener('dragover', ({ dataTransfer }) => mark(hasFiles(dataTransfer)), early)
  addEventListener('dragleave', ({ relatedTarget }) => mark(relatedTarget !== null), early)
  addEventListener('drop', () => mark(false), early)
  addEventListener('dragover', (event) => {
    if (hasFiles(event.dataTransfer)) event.preventDefault()
  })
  addEventListener('drop', (event) => {
    const { files } = event.dataTransfer ?? {}
    if (event.defaultPrevented || files === undefined || files.length === 0) return
    event.preventDefault()
    onFiles([...files])
  })
}
