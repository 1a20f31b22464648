// Metrics in the text format of Prometheus.

export type Labels = Readonly<Record<string, string>>
export type SamplePoint = Readonly<{ labels: Labels; value: number }>
/** The samples of each metric, by its name without `rowstash_`. */
export type Samples = ReadonlyMap<string, readonly SamplePoint[]>

/** The maximum number of lines that are read. */
const LINES_MAX = 20_000

export function parseMetrics(text: string): Samples {
  const samples = new Map<string, SamplePoint[]>()
  for (const line of text.split('\n', LINES_MAX)) {
    const [, name, labels = '', value] =
      /^(?:rowstash_)?([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined || line.startsWith('#')) continue
    const points = samples.get(name) ?? []
    points.push({ labels: labelsOf(labels), value: Number(value) })
    samples.set(name, points)
  }
  return samples
}

function labelsOf(text: string): Labels {
  const found = text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries([...found].map(([, name, value]) => [name, value]))
}

/** The sum of all samples of a metric. */
export function total(samples: Samples, name: string): number {
  return (samples.get(name) ?? []).reduce((sum, { value }) => sum + value, 0)
}

/** The sums of a metric by the values of a label. */
export function totalsBy(
  samples: Samples,
  name: string,
  label: string,
): ReadonlyMap<string, number> {
  const totals = new Map<string, number>()
  for (const { labels, value } of samples.get(name) ?? []) {
    const key = labels[label] ?? ''
    totals.set(key, (totals.get(key) ?? 0) + value)
  }
  return totals
}

/**
 * The smallest bucket bound, in seconds, that at least this share of a histogram's observations between two readings do
 * not exceed. undefined: there were none between them.
 */
export function quantile(
  before: Samples,
  after: Samples,
  name: string,
  share: number,
): number | undefined {
  const old = totalsBy(before, `${name}_bucket`, 'le')
  const counts = [...totalsBy(after, `${name}_bucket`, 'le')]
    .map(
      ([le, count]) => [le === '+Inf' ? Infinity : Number(le), count - (old.get(le) ?? 0)] as const,
    )
    .sort(([left], [right]) => left - right)
  const all = counts.at(-1)?.[1] ?? 0
  if (all <= 0) return undefined
  return counts.find(([, count]) => count >= all * share)?.[0]
}
