// Charts of results: bars, or lines over the size of a table. Vega draws them as SVG.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'results')
const WIDTH = 460
const HEIGHT = 300
const BAR_HEIGHT = 18
const GROUP_GAP = 8

/** Room at the right for the text of the longest bar. */
const TEXT_SHARE = 1.3

const OWN_COLOR = '#1f6feb'
const PEER_COLOR = '#9aa5b1'
const LINE_COLORS = ['#1f6feb', '#d1495b', '#2e8b57', '#b8860b', '#6f42c1']
const FONT = 'Helvetica, Arial, sans-serif'

/**
 * Draws bars and writes them to `results/NAME.svg`. Without bars nothing is written.
 *
 * @param chart.bars each with a `label`, a `value`, a `text` beside the bar, and `own` for rowstash; bars with the same
 * label are grouped
 * @param chart.log whether the axis is logarithmic, which its title then states
 */
export async function drawBars(name, { title, subtitle, axis, log, bars }) {
  if (bars.length === 0) return
  const labels = [...new Set(bars.map(({ label }) => label))]
  const perLabel = Math.max(
    ...labels.map((label) => bars.filter((bar) => bar.label === label).length),
  )
  const groupHeight = BAR_HEIGHT * perLabel + GROUP_GAP
  const count = new Map()
  const placed = bars.map((bar) => {
    const turn = count.get(bar.label) ?? 0
    count.set(bar.label, turn + 1)
    const top = labels.indexOf(bar.label) * groupHeight + GROUP_GAP / 2 + turn * BAR_HEIGHT
    return { ...bar, top, fill: bar.own ? OWN_COLOR : PEER_COLOR, opacity: turn === 0 ? 1 : 0.6 }
  })
  const values = bars.map(({ value }) => value)
  const domain = log
    ? [10 ** Math.floor(Math.log10(Math.min(...values))), Math.max(...values) * 10]
    : [0, Math.max(...values) * TEXT_SHARE]
  const height = labels.length * groupHeight
  await write(name, {
    ...frame({ title, subtitle, height }),
    data: [{ name: 'bars', values: placed }],
    scales: [
      { name: 'x', type: log ? 'log' : 'linear', domain, range: 'width' },
      { name: 'y', type: 'band', domain: labels, range: [0, height] },
    ],
    axes: [
      axisOf('bottom', 'x', log ? `${axis}, logarithmic` : axis, {
        grid: true,
        ...(log ? { values: powersOfTen(domain) } : { tickCount: 5 }),
      }),
      axisOf('left', 'y', undefined, { ticks: false }),
    ],
    marks: [barMark(domain[0]), textMark()],
  })
}

function barMark(origin) {
  const encoding = {
    x: { scale: 'x', value: origin },
    x2: { scale: 'x', field: 'value' },
    y: { field: 'top' },
    height: { value: BAR_HEIGHT - 2 },
    fill: { field: 'fill' },
    fillOpacity: { field: 'opacity' },
  }
  return { type: 'rect', from: { data: 'bars' }, encode: { enter: encoding } }
}

function textMark() {
  const encoding = {
    x: { scale: 'x', field: 'value', offset: 5 },
    y: { field: 'top', offset: BAR_HEIGHT / 2 - 1 },
    baseline: { value: 'middle' },
    text: { field: 'text' },
    font: { value: FONT },
    fontSize: { value: 11 },
    fill: { value: '#24292f' },
  }
  return { type: 'text', from: { data: 'bars' }, encode: { enter: encoding } }
}

/**
 * Draws lines over the size of a table, both axes logarithmic, and writes them to `results/NAME.svg`.
 *
 * @param chart.points each with a `series`, a size `x` and a `value`
 */
export async function drawLines(name, { title, subtitle, axis, across, points }) {
  const series = [...new Set(points.map((point) => point.series))]
  const sizes = [...new Set(points.map(({ x }) => x))]
  const values = points.map(({ value }) => value)
  const domain = [
    10 ** Math.floor(Math.log10(Math.min(...values))),
    10 ** Math.ceil(Math.log10(Math.max(...values))),
  ]
  const place = { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'value' } }
  const stroke = { scale: 'color', field: 'series' }
  const line = { ...place, stroke, strokeWidth: { value: 2 } }
  const lines = {
    type: 'group',
    from: { facet: { name: 'one', data: 'points', groupby: 'series' } },
    marks: [
      { type: 'line', from: { data: 'one' }, encode: { enter: line } },
      { type: 'symbol', from: { data: 'one' }, encode: { enter: { ...place, fill: stroke } } },
    ],
  }
  await write(name, {
    ...frame({ title, subtitle, height: HEIGHT }),
    data: [{ name: 'points', values: points }],
    scales: [
      { name: 'x', type: 'log', domain: [Math.min(...sizes), Math.max(...sizes)], range: 'width' },
      { name: 'y', type: 'log', domain, range: 'height' },
      { name: 'color', type: 'ordinal', domain: series, range: LINE_COLORS },
    ],
    axes: [
      axisOf('bottom', 'x', across, { values: sizes, format: '~s' }),
      axisOf('left', 'y', axis, { grid: true, values: powersOfTen(domain), format: '~g' }),
    ],
    legends: [{ fill: 'color', labelFont: FONT }],
    marks: [lines],
  })
}

function powersOfTen([min, max]) {
  const first = Math.ceil(Math.log10(min))
  const count = Math.floor(Math.log10(max)) - first + 1
  return Array.from({ length: count }, (_, index) => 10 ** (first + index))
}

function frame({ title, subtitle, height }) {
  return {
    width: WIDTH,
    height,
    padding: 10,
    background: 'white',
    autosize: 'pad',
    title: {
      text: title,
      subtitle,
      anchor: 'start',
      frame: 'bounds',
      offset: 10,
      font: FONT,
      subtitleFont: FONT,
      subtitleColor: '#57606a',
    },
  }
}

function axisOf(orient, scale, title, more) {
  const look = { labelFont: FONT, titleFont: FONT, gridColor: '#eaeef2', labelLimit: 0 }
  return { orient, scale, title, ...look, ...more }
}

async function write(name, spec) {
  const vega = await import('vega')
  const view = new vega.View(vega.parse(spec), { renderer: 'none' })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, `${name}.svg`), `${await view.toSVG()}\n`)
  view.finalize()
}
