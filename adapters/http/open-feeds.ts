// Feeds of changes end when their client is gone, and when their server closes: they have no end of their own, and a
// server waits for the responses under way. node:http tells nobody that a server begins to close.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long after its server a feed ends, in milliseconds, at most. */
const LOOK_MS = 100

type Feed = Readonly<{ server: Readonly<{ listening?: boolean }>; stop: () => void }>

export type OpenFeeds = Readonly<{
  /** Ends a feed with its client and its server. */
  endWithServer: (request: IncomingMessage, response: ServerResponse, stop: () => void) => void
}>

/** The feeds of a handler, with one timer for all of them. */
export function createOpenFeeds(): OpenFeeds {
  const open = new Set<Feed>()
  let timer: ReturnType<typeof setInterval> | undefined
  const look = (): void => {
    for (const { server, stop } of open) if (server.listening === false) stop()
  }
  return {
    endWithServer({ socket }, response, stop) {
      if (response.destroyed || response.closed) {
        stop()
        return
      }
      const { server = {} } = socket as { server?: Feed['server'] }
      const feed = { server, stop }
      response.once('close', () => {
        open.delete(feed)
        stop()
        if (open.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
      if (server.listening !== true) return // It was given its connections by another one.
      open.add(feed)
      timer ??= setInterval(look, LOOK_MS).unref()
    },
  }
}
