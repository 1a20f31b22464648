// A small plot of a number over the last minutes.
import { el, setText } from './dom.js'
import * as TEXT from './texts.js'

const SVG = 'http://www.w3.org/2000/svg'
const WIDTH = 240
const HEIGHT = 56

/** The time that a plot covers, with values at equal intervals. `begin`: the label of its beginning. */
export type Period = Readonly<{ begin: string; pointsMax: number }>

export class Plot {
  readonly element: HTMLElement
  readonly #value = el('strong', {}, TEXT.unknown)
  readonly #highest = el('span', {})
  readonly #line = document.createElementNS(SVG, 'path')
  readonly #area = document.createElementNS(SVG, 'path')
  readonly #begin = el('span', {})
  readonly #values: number[] = []
  #instead: readonly number[] | undefined
  readonly #show: (value: number) => string
  readonly #period: Period

  /** @param period - The period of the added values. */
  constructor(title: string, show: (value: number) => string, period: Period) {
    this.#show = show
    this.#period = period
    const svg = document.createElementNS(SVG, 'svg')
    svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`)
    svg.setAttribute('preserveAspectRatio', 'none')
    svg.setAttribute('aria-hidden', 'true')
    this.#area.setAttribute('class', 'area')
    this.#line.setAttribute('class', 'line')
    svg.append(this.#area, this.#line)
    const head = el('div', { class: 'plotHead' }, el('span', {}, title), this.#value)
    this.element = el('div', { class: 'plot', role: 'group', 'aria-label': title }, head)
    const foot = [this.#begin, this.#highest, el('span', {}, TEXT.plotEnd)]
    this.element.append(svg, el('div', { class: 'plotFoot' }, ...foot))
  }

  /** @param value - undefined: unknown, and drawn as the previous value, if there is one. */
  add(value: number | undefined): void {
    const values = this.#values
    setText(this.#value, value === undefined ? TEXT.unknown : this.#show(value))
    const drawn = value ?? values.at(-1)
    if (drawn === undefined) return
    values.push(drawn)
    if (values.length > this.#period.pointsMax) values.shift()
    if (this.#instead === undefined) this.#draw(values, this.#period)
  }

  /** Draws other values than the added ones. @param values - undefined: the added ones again. */
  drawInstead(values: readonly number[] | undefined, period: Period): void {
    this.#instead = values
    this.#draw(values ?? this.#values, values === undefined ? this.#period : period)
  }

  #draw(values: readonly number[], { begin, pointsMax }: Period): void {
    setText(this.#begin, begin)
    if (values.length === 0) return
    const highest = Math.max(...values)
    setText(this.#highest, TEXT.highest(this.#show(highest)))
    const top = Math.max(highest, Number.MIN_VALUE)
    const step = WIDTH / (pointsMax - 1)
    const from = WIDTH - (values.length - 1) * step
    const points = values.map((each, index) => {
      const y = HEIGHT - 2 - (each / top) * (HEIGHT - 6)
      return `${(from + index * step).toFixed(1)},${y.toFixed(1)}`
    })
    const line = `M${points.join('L')}`
    this.#line.setAttribute('d', line)
    this.#area.setAttribute('d', `${line}L${WIDTH},${HEIGHT}L${from.toFixed(1)},${HEIGHT}Z`)
  }
}
