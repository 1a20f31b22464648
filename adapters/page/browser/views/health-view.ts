// The state of the server: its metrics, read every two seconds while the view is open, and a verification on demand.
import { messageOf } from '../../../../src/base/shown-text.js'
import { ClientError } from '../../../../src/client/client-error.js'
import type { Api, Day, DaySample } from '../base/api.js'
import { type Child, el, fill, setText, start } from '../base/dom.js'
import { bytesByKind } from '../base/held.js'
import { type Period, Plot } from '../base/plot.js'
import { parseMetrics, quantile, type Samples, total, totalsBy } from '../base/prometheus.js'
import { shownAge, shownBytes, shownCount, shownShort, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import type { View, ViewContext } from './shell.js'
import { verifyPart } from './verify-part.js'

const READ_MS = 2_000
const DAY_MS = 24 * 3_600_000
/** The period of the plots while the view is open. */
const NOW: Period = { begin: TEXT.plotBegin.now, pointsMax: (4 * 60_000) / READ_MS }
/** Statuses for a wrong key, and for a server without admin keys, which does not know the path. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404])

const perSecond = (value: number): string => TEXT.perSecond(shownShort(value))
const inMs = (seconds: number): string =>
  Number.isFinite(seconds) ? TEXT.within(shownShort(seconds * 1_000)) : TEXT.beyond

type Reading = Readonly<{ samples: Samples; at: number }>

/** A plot. `value`: what it shows for the time between two readings. */
type PlotOf = Readonly<{
  plot: Plot
  value: (before: Reading, after: Reading) => number | undefined
  /** The value of a sample. @param seconds - The time that the sample covers. */
  ofDay: (sample: DaySample, seconds: number) => number | undefined
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
  /** The element with the problems, which is shown first. */
  readonly #state = el('div', { class: 'health', role: 'status' })
  readonly #period = el(
    'select',
    { 'aria-label': TEXT.period, onchange: () => this.#draw() },
    ...Object.entries(TEXT.periods).map(([value, text]) => el('option', { value }, text)),
  )
  #day: Day | undefined
  #dayTimer: ReturnType<typeof setTimeout> | undefined
  #last: Reading | undefined
  /** Bytes by kind: from the last garbage collection; otherwise from the lists. */
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
      el('div', { class: 'listHead' }, el('h1', {}, TEXT.tabs.health), this.#period),
      this.#problem,
      this.#state,
      el('div', { class: 'plots lines' }, ...this.#plots.map(({ plot }) => plot.element)),
      this.#facts,
      verifyPart(this.#context, () => sumHeldBytes(this.#held)),
    )
    this.#read()
    this.#readDay()
  }

  /** Reads the last day. A server that is older than the page does not report it. */
  #readDay(): void {
    const read = this.#api.day(this.#context.signal).then((day) => {
      if (this.#day === undefined && day.samples.length < 2) this.#period.value = 'now'
      this.#day = day
      this.#draw()
      if (!this.#isClosed)
        this.#dayTimer = setTimeout(() => this.#readDay(), (day.seconds * 1_000) / 5)
    })
    start(read, () => {
      this.#period.value = 'now'
      this.#period.hidden = true
    })
  }

  #draw(): void {
    const day = this.#period.value === 'day' ? this.#day : undefined
    const pointsMax = day === undefined ? NOW.pointsMax : DAY_MS / (day.seconds * 1_000)
    for (const { plot, ofDay } of this.#plots) {
      const values = day && valuesOfDay(day, this.#context.now(), ofDay)
      plot.drawInstead(values, { begin: TEXT.plotBegin.day, pointsMax })
    }
  }

  /** Shows what is wrong, or that nothing is. */
  #tell(samples: Samples): void {
    const failed = this.#day?.samples.filter((sample) => sample.failed > 0) ?? []
    const last = failed.at(-1)
    const waiting = total(samples, 'budget_waiting')
    const wrong = [
      total(samples, 'writable') === 1 ? '' : TEXT.notWritable,
      waiting === 0 ? '' : TEXT.waitForMemory(shownCount(waiting)),
      last === undefined
        ? ''
        : TEXT.requestsFailed(
            shownCount(failed.reduce((sum, sample) => sum + sample.failed, 0)),
            shownAge(last.at, this.#context.now()),
          ),
    ].filter((text) => text !== '')
    const well = this.#day === undefined ? TEXT.allWellNow : TEXT.allWell
    this.#state.classList.toggle('wrong', wrong.length > 0)
    const said = wrong.length > 0 ? wrong : [well]
    // Updated only when it changes, because a screen reader reads each update.
    if (this.#state.textContent !== said.join(''))
      fill(this.#state, ...said.map((text) => el('p', {}, text)))
  }

  /** Reads the lists once, because a store without maintenance has not counted its bytes. */
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
    clearTimeout(this.#dayTimer)
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
    this.#tell(samples)
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

/** Whether the server does not know the key. A restarting server says nothing about it. */
function isRefusedKey(failure: unknown): boolean {
  return failure instanceof ClientError && REFUSALS.has(failure.status)
}

function sumHeldBytes(held: ReadonlyMap<string, number>): number {
  return [...held.values()].reduce((all, bytes) => all + bytes, 0)
}

/** The last sample has not ended. Its rate is unreliable if it is shorter than this, in seconds. */
const SHORTEST_S = 60

/** A value for each interval since the first sample: without a sample nothing happened. */
function valuesOfDay(
  { seconds, samples }: Day,
  now: number,
  ofDay: PlotOf['ofDay'],
): readonly number[] {
  const values: number[] = []
  let at = samples[0]?.at ?? 0
  let last = 0
  for (const sample of samples) {
    for (; at < sample.at; at += seconds * 1_000) values.push(ofDay(IDLE, seconds) ?? last)
    const taken = Math.min(seconds, Math.max(SHORTEST_S, (now - sample.at) / 1_000))
    last = ofDay(sample, taken) ?? last
    values.push(last)
    at = sample.at + seconds * 1_000
  }
  return values
}

/** An interval without a request. Its times and memory are unknown. */
const IDLE: DaySample = {
  at: 0,
  requests: 0,
  failed: 0,
  rowsIn: 0,
  rowsOut: 0,
  commits: 0,
  writtenBytes: 0,
}

function plots(): readonly PlotOf[] {
  const rate = (
    title: string,
    name: string,
    member: 'requests' | 'rowsIn' | 'rowsOut' | 'commits' | 'writtenBytes',
    show = perSecond,
  ): PlotOf => ({
    plot: new Plot(title, show, NOW),
    value: (before, after) => {
      const seconds = (after.at - before.at) / 1_000
      return seconds <= 0
        ? undefined
        : (total(after.samples, name) - total(before.samples, name)) / seconds
    },
    ofDay: (sample, seconds) => sample[member] / seconds,
  })
  const gauge = (title: string, name: string, member: 'memoryBytes' | 'cacheBytes'): PlotOf => ({
    plot: new Plot(title, shownBytes, NOW),
    value: (_, { samples }) => total(samples, name),
    ofDay: (sample) => sample[member],
  })
  const latency = (
    title: string,
    share: number,
    member: 'medianSeconds' | 'slowSeconds',
  ): PlotOf => ({
    plot: new Plot(title, inMs, NOW),
    value: (before, after) => quantile(before.samples, after.samples, 'request_seconds', share),
    ofDay: (sample) => sample[member],
  })
  const titles = TEXT.plots
  return [
    rate(titles.requests, 'requests_total', 'requests'),
    latency(titles.median, 0.5, 'medianSeconds'),
    latency(titles.slowest, 0.95, 'slowSeconds'),
    rate(titles.rowsIn, 'rows_in_total', 'rowsIn'),
    rate(titles.rowsOut, 'rows_out_total', 'rowsOut'),
    rate(titles.commits, 'commits_total', 'commits'),
    rate(titles.written, 'written_bytes_total', 'writtenBytes', (value) =>
      TEXT.perSecond(shownBytes(value)),
    ),
    gauge(titles.memory, 'process_resident_memory_bytes', 'memoryBytes'),
    gauge(titles.caches, 'cache_bytes', 'cacheBytes'),
  ]
}
