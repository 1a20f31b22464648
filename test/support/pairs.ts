// Counts pairs that ran concurrently: operations with operations, background work and faults.

/** By name: how often it ran concurrently with itself and each later name, as `add 3, merge 0`. */
export type PairCounts = Readonly<Record<string, string>>

/** Something that ran for a while. */
export type Span = Readonly<{ name: string; from: number; to: number }>

export class Pairs {
  readonly #operations: readonly string[]
  readonly #others: readonly string[]
  readonly #counts = new Map<string, number>()

  /** @param others - Background work and faults, whose pairs with each other are not counted. */
  constructor(operations: readonly string[], others: readonly string[] = []) {
    this.#operations = [...new Set(operations)]
    this.#others = [...new Set(others)]
  }

  /** Starts the counts of one run. @returns a function that begins something, and returns a function that ends it */
  run(): (name: string) => () => void {
    const underWay: string[] = []
    return (name) => {
      for (const other of underWay) this.#count(name, other)
      underWay.push(name)
      return () => void underWay.splice(underWay.indexOf(name), 1)
    }
  }

  /** Counts spans of one clock. */
  addSpans(spans: readonly Span[]): void {
    const sorted = spans.toSorted((left, right) => left.from - right.from)
    let underWay: Span[] = []
    for (const span of sorted) {
      underWay = underWay.filter(({ to }) => to > span.from)
      for (const other of underWay) this.#count(span.name, other.name)
      underWay.push(span)
    }
  }

  counts(): PairCounts {
    const lines = this.#operations.map((name, at) => {
      const others = [...this.#operations.slice(at), ...this.#others]
      const told = others.map((other) => `${other} ${this.#counts.get(pairOf(name, other)) ?? 0}`)
      return [name, told.join(', ')] as const
    })
    return Object.fromEntries(lines)
  }

  /** Pairs that never met, such as `add × merge`. */
  never(): readonly string[] {
    return this.#operations.flatMap((name, at) => {
      const others = [...this.#operations.slice(at), ...this.#others]
      const unmet = others.filter((other) => !this.#counts.has(pairOf(name, other)))
      return unmet.map((other) => `${name} × ${other}`)
    })
  }

  #count(name: string, other: string): void {
    const pair = pairOf(name, other)
    this.#counts.set(pair, (this.#counts.get(pair) ?? 0) + 1)
  }
}

function pairOf(name: string, other: string): string {
  return name < other ? `${name} × ${other}` : `${other} × ${name}`
}
