// Cycles in the order of operations, named as by Adya and Elle. An operation precedes another if it wrote the version
// before the other's (ww), if it wrote the version that the other read (wr), if it read the version before the other's
// (rw), or if it ended before the other began (rt).
import type { Anomaly, Operation } from './history.js'
import type { Placed, VersionOrder } from './version-order.js'

export type EdgeKind = 'ww' | 'wr' | 'rw' | 'rt'

export type Edge = Readonly<{ from: number; to: number; kind: EdgeKind; object: string }>

/** Nodes below the number of operations are operations; the others are moments between them. */
type Graph = Readonly<{ nodes: number; edges: readonly Edge[] }>

/** The names of cycles by the kinds of their edges, the strongest first. */
const CYCLES: readonly Readonly<{
  name: string
  kinds: readonly EdgeKind[]
  rw: 'no' | 'one' | 'any'
}>[] = [
  { name: 'G0', kinds: ['ww'], rw: 'no' },
  { name: 'G1c', kinds: ['ww', 'wr'], rw: 'no' },
  { name: 'G-single', kinds: ['ww', 'wr'], rw: 'one' },
  { name: 'G2', kinds: ['ww', 'wr', 'rw'], rw: 'any' },
  { name: 'G0-realtime', kinds: ['ww', 'rt'], rw: 'no' },
  { name: 'G1c-realtime', kinds: ['ww', 'wr', 'rt'], rw: 'no' },
  { name: 'G-single-realtime', kinds: ['ww', 'wr', 'rt'], rw: 'one' },
  { name: 'G2-realtime', kinds: ['ww', 'wr', 'rw', 'rt'], rw: 'any' },
]

/** @returns the strongest cycle of each strongly connected set of operations */
export function findCycles(operations: readonly Operation[], order: VersionOrder): Anomaly[] {
  const graph = graphOf(operations, order)
  return stronglyConnected(graph).map((members) => {
    const inside = new Set(members)
    const edges = graph.edges.filter(({ from, to }) => inside.has(from) && inside.has(to))
    for (const { name, kinds, rw } of CYCLES) {
      const cycle = findCycle(edges, kinds, rw)
      if (cycle !== undefined) return { name, text: textOf(cycle, operations) }
    }
    return { name: 'cycle', text: `of ${members.length} operations` }
  })
}

function graphOf(operations: readonly Operation[], order: VersionOrder): Graph {
  const numberOf = new Map(operations.map((operation, number) => [operation.id, number]))
  const edges: Edge[] = []
  const link = (from: Operation, to: Operation, kind: EdgeKind, object: string): void => {
    if (from === to) return
    edges.push({ from: numberOf.get(from.id) ?? 0, to: numberOf.get(to.id) ?? 0, kind, object })
  }
  for (const [object, placed] of order) {
    for (const [at, { operation }] of placed.entries()) {
      const before = placed[at - 1]
      if (before !== undefined) link(before.operation, operation, 'ww', object)
    }
  }
  for (const operation of operations) {
    if (operation.outcome !== 'done') continue // Reads of a failed operation do not count.
    for (const { object, length } of operation.reads) {
      const placed = order.get(object) ?? []
      const next = firstAbove(placed, length)
      const seen = placed[next - 1]
      if (seen !== undefined) link(seen.operation, operation, 'wr', object)
      const overwriter = placed[next]
      if (overwriter !== undefined) link(operation, overwriter.operation, 'rw', object)
    }
  }
  return { nodes: linkTimes(operations, edges), edges }
}

