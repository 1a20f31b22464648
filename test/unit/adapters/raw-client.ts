// A connection that sends a test's bytes unchanged, and keeps everything that it receives.
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type RawClient = Readonly<{
  socket: Socket
  send: (...lines: readonly string[]) => void
  received: () => string
  /** Status codes of the answers so far, including interim ones. */
  statuses: () => number[]
  isEnded: () => boolean
  ended: Promise<void>
}>

/** Connects. Resolves when the connection is open. */
export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  let isEnded = false
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1')
  })
  socket.on('error', () => {}) // A reset is seen as the end.
  const ended = new Promise<void>((resolve) =>
    socket.once('close', () => {
      isEnded = true
      resolve()
    }),
  )
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return {
    socket,
    send: (...lines) => void socket.write(`${lines.join('\r\n')}\r\n\r\n`),
    received: () => received,
    statuses: () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code)),
    isEnded: () => isEnded,
    ended,
  }
}
