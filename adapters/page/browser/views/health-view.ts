// How the server does: its metrics, read every two seconds while the view is open, and a verification on demand.
import { messageOf } from '../../../../src/base/shown-text.js'
import { ClientError } from '../../../../src/client/client-error.js'
import type { Api } from '../base/api.js'
import { type Child, el, fill, setText, start } from '../base/dom.js'
import { bytesByKind } from '../base/held.js'
import { Plot } from '../base/plot.js'
import { parseMetrics, quantile, type Samples, total, totalsBy } from '../base/prometheus.js'
import { shownAge, shownBytes, shownCount, shownShort, shownTime } from '../base/show.js'
import { TEXT } from '../base/texts.js'
import type { View, ViewContext } from './shell.js'
import { verifyPart } from './verify-part.js'

const READ_MS = 2_000
/** What a plot shows. */
const PERIOD = { minutes: 4, pointsMax: (4 * 60_000) / READ_MS }
/** Of a wrong key, and of a server without admin keys, which does not know the path. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404])

const perSecond = (value: number): string => TEXT.perSecond(shownShort(value))
const inMs = (seconds: number): string =>
  Number.isFinite(seconds) ? TEXT.within(shownShort(seconds * 1_000)) : TEXT.beyond

type Reading = Readonly<{ samples: Samples; at: number }>

/** A plot, and its value between two readings. */
type PlotOf = Readonly<{
  plot: Plot
  value: (before: Reading, after: Reading) => number | undefined
}>

export async function openHealth(context: ViewContext): Promise<View> {
  const view = new HealthView(context)
  return {
    element: view.element,
    title: TEXT.tabs.health,
    onShown: () => view.begin(),
    close: () => view.close(),
  }
}

class HealthView {
  readonly element = el('section', { class: 'page' })
  readonly #context: ViewContext
  readonly #api: Api
  readonly #facts = el('div', { class: 'plots' })
  readonly #problem = el('p', { class: 'problem', role: 'alert' })
  readonly #plots = plots()
  #last: Reading | undefined
  /** Bytes by kind: those of the last garbage collection, or else of the lists. */
  #held: ReadonlyMap<string, number> = new Map()
  #isCounted = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(context: ViewContext) {
    this.#context = context
    this.#api = context.api
  }

  begin(): void {
    if (this.#api.adminKey === undefined) this.#askForKey()
    else this.#showAll()
  }

  #showAll(): void {
    fill(
      this.element,
      el('h1', {}, TEXT.tabs.health),
      this.#problem,
      el('div', { class: 'plots' }, ...this.#plots.map(({ plot }) => plot.element)),
      this.#facts,
      verifyPart(this.#context, () => sumHeldBytes(this.#held)),
    )
    this.#read()
  }

  /** Asks the lists, once: a store that does no maintenance has not counted its bytes. */
  #count(): void {
    if (this.#isCounted) return
    this.#isCounted = true
    const counted = bytesByKind(this.#api, this.#context.signal).then((held) => {
      if (this.#held.size === 0) this.#held = held
    })
    start(counted, () => undefined)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #askForKey(): void {
    const input = el('input', {
      type: 'password',
      id: 'admin-key',
      autocomplete: 'off',
      required: true,
    })
    const form = el(
      'form',
      { class: 'signIn' },
      el('label', { for: 'admin-key' }, TEXT.adminKey),
      input,
      el('p', { class: 'muted' }, TEXT.adminKeyHelp),
      el('button', { type: 'submit', class: 'primary' }, TEXT.showHealth),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#api.adminKey = input.value.trim()
      this.begin()
    })
    fill(this.element, el('h1', {}, TEXT.tabs.health), this.#problem, form)
  }

  #read(): void {
    const again = (): void => {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#read(), READ_MS)
    }
    if (document.hidden) {
      again()
      return
    }
    const read = this.#api.metrics(this.#context.signal).then((text) => {
      setText(this.#problem, '')
      this.#show({ samples: parseMetrics(text), at: performance.now() })
    })
    start(read.then(again), (failure) => {
      setText(this.#problem, messageOf(failure))
      if (this.#api.adminKey !== null && isRefusedKey(failure)) {
        this.#api.adminKey = undefined
        this.#askForKey()
      } else {
        again()
      }
    })
  }

  #show(now: Reading): void {
    const before = this.#last ?? now
    for (const { plot, value } of this.#plots) plot.add(value(before, now))
    this.#last = now
    const { samples } = now
    const counted = totalsBy(samples, 'held_bytes', 'kind')
    if (counted.size > 0) this.#held = counted
    else this.#count()
    const began = total(samples, 'process_start_time_seconds') * 1_000
    const { session, now: time } = this.#context
    const isQuiet = session.mode === 'session' && !session.writable
    const state: Fact[] = [
      [TEXT.accepts, total(samples, 'writable') === 1 ? TEXT.yes : TEXT.no],
      [TEXT.jobsRunning, shownCount(total(samples, 'jobs_running'))],
      [TEXT.runsSince, renderAge(began, time())],
    ]
    const kinds = Object.entries(TEXT.held).map(([kind, name]): Fact => {
      const bytes = this.#held.get(kind)
      return [name, bytes === undefined ? TEXT.unknown : shownBytes(bytes)]
    })
    fill(
      this.#facts,
      factsPart(TEXT.state, state),
      factsPart(TEXT.disk, kinds),
      factsPart(
        TEXT.maintenance,
        maintenanceFacts(samples, time()),
        isQuiet ? TEXT.noMaintenance : undefined,
      ),
    )
  }
}

