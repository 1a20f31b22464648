// The client of commands that use a server, and its failures in words for people.
import { type Client, ClientError, createClient } from '../../../src/client/client.js'
import { escapeControls, nearestWord } from '../../base/arguments.js'
import { ProgramFailure } from '../command/program-failure.js'

/** A server, and the key for it. */
export type Asking = Readonly<{
  url: string
  key: string
  /** The maximum number of attempts per request. Default: 8. */
  triesMax?: number
  /** Called before each pause between attempts, with the reason. */
  onRetry?: (reason: string, pauseMs: number) => void
  /** Default: the platform's `fetch`. */
  fetch?: typeof fetch
}>

/** A client that gives up if its first connection fails: then no server runs, rather than one that restarts. */
export function openClient(asking: Asking): Client {
  const { url, key, triesMax, onRetry, fetch: send = fetch } = asking
  let isReached = false
  return createClient({
    url: parseServerUrl(url),
    key,
    ...(triesMax !== undefined && { triesMax }),
    async fetch(...request) {
      const answer = await send(...request)
      isReached = true
      return answer
    },
    onRetry(failure, pauseMs) {
      if (!isReached && failure.isUnsent) throw failure
      onRetry?.(bareReason(failure), pauseMs)
    },
  })
}

/** The minimum time between two notes about repeated requests, in milliseconds. */
const RETRY_NOTE_MS = 2_000

/** Reports repeated requests, one per line, but not every one. */
export function retryNotes(note: (line: string) => void): NonNullable<Asking['onRetry']> {
  let notedMs = Number.NEGATIVE_INFINITY
  return (reason, pauseMs) => {
    const nowMs = performance.now()
    if (nowMs - notedMs < RETRY_NOTE_MS) return
    notedMs = nowMs
    const wait = pauseMs < 1_000 ? '' : ` in ${Math.round(pauseMs / 1_000)} s`
    note(`${reason}; trying again${wait}`)
  }
}

/** A client failure as a line for people; any other failure unchanged. */
export function explained(failure: unknown, { url }: Pick<Asking, 'url'>): unknown {
  if (!(failure instanceof ClientError)) return failure
  return new ProgramFailure('failed', explainClientError(failure, parseServerUrl(url)), {
    cause: failure,
  })
}

function explainClientError(failure: ClientError, url: string): string {
  const { status } = failure
  const message = forPeople(failure.message)
  if (failure.isUnsent) return `No server answers at ${url}: ${bareReason(failure)}`
  const isUnknownPath = status === 404 && /^Unknown path/.test(message)
  return isUnknownPath
    ? `${message}; is ${url} the URL of the server, with its base path?`
    : message
}

/**
 * A server's message without the part of the request, which means nothing on a command line. A leading name with a
 * colon, such as `columns:`, stays: for a store in a directory, the message is the same.
 */
export function forPeople(message: string): string {
  const problem = message.replace(/^Invalid request (?:body|headers|params|query): /, '')
  if (problem === message || /^[a-z]\w*:/i.test(problem)) return problem
  return problem.charAt(0).toUpperCase() + problem.slice(1)
}

/** The message without the beginning that all failures without an answer share. */
function bareReason({ message }: ClientError): string {
  return message.replace(/^The server did not answer: /, '')
}

/** The URL before the contract's paths, without a trailing slash. @throws {ProgramFailure} */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ProgramFailure('usage', `--url must be an http or https URL, not "${text}"`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** The maximum number of IDs or names in a message. */
const SHOWN_MAX = 5

/** The ID of the only table with a name. @throws {ProgramFailure} */
export function findTableId(
  tables: readonly Readonly<{ id: string; name: string }>[],
  name: string,
  owner = 'The team',
): string {
  const ids = tables.filter((table) => table.name === name).map(({ id }) => id)
  const [only] = ids
  if (only === undefined) {
    throw new ProgramFailure(
      'failed',
      `${owner} has no table "${name}"${suggestTables(tables, name)}`,
    )
  }
  if (ids.length === 1) return only
  const shown = ids.slice(0, SHOWN_MAX).join(' or ')
  const problem = `${ids.length} tables have the name "${name}"`
  throw new ProgramFailure('failed', `${problem}; use --table-id, such as ${shown}`)
}

/** Suggestions for a missing name: names that differ only in case, otherwise the most similar, otherwise some names. */
function suggestTables(tables: readonly Readonly<{ name: string }>[], name: string): string {
  const lowered = name.toLowerCase()
  const names = [...new Set(tables.map((table) => table.name))]
  const alike = names.filter((other) => other.toLowerCase() === lowered)
  const nearest = nearestWord(name, names)
  const meant = alike.length > 0 || nearest === undefined ? alike : [nearest]
  if (meant.length > 0)
    return `; did you mean ${meant.slice(0, SHOWN_MAX).map(quotedName).join(' or ')}?`
  if (names.length === 0) return ''
  const more = names.length > SHOWN_MAX ? `, and ${names.length - SHOWN_MAX} more` : ''
  return `; it has ${names.slice(0, SHOWN_MAX).map(quotedName).join(', ')}${more}`
}

function quotedName(name: string): string {
  return `"${escapeControls(name)}"`
}
