// The order of the versions of each object, only from reads and acknowledgements: no element is at two places, no place
// has two elements, and what was acknowledged is somewhere.
import type { Anomaly, Operation } from './history.js'

/** An operation at a place in the order of an object: after it the object has this length. */
export type Placed = Readonly<{ length: number; operation: Operation }>

/** The operations that wrote to each object, in their order. */
export type VersionOrder = ReadonlyMap<string, readonly Placed[]>

export type Ordered = Readonly<{ order: VersionOrder; anomalies: readonly Anomaly[] }>

class Places {
  readonly #object: string
  readonly #anomalies: Anomaly[]
  readonly #elements = new Map<number, string>()
  readonly #places = new Map<string, number>()

  constructor(object: string, anomalies: Anomaly[]) {
    this.#object = object
    this.#anomalies = anomalies
  }

  /** Records elements that end at a length. */
  note(elements: readonly string[], length: number, by: string): void {
    for (const [index, element] of elements.entries()) {
      const place = length - elements.length + index + 1
      const other = this.#elements.get(place)
      const elsewhere = this.#places.get(element)
      if (other !== undefined && other !== element) {
        this.#tell(
          'fork',
          `${this.#object} had ${other} as number ${place}, and ${element} by ${by}`,
        )
      } else if (elsewhere !== undefined && elsewhere !== place) {
        this.#tell(
          'duplicate',
          `${this.#object} had ${element} as ${elsewhere} and ${place} by ${by}`,
        )
      } else {
        this.#elements.set(place, element)
        this.#places.set(element, place)
      }
    }
  }

  placeOf(element: string): number | undefined {
    return this.#places.get(element)
  }

  /** The elements in order. A place that nobody read is an anomaly. */
  all(): readonly string[] {
    const last = Math.max(0, ...this.#elements.keys())
    return Array.from({ length: last }, (_, index) => {
      const element = this.#elements.get(index + 1)
      if (element === undefined)
        this.#tell('gap', `${this.#object}: nobody saw number ${index + 1}`)
      return element ?? ''
    })
  }

  #tell(name: string, text: string): void {
    this.#anomalies.push({ name, text })
  }
}

export function orderVersions(operations: readonly Operation[]): Ordered {
  const anomalies: Anomaly[] = []
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const places = notePlaces(operations, anomalies)
  const order = new Map<string, Placed[]>()
  for (const [object, found] of places) {
    order.set(object, placeElements(found.all(), { object, byId, anomalies }))
  }
  for (const operation of operations) checkWrites(operation, places, anomalies)
  for (const [object, placed] of orderLengths(operations, anomalies)) order.set(object, placed)
  return { order, anomalies }
}

function notePlaces(operations: readonly Operation[], anomalies: Anomaly[]): Map<string, Places> {
  const places = new Map<string, Places>()
  const at = (object: string): Places => {
    const known = places.get(object) ?? new Places(object, anomalies)
    places.set(object, known)
    return known
  }
  for (const { id, outcome, reads, writes } of operations) {
    for (const { object, length, tail } of reads)
      if (tail.length > 0) at(object).note(tail, length, id)
    for (const { object, elements, length } of writes) {
      if (elements.length === 0) continue
      if (outcome === 'done' && length !== undefined) at(object).note(elements, length, id)
      else at(object)
    }
  }
  return places
}

/** `<operation>.<number>` */
export function writerOf(element: string): string {
  return element.slice(0, element.lastIndexOf('.'))
}

type Known = Readonly<{
  object: string
  byId: ReadonlyMap<string, Operation>
  anomalies: Anomaly[]
}>

/** Finds the writers of elements, run by run: the elements of an operation are consecutive, and complete. */
function placeElements(elements: readonly string[], known: Known): Placed[] {
  const { object, byId, anomalies } = known
  const placed: Placed[] = []
  for (let at = 0; at < elements.length; ) {
    const element = elements[at] ?? ''
    const operation = byId.get(writerOf(element))
    const own = operation?.writes.find((write) => write.object === object)?.elements ?? []
    if (operation === undefined || !own.includes(element)) {
      anomalies.push({ name: 'garbage read', text: `${object} had ${element}, which nobody wrote` })
      at++
      continue
    }
    if (operation.outcome === 'unchanged') {
      const text = `${object} had ${element} of ${operation.id}, which failed as unchanged`
      anomalies.push({ name: 'G1a', text })
    }
    if (own.some((one, index) => elements[at + index] !== one)) {
      const found = elements.slice(at, at + own.length).join(' ')
      anomalies.push({
        name: 'torn',
        text: `${object} had ${found}, where ${own.join(' ')} was written`,
      })
    }
    at += own.length
    placed.push({ length: at, operation })
  }
  return placed
}

/** Acknowledged writes are there; unknown ones are there completely or not at all. */
function checkWrites(
  { id, outcome, writes }: Operation,
  places: ReadonlyMap<string, Places>,
  anomalies: Anomaly[],
): void {
  if (outcome === 'unchanged') return
  const all = writes.flatMap(({ object, elements }) =>
    elements.map((element) => ({ object, element })),
  )
  const isThere = ({ object, element }: (typeof all)[number]): boolean =>
    places.get(object)?.placeOf(element) !== undefined
  const missing = all.filter((one) => !isThere(one))
  if (missing.length === 0) return
  const told = missing.map(({ object, element }) => `${element} of ${object}`).join(', ')
  if (outcome === 'done')
    anomalies.push({ name: 'lost', text: `${id} was done; ${told} is not there` })
  else if (missing.length < all.length)
    anomalies.push({ name: 'torn', text: `of ${id} there is no ${told}` })
}

/** Objects of which only lengths are known: their operations with a known length. */
function orderLengths(
  operations: readonly Operation[],
  anomalies: Anomaly[],
): Map<string, Placed[]> {
  const lengths = new Map<string, Map<number, Operation>>()
  for (const operation of operations) {
    if (operation.outcome !== 'done') continue
    for (const { object, elements, length } of operation.writes) {
      if (elements.length > 0 || length === undefined) continue
      const known = lengths.get(object) ?? new Map<number, Operation>()
      lengths.set(object, known)
      const other = known.get(length)
      if (other !== undefined) {
        const text = `${other.id} and ${operation.id} both made ${length} of ${object}`
        anomalies.push({ name: 'fork', text })
      }
      known.set(length, operation)
    }
  }
  const placed = (known: ReadonlyMap<number, Operation>): Placed[] => {
    const sorted = [...known].sort(([left], [right]) => left - right)
    return sorted.map(([length, operation]) => ({ length, operation }))
  }
  return new Map([...lengths].map(([object, known]) => [object, placed(known)]))
}