type Fact = readonly [name: string, value: Child]

function factsPart(title: string, facts: readonly Fact[], note?: string): HTMLElement {
  const list = facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])
  return el(
    'section',
    { class: 'plot' },
    el('h2', {}, title),
    note === undefined ? el('dl', { class: 'facts' }, ...list) : el('p', { class: 'muted' }, note),
  )
}

/** When maintenance of each kind last ended. */
function maintenanceFacts(samples: Samples, now: number): readonly Fact[] {
  const times = totalsBy(samples, 'last_ended_timestamp_seconds', 'kind')
  return Object.entries(TEXT.maintenanceKinds).map(([kind, name]): Fact => {
    const seconds = times.get(kind)
    return [name, seconds === undefined ? TEXT.notYet : renderAge(seconds * 1_000, now)]
  })
}

function renderAge(at: number, now: number): HTMLElement {
  return el('span', { title: shownTime(at) }, shownAge(at, now))
}

/** Whether the key is not one of the server. A server that starts again says nothing about it. */
function isRefusedKey(failure: unknown): boolean {
  return failure instanceof ClientError && REFUSALS.has(failure.status)
}

function sumHeldBytes(held: ReadonlyMap<string, number>): number {
  return [...held.values()].reduce((all, bytes) => all + bytes, 0)
}

function plots(): readonly PlotOf[] {
  const rate = (title: string, name: string, show = perSecond): PlotOf => ({
    plot: new Plot(title, show, PERIOD),
    value: (before, after) => {
      const seconds = (after.at - before.at) / 1_000
      return seconds <= 0
        ? undefined
        : (total(after.samples, name) - total(before.samples, name)) / seconds
    },
  })
  const gauge = (title: string, name: string): PlotOf => ({
    plot: new Plot(title, shownBytes, PERIOD),
    value: (_, { samples }) => total(samples, name),
  })
  const latency = (title: string, share: number): PlotOf => ({
    plot: new Plot(title, inMs, PERIOD),
    value: (before, after) => quantile(before.samples, after.samples, 'request_seconds', share),
  })
  return [
    rate(TEXT.plots.requests, 'requests_total'),
    latency(TEXT.plots.median, 0.5),
    latency(TEXT.plots.slowest, 0.95),
    rate(TEXT.plots.rowsIn, 'rows_in_total'),
    rate(TEXT.plots.rowsOut, 'rows_out_total'),
    rate(TEXT.plots.commits, 'commits_total'),
    rate(TEXT.plots.written, 'written_bytes_total', (value) => TEXT.perSecond(shownBytes(value))),
    gauge(TEXT.plots.memory, 'process_resident_memory_bytes'),
    gauge(TEXT.plots.caches, 'cache_bytes'),
  ]
}
