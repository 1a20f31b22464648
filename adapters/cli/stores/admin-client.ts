// Verifies and backs up a store, and manages its API keys, through the server that has it open.
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type {
  ApiKey,
  ApiKeys,
  BackupOptions,
  VerifyFinding,
  VerifyReport,
} from '../../../src/index.js'
import { linesOf } from '../../base/text-lines.js'
import { ProgramFailure } from '../command/program-failure.js'
import type { Served } from './served-file.js'

type VerifyRequest = Readonly<{
  full: boolean
  signal: AbortSignal
  onFinding: (finding: VerifyFinding) => void
}>

/** Whether a server listens at the address: a killed server leaves its address behind. */
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

/** `store.verify` through the server. `onFinding` gets all findings; the report has none. @throws {ProgramFailure} */
export async function verifyServed(
  served: Served,
  { full, signal, onFinding }: VerifyRequest,
): Promise<VerifyReport> {
  const lines = await askAdmin(served, 'POST', `verify?full=${full}`, { signal })
  for await (const line of linesOf(lines)) {
    const { finding, report, error } = parsed<{
      finding?: VerifyFinding
      report?: VerifyReport
      error?: { message: string }
    }>(served, line)
    if (error !== undefined) throw new ProgramFailure('failed', error.message)
    if (report !== undefined) return report
    if (finding !== undefined) onFinding(finding)
  }
  throw brokenOff(served)
}

/** `store.backup` through the server. @throws {ProgramFailure} */
export async function* backupServed(
  served: Served,
  files: NonNullable<BackupOptions['files']>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  yield* await askAdmin(served, 'POST', `backup?files=${files}`, { signal })
}

/** `store.keys` through the server. Its methods throw {ProgramFailure}. */
export function servedKeys(
  served: Served,
  signal: AbortSignal,
): Pick<ApiKeys, 'add' | 'list' | 'revoke'> {
  return {
    async add({ teamId, expiresAt, ...rest }) {
      const body = {
        teamID: teamId,
        ...rest,
        ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      }
      const { data } = await askJson<WireKey & { key: string }>(served, 'POST', 'keys', {
        body,
        signal,
      })
      return { key: data.key, ...parseWireKey(data) }
    },
    async list(teamId) {
      const { data } = await askJson<readonly WireKey[]>(served, 'GET', 'keys', { signal })
      const keys = data.map(parseWireKey)
      return teamId === undefined ? keys : keys.filter((key) => key.teamId === teamId)
    },
    async revoke(id) {
      const { data } = await askJson<readonly WireKey[]>(served, 'GET', 'keys', { signal })
      if (!data.some(({ keyID }) => keyID === id)) return false
      await text(await askAdmin(served, 'DELETE', `keys/${id}`, { signal }))
      return true
    },
  }
}

/** An API key as the server sends it. */
type WireKey = Readonly<
  Pick<ApiKey, 'label' | 'scopes' | 'tables' | 'tail'> & {
    keyID: string
    teamID: string
    createdAt: string
    expiresAt?: string
  }
>

function parseWireKey({
  keyID,
  teamID,
  label,
  scopes,
  tables,
  tail,
  createdAt,
  expiresAt,
}: WireKey): ApiKey {
  return {
    id: keyID,
    teamId: teamID,
    label,
    scopes,
    ...(tables !== undefined && { tables }),
    createdAt: Date.parse(createdAt),
    ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
    tail,
  }
}

type AskOptions = Readonly<{ body?: object; signal: AbortSignal }>

async function askJson<T>(
  served: Served,
  method: string,
  operation: string,
  options: AskOptions,
): Promise<{ data: T }> {
  return parsed(served, await text(await askAdmin(served, method, operation, options)))
}

/** @throws {ProgramFailure} */
function parsed<T>(served: Served, json: string): T {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw noServer(served, cause)
  }
}

async function askAdmin(
  served: Served,
  method: string,
  operation: string,
  { body, signal }: AskOptions,
): Promise<AsyncIterable<Uint8Array>> {
  const { url, adminKey } = served
  const response = await fetch(`${url}/admin/${operation}`, {
    method,
    headers: {
      authorization: `Bearer ${adminKey}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal,
  }).catch((failure: unknown) => {
    throw brokenOff(served, failure)
  })
  if (!response.ok || response.body === null) {
    const message = `The server at ${url} refused (${response.status}): ${await readAdminError(response.body)}`
    throw new ProgramFailure('failed', message)
  }
  if (/^text\/html\b/i.test(response.headers.get('content-type') ?? '')) throw noServer(served)
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

/** The maximum number of bytes that are read of an error, which may be endless. */
const ERROR_BYTES_MAX = 64 * 1024

/** The beginning of the error in a body: the part that arrives before the connection fails, up to ERROR_BYTES_MAX. */
async function readAdminError(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of body ?? []) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > ERROR_BYTES_MAX) break
    }
  } catch {
    // The status already says that the request failed.
  }
  return Buffer.concat(pieces).toString()
}

/** The failure if another program, or a proxy, answers at the address of a server that has ended. */
function noServer({ url }: Served, cause?: unknown): ProgramFailure {
  return new ProgramFailure('failed', `The server at ${url} is not a rowstash server`, { cause })
}

function brokenOff({ url }: Served, cause?: unknown): ProgramFailure {
  return new ProgramFailure('failed', `The connection to the server at ${url} broke off`, { cause })
}
