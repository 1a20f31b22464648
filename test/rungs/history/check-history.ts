// Checks a history: whether one order of its operations, consistent with real time, explains everything that was read.
import { checkFeeds } from './check-feeds.js'
import { findCycles } from './cycles.js'
import type { Anomaly, History, Operation } from './history.js'
import { orderVersions, type VersionOrder, writerOf } from './version-order.js'

export function checkHistory(history: History): readonly Anomaly[] {
  const { order, anomalies } = orderVersions(history.operations)
  return [
    ...anomalies,
    ...history.operations.flatMap((operation) => checkOperation(operation, order, history.sum)),
    ...findCycles(history.operations, order),
    ...checkFeeds(history),
  ]
}

/** What one operation read that no single moment explains. */
function checkOperation(
  { id, what, outcome, reads, sum, doubles = [] }: Operation,
  order: VersionOrder,
  expectedSum: number,
): readonly Anomaly[] {
  if (outcome !== 'done') return []
  const found: Anomaly[] = []
  const tell = (name: string, text: string) => found.push({ name, text: `${id} ${what}: ${text}` })
  for (const { object, length, tail } of reads) {
    const last = tail.at(-1)
    if (last === undefined) {
      if (length < 0) tell('lost', `${object} was not there`)
      continue
    }
    const isBetween = order.get(object)?.every((placed) => placed.length !== length) ?? true
    const isOwn = writerOf(last) === id
    if (isBetween && !isOwn) tell('G1b', `it saw ${object} up to ${last}, within an operation`)
    if (isOwn) tell('internal', `it saw ${last} of itself before it wrote it`)
  }
  if (sum !== undefined && sum !== expectedSum) tell('sum', `${sum}, not ${expectedSum}`)
  if (doubles.length > 0) tell('duplicate key', doubles.join(', '))
  return found
}
