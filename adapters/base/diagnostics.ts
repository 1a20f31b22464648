// Publishes the events of a store and a server on `node:diagnostics_channel`. Without subscribers, an event costs one
// check.
import { type Channel, channel } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { StoreEvent } from '../../src/index.js'
import type { AnsweredRequest } from '../../src/ports.js'

/**
 * The message of `rowstash:request:start` and `rowstash:request:end`. Both get the same object, so that a subscriber
 * can use it as a key. Do not export the request: its path and headers may grant access.
 */
export type RequestMessage = {
  /** The request of node:http. */
  readonly request: IncomingMessage
  /** Set at the end, unless the request was refused before the contract saw it. */
  answered?: AnsweredRequest
}

const START = channel('rowstash:request:start')
const END = channel('rowstash:request:end')

const CHANNELS: Readonly<Record<StoreEvent['name'], Channel>> = {
  commit: channel('rowstash:commit'),
  compaction: channel('rowstash:compaction'),
  recompression: channel('rowstash:recompression'),
  garbageCollection: channel('rowstash:garbageCollection'),
  job: channel('rowstash:job'),
}

/**
 * Publishes an event of a store on the channel `rowstash:` and its name. An `onEvent` for `openStore` and `openMemory`.
 * @example
 * import { subscribe } from 'node:diagnostics_channel'
 * import { openMemory } from 'rowstash'
 * import { publishEvent } from 'rowstash/node'
 *
 * subscribe('rowstash:recompression', (event) => console.log(event))
 * await using store = await openMemory({ onEvent: publishEvent }) // `openDirectory` does it by itself
 * console.log(store.status().writable) // true
 */
export function publishEvent(event: StoreEvent): void {
  const { [event.name]: target } = CHANNELS
  if (target.hasSubscribers) target.publish(event)
}

/**
 * Publishes the start of a request, serves it, and publishes its end: after its answer was sent, or its connection was
 * lost. An AsyncLocalStorage bound to the first channel (`bindStore`) has its value during the work on the request.
 */
export function publishRequest(
  request: IncomingMessage,
  serve: (onAnswered?: (answered: AnsweredRequest) => void) => Promise<void>,
): Promise<void> {
  if (!START.hasSubscribers && !END.hasSubscribers) return serve()
  const message: RequestMessage = { request }
  const onAnswered = (answered: AnsweredRequest): void => {
    message.answered = answered
  }
  return START.runStores(message, () => serve(onAnswered).finally(() => END.publish(message)))
}
