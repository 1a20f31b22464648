// Ends feeds of changes when their client is gone, and when their server closes: feeds are endless, and a closing
// server waits for responses in flight. node:http has no event for the beginning of a close.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The maximum time from the close of a server to the end of its feeds, in milliseconds. */
const LOOK_MS = 100

type Feed = Readonly<{ server: Readonly<{ listening?: boolean }>; stop: () => void }>

export type OpenFeeds = Readonly<{
  /** Ends a feed when its client or server ends. */
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
      if (server.listening !== true) return // The server received its connections from another one.
      open.add(feed)
      timer ??= setInterval(look, LOOK_MS).unref()
    },
  }
}
