// Verifies and backs up a store through the server that has it open.
import { connect } from 'node:net'
import type { BackupOptions, VerifyFinding, VerifyReport } from '../../src/index.js'
import { ProgramFailure } from './program-failure.js'
import type { Served } from './served-file.js'

type VerifyRequest = Readonly<{
  full: boolean
  signal: AbortSignal
  onFinding: (finding: VerifyFinding) => void
}>

/** Whether a server still listens at the address, which a killed server leaves behind. */
export function isReached({ url }: Served): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port === '' ? 80 : port) })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** As `store.verify`, but for the findings of the report: `onFinding` is called with each. @throws {ProgramFailure} */
export async function verifyServed(
  served: Served,
  { full, signal, onFinding }: VerifyRequest,
): Promise<VerifyReport> {
  for await (const line of linesOf(await post(served, `verify?full=${full}`, signal))) {
    const { finding, report, error } = JSON.parse(line) as {
      finding?: VerifyFinding
      report?: VerifyReport
      error?: { message: string }
    }
    if (error !== undefined) throw new ProgramFailure('failed', error.message)
    if (report !== undefined) return report
    if (finding !== undefined) onFinding(finding)
  }
  throw brokenOff(served)
}

/** As `store.backup`. @throws {ProgramFailure} */
export async function* backupServed(
  served: Served,
  files: NonNullable<BackupOptions['files']>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  yield* await post(served, `backup?files=${files}`, signal)
}

async function post(
  served: Served,
  operation: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { url, adminKey } = served
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await fetch(`${url}/admin/${operation}`, {
    method: 'POST',
    headers,
    signal,
  }).catch((failure: unknown) => {
    throw brokenOff(served, failure)
  })
  if (!response.ok || response.body === null) {
    const message = `The server at ${url} refused (${response.status}): ${await response.text()}`
    throw new ProgramFailure('failed', message)
  }
  return unbroken(served, response.body)
}

async function* unbroken(
  served: Served,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* pieces
  } catch (failure) {
    throw brokenOff(served, failure)
  }
}

function brokenOff({ url }: Served, cause?: unknown): ProgramFailure {
  return new ProgramFailure('failed', `The connection to the server at ${url} broke off`, { cause })
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
}