/** The index of the first element that is longer. */
function firstAbove(placed: readonly Placed[], length: number): number {
  let [low, high] = [0, placed.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((placed[middle]?.length ?? 0) <= length) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Represents real time as a chain of moments, one for each end: an operation precedes the moment of its end, and
 * follows the last moment before its beginning. @returns the number of nodes
 */
function linkTimes(operations: readonly Operation[], edges: Edge[]): number {
  const done = operations.flatMap(({ to, outcome }, number) => {
    return to === null || outcome !== 'done' ? [] : [{ to, number }]
  })
  const ends = done.sort((left, right) => left.to - right.to)
  const rt = { kind: 'rt', object: '' } as const
  for (const [moment, { number }] of ends.entries()) {
    const node = operations.length + moment
    edges.push({ from: number, to: node, ...rt })
    if (moment > 0) edges.push({ from: node - 1, to: node, ...rt })
  }
  const begun = operations.map(({ from }, number) => ({ from, number }))
  let moment = 0
  for (const { from, number } of begun.sort((left, right) => left.from - right.from)) {
    while ((ends[moment]?.to ?? Number.POSITIVE_INFINITY) < from) moment++
    if (moment > 0) edges.push({ from: operations.length + moment - 1, to: number, ...rt })
  }
  return operations.length + ends.length
}

/** Tarjan's algorithm without recursion. @returns the sets of more than one node */
function stronglyConnected({ nodes, edges }: Graph): number[][] {
  const next = successorsOf(nodes, edges)
  const index = new Int32Array(nodes).fill(-1)
  const low = new Int32Array(nodes)
  const onStack = new Uint8Array(nodes)
  const stack: number[] = []
  const found: number[][] = []
  let counter = 0
  for (let root = 0; root < nodes; root++) {
    if (index[root] !== -1) continue
    const work: { node: number; at: number }[] = []
    const enter = (node: number): void => {
      index[node] = low[node] = counter++
      stack.push(node)
      onStack[node] = 1
      work.push({ node, at: 0 })
    }
    enter(root)
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const { node } = top
      const successor = next[node]?.[top.at++]
      if (successor !== undefined) {
        if (index[successor] === -1) enter(successor)
        else if (onStack[successor] === 1)
          low[node] = Math.min(low[node] ?? 0, index[successor] ?? 0)
        continue
      }
      work.pop()
      const caller = work.at(-1)
      if (caller !== undefined) low[caller.node] = Math.min(low[caller.node] ?? 0, low[node] ?? 0)
      if (low[node] !== index[node]) continue
      const members: number[] = []
      for (let member = -1; member !== node; ) {
        member = stack.pop() ?? node
        onStack[member] = 0
        members.push(member)
      }
      if (members.length > 1) found.push(members)
    }
  }
  return found
}

function successorsOf(nodes: number, edges: readonly Edge[]): (number[] | undefined)[] {
  const next = new Array<number[] | undefined>(nodes)
  for (const { from, to } of edges) {
    const known = next[from]
    if (known === undefined) next[from] = [to]
    else known.push(to)
  }
  return next
}

/** A shortest cycle with edges of some kinds; with `one`, also one edge of the kind rw. */
function findCycle(
  edges: readonly Edge[],
  kinds: readonly EdgeKind[],
  rw: 'no' | 'one' | 'any',
): readonly Edge[] | undefined {
  const usable = edges.filter(({ kind }) => kinds.includes(kind))
  const starts = rw === 'one' ? edges.filter(({ kind }) => kind === 'rw') : usable
  const next = new Map<number, Edge[]>()
  for (const edge of usable) {
    const known = next.get(edge.from)
    if (known === undefined) next.set(edge.from, [edge])
    else known.push(edge)
  }
  let shortest: readonly Edge[] | undefined
  for (const start of starts.slice(0, STARTS_MAX)) {
    const path = shortestPath(next, start.to, start.from)
    const isShorter = path !== undefined && path.length + 1 < (shortest?.length ?? Infinity)
    if (isShorter) shortest = [start, ...path]
  }
  return shortest
}

/** Enough to name a cycle: a set of thousands of operations has many. */
const STARTS_MAX = 2_000

function shortestPath(
  next: ReadonlyMap<number, readonly Edge[]>,
  from: number,
  to: number,
): readonly Edge[] | undefined {
  const cameBy = new Map<number, Edge | null>([[from, null]])
  for (const node of cameBy.keys()) {
    if (node === to) break
    for (const edge of next.get(node) ?? []) if (!cameBy.has(edge.to)) cameBy.set(edge.to, edge)
  }
  if (!cameBy.has(to)) return undefined
  const path: Edge[] = []
  for (let edge = cameBy.get(to); edge; edge = cameBy.get(edge.from)) path.unshift(edge)
  return path
}

function textOf(cycle: readonly Edge[], operations: readonly Operation[]): string {
  const name = (number: number): string => {
    const operation = operations[number]
    return operation === undefined ? '' : `${operation.id} ${operation.what}`
  }
  const steps = cycle.map(({ from, kind, object }) => {
    const left = name(from)
    return left === '' ? '' : `${left} -${kind}${object === '' ? '' : ` ${object}`}->`
  })
  return steps.filter((step) => step !== '').join(' ')
}
