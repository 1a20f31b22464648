import type { Server } from 'node:http'

/**
 * Answers `Expect: 100-continue` when the body is first read, that is, after the key and the length were accepted. By
 * default node:http answers it at once, and so requests bodies that are then refused.
 */
export function continueWhenRead(server: Server): void {
  if (server.listenerCount('checkContinue') > 0) return // A listener of the host, or of an earlier call.
  server.on('checkContinue', (request, response) => {
    const onListener = (event: string | symbol): void => {
      if (event !== 'data' && event !== 'readable') return
      request.off('newListener', onListener)
      if (!response.headersSent) response.writeContinue()
    }
    request.on('newListener', onListener)
    server.emit('request', request, response)
  })
}
