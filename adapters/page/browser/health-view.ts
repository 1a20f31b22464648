// How the server does: its metrics, read every two seconds while the view is open, and a verification on demand.
import { readWebStream } from '../../../src/base/web-stream.js'
import type { Api } from './api.js'
import { button, el, fill, messageOf, start } from './dom.js'
import { Plot } from './plot.js'
import { parseMetrics, quantile, type Samples, total, totalsBy } from './prometheus.js'
import type { View, ViewContext } from './shell.js'
import { shownBytes, shownCount, shownShort, shownTime } from './show.js'
import { TEXT } from './texts.js'

const READ_MS = 2_000
/** Readings that a plot shows: four minutes. */
const POINTS = 120
/** Findings of a verification that are shown. */
const FINDINGS_MAX = 100

/** Upkeep whose last time is shown, by the names in the metric. */
const UPKEEP = ['sweep', 'fold', 'settle', 'backup'] as const

const perSecond = (value: number): string => `${shownShort(value)}/s`
const inMs = (seconds: number): string =>
  Number.isFinite(seconds) ? `≤ ${shownShort(seconds * 1_000)} ms` : '> 10 s'

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
  readonly #facts = el('dl', { class: 'facts' })
  readonly #problem = el('p', { class: 'problem', role: 'alert' })
  readonly #plots = plots()
  #last: Reading | undefined
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
      verifyPart(this.#context),
    )
    this.#read()
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
      this.#problem.textContent = ''
      this.#show({ samples: parseMetrics(text), at: performance.now() })
    })
    start(read.then(again), (failure) => {
      this.#problem.textContent = messageOf(failure)
      if (this.#api.adminKey !== null) {
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
    const held = [...totalsBy(samples, 'held_bytes', 'kind')].map(([kind, bytes]) => {
      return [TEXT.held(kind), shownBytes(bytes)] as const
    })
    const began = total(samples, 'process_start_time_seconds') * 1_000
    const facts = [
      [TEXT.accepts, total(samples, 'writable') === 1 ? TEXT.yes : TEXT.no],
      ...held,
      [TEXT.jobsRunning, shownCount(total(samples, 'jobs_running'))],
      [TEXT.sweeps, shownCount(total(samples, 'sweeps_total'))],
      [TEXT.folds, shownCount(total(samples, 'folds_total'))],
      ...lastTimes(samples),
      [TEXT.runsSince, shownTime(began)],
    ] as const
    fill(
      this.#facts,
      ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    )
  }
}

/** When upkeep of each kind last ended. */
function lastTimes(samples: Samples): readonly (readonly [string, string])[] {
  const times = totalsBy(samples, 'last_ended_timestamp_seconds', 'kind')
  return UPKEEP.map((kind) => {
    const seconds = times.get(kind)
    return [TEXT.last(kind), seconds === undefined ? TEXT.notYet : shownTime(seconds * 1_000)]
  })
}

function plots(): readonly PlotOf[] {
  const rate = (title: string, name: string, show = perSecond): PlotOf => ({
    plot: new Plot(title, show, POINTS),
    value: (before, after) => {
      const seconds = (after.at - before.at) / 1_000
      return seconds <= 0
        ? undefined
        : (total(after.samples, name) - total(before.samples, name)) / seconds
    },
  })
  const gauge = (title: string, name: string): PlotOf => ({
    plot: new Plot(title, shownBytes, POINTS),
    value: (_, { samples }) => total(samples, name),
  })
  const latency = (title: string, share: number): PlotOf => ({
    plot: new Plot(title, inMs, POINTS),
    value: (before, after) => quantile(before.samples, after.samples, 'request_seconds', share),
  })
  return [
    rate(TEXT.plots.requests, 'requests_total'),
    latency(TEXT.plots.median, 0.5),
    latency(TEXT.plots.slowest, 0.95),
    rate(TEXT.plots.rowsIn, 'rows_in_total'),
    rate(TEXT.plots.rowsOut, 'rows_out_total'),
    rate(TEXT.plots.commits, 'commits_total'),
    rate(TEXT.plots.written, 'written_bytes_total', (value) => `${shownBytes(value)}/s`),
    gauge(TEXT.plots.memory, 'process_resident_memory_bytes'),
    gauge(TEXT.plots.caches, 'cache_bytes'),
  ]
}

/** The verification of the store, which says what it finds while it goes on. */
function verifyPart(context: ViewContext): HTMLElement {
  const output = el('div', { role: 'status' })
  const run = (isFull: boolean): void => {
    const ending = new AbortController()
    const began = context.now()
    const clock = setInterval(() => tell(), 500)
    const text = el('span', {}, TEXT.verifying(0))
    const tell = (): void => {
      text.textContent = TEXT.verifying(Math.round((context.now() - began) / 1_000))
    }
    const findings = el('ul', {})
    context.signal.addEventListener('abort', () => ending.abort())
    fill(
      output,
      el('progress', { 'aria-label': TEXT.verify }),
      text,
      button(TEXT.cancel, () => ending.abort()),
      findings,
    )
    const done = verify(context.api, isFull, ending.signal, (finding) => {
      if (findings.children.length < FINDINGS_MAX) findings.append(el('li', {}, finding))
    }).then((report) => fill(output, el('p', {}, report), findings))
    done
      .catch((failure: unknown) => {
        const message = ending.signal.aborted ? TEXT.cancelled : messageOf(failure)
        fill(output, el('p', {}, message), findings)
      })
      .finally(() => clearInterval(clock))
  }
  return el(
    'section',
    { class: 'verify' },
    el('h2', {}, TEXT.verify),
    el('p', { class: 'muted' }, TEXT.verifyHelp),
    el(
      'div',
      { class: 'actions' },
      button(TEXT.verifyQuick, () => run(false)),
      button(TEXT.verifyFull, () => run(true)),
    ),
    output,
  )
}

type VerifyLine = Readonly<{
  finding?: Readonly<Record<string, unknown>>
  report?: Readonly<{ ok: boolean; damageCount: number }>
  error?: Readonly<{ message: string }>
}>

/** @returns what to tell at the end */
async function verify(
  api: Api,
  isFull: boolean,
  signal: AbortSignal,
  onFinding: (finding: string) => void,
): Promise<string> {
  const { body } = await api.verify(isFull, signal)
  if (body === null) return ''
  let rest = ''
  let said = ''
  for await (const piece of readWebStream(body.pipeThrough(new TextDecoderStream()))) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.filter((text) => text.trim() !== '')) {
      const { finding, report, error } = JSON.parse(line) as VerifyLine
      if (finding !== undefined) onFinding(JSON.stringify(finding))
      if (report !== undefined) said = TEXT.verified(report.ok, shownCount(report.damageCount))
      if (error !== undefined) throw new Error(error.message)
    }
  }
  return said
}
