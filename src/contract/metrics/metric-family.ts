// Metrics as data: rendered as text for Prometheus (version 0.0.4), or registered with the host's registry.

/** Label values by name, such as `{ operation: 'GET /tables', status: 200 }`. Their number must be bounded. */
export type MetricLabels = Readonly<Record<string, string | number>>

/** A value of a metric. `suffix`: the series of a histogram. */
export type MetricSample = Readonly<{
  /** The labels of the value. Default: none. */
  labels?: MetricLabels
  /** The value, in the unit that ends the metric's name. */
  value: number
  /** The series of a histogram; absent for other metrics. */
  suffix?: '_bucket' | '_sum' | '_count'
}>

/** A metric with all its samples. */
export type MetricFamily = Readonly<{
  /** The name of the metric: letters, digits and underscores. */
  name: string
  /** `counter`: a count that only grows. `gauge`: a current value. `histogram`: counts by size. */
  type: 'counter' | 'gauge' | 'histogram'
  /** A description in one line. */
  help: string
  /** Returns the samples. It is called for each scrape, so it must be fast. */
  samples: () => readonly MetricSample[]
}>

/** A registry of metrics, such as one of `prom-client`. */
export interface MetricsRegistry {
  registerMetric(metric: RegisteredMetric): void
}

/** A metric in the form that registries of `prom-client` read. */
export type RegisteredMetric = Readonly<{
  name: string
  help: string
  type: MetricFamily['type']
  aggregator: 'sum'
  get: () => Promise<RegisteredValues>
  reset: () => void
}>

/** The samples of a registered metric. `metricName` is the name with the suffix. */
export type RegisteredValues = Readonly<{
  name: string
  help: string
  type: MetricFamily['type']
  aggregator: 'sum'
  values: { value: number; labels: MetricLabels; metricName: string }[]
}>

/** Registers families. Their samples are read each time the registry is read. @throws what the registry throws */
export function registerFamilies(
  registry: MetricsRegistry,
  families: readonly MetricFamily[],
): void {
  for (const { name, help, type, samples } of families) {
    const described = { name, help, type, aggregator: 'sum' } as const
    const get = async (): Promise<RegisteredValues> => {
      const values = samples().map(({ labels = {}, value, suffix = '' }) => {
        return { value, labels, metricName: `${name}${suffix}` }
      })
      return { ...described, values }
    }
    registry.registerMetric({ ...described, get, reset: () => undefined })
  }
}

export function renderFamilies(families: readonly MetricFamily[]): string {
  return families.map(renderFamily).join('')
}

function renderFamily({ name, type, help, samples }: MetricFamily): string {
  const lines = samples().map(({ labels = {}, value, suffix = '' }) => {
    return `${name}${suffix}${renderLabels(labels)} ${renderValue(value)}\n`
  })
  const escaped = help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function renderLabels(labels: MetricLabels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function escapeLabel(value: string | number): string {
  return String(value).replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}

function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}
