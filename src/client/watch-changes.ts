// Reads the changes of a table: in pages, and from the feed, which is reopened where it ended. This module is loaded on
// first use.
//
// Invariant: each change is yielded once. The next request begins at the version of the last change.
import { openBackoff } from '../base/backoff.js'
import { pause } from '../base/pause.js'
import { openSystemRandom } from '../base/random.js'
import { untilAborted } from '../base/signals.js'
import { answerPieces, invalidAnswer, readAnswerJson } from './answers.js'
import type { ClientChange, ClientChanges } from './client-changes.js'
import { ClientError } from './client-error.js'
import { ownSignal } from './own-realm.js'
import { BACKOFF, type Requests } from './requests.js'
import { tablePath } from './table-operation.js'

/** A feed is considered dead after this silence, in milliseconds: a server sends a comment every 15 seconds. */
const SILENCE_MS_MAX = 45_000

/** Maximum number of consecutive feeds that may end before their first line. */
const SILENT_FEEDS_MAX = 8

/** Maximum number of characters of an event. */
const EVENT_CHARACTERS_MAX = 64 * 1024

export type WatchOptions = Parameters<ClientChanges['watch']>[0] & {}

type WantedChanges = Readonly<{
  /** The path of the table's changes. */
  path: string
  /** The version after which the changes begin; undefined: the current version. */
  since: string | undefined
  signal: AbortSignal | undefined
}>

export function changesOf(
  call: keyof ClientChanges,
  requests: Requests,
  tableId: string,
  { since, signal }: WatchOptions,
): AsyncGenerator<ClientChange, void> {
  if (call === 'watch') return watchChanges(requests, tableId, { since, signal })
  return pagesOfChanges(requests, wantedOf(tableId, { since, signal }))
}

/** The changes after a version, as they are made. */
export function watchChanges(
  requests: Requests,
  tableId: string,
  options: WatchOptions,
): AsyncGenerator<ClientChange, void> {
  return feedOfChanges(requests, wantedOf(tableId, options))
}

function wantedOf(tableId: string, { since, signal }: WatchOptions): WantedChanges {
  return { path: `${tablePath(tableId)}/changes`, since, signal: ownSignal(signal) }
}

type Entry = Omit<ClientChange, 'version'> & Readonly<{ version: number }>

/** The changes after a version, up to the current version. */
async function* pagesOfChanges(
  requests: Requests,
  { path, since, signal }: WantedChanges,
): AsyncGenerator<ClientChange, void> {
  for (let next = since; ; ) {
    const request = { method: 'GET', path: pathSince(path, next), isRepeatable: true, signal }
    const { data, continuation } = await requests.send(request, async (answer) => {
      const page = await readAnswerJson(answer)
      if (Array.isArray(page['data'])) return page as { data: Entry[]; continuation?: number }
      throw invalidAnswer(answer, 'is not a page of changes')
    })
    for (const entry of data) {
      signal?.throwIfAborted()
      yield publicChange(entry)
    }
    if (continuation === undefined) return
    next = String(continuation)
  }
}

/** The changes after a version, then new ones as they are made. */
async function* feedOfChanges(
  requests: Requests,
  { path, since, signal }: WantedChanges,
): AsyncGenerator<ClientChange, void> {
  const backoff = openBackoff(BACKOFF, openSystemRandom())
  const headers = { accept: 'text/event-stream' }
  let last = since
  for (let silent = 0; ; ) {
    const request = {
      method: 'GET',
      path: pathSince(path, last),
      headers,
      isRepeatable: true,
      signal,
    }
    // Throws if the answer is an error, for example because the changes after the version were discarded.
    const answer = await requests.send(request, checkedFeed)
    silent++
    let cause: unknown
    try {
      const all = answerPieces(answer, SILENCE_MS_MAX)
      const pieces = signal === undefined ? all : untilAborted('watch', all, signal)
      for await (const { id, data } of eventsIn(pieces, answer)) {
        silent = 0
        if (data !== '' && last !== undefined && Number(id) <= Number(last)) continue
        const change = data === '' ? undefined : publicChange(JSON.parse(data))
        if (id !== '') last = id
        if (change !== undefined) yield change
      }
    } catch (failure) {
      cause = failure
    }
    signal?.throwIfAborted()
    if (cause instanceof ClientError) throw cause
    if (silent === SILENT_FEEDS_MAX) {
      const problem = `${silent} feeds of the server ended before their first line`
      throw new ClientError(problem, answer.status, 'answer_cut', cause)
    }
    await pause(backoff(silent), signal)
  }
}

function pathSince(path: string, since: string | undefined): string {
  return since === undefined ? path : `${path}?since=${encodeURIComponent(since)}`
}

function publicChange({ version, ...change }: Entry): ClientChange {
  return { version: String(version), ...change }
}

/** @throws {ClientError} answer_invalid */
function checkedFeed(answer: Response): Response {
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer
  throw invalidAnswer(answer, 'is not a feed of changes')
}

/**
 * The events of a feed, which blank lines separate (WHATWG HTML, 9.2.6). An event without data only gives the position
 * of the feed.
 */
async function* eventsIn(
  pieces: AsyncIterable<Uint8Array>,
  answer: Response,
): AsyncGenerator<Readonly<{ id: string; data: string }>, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true })
    for (let end = BLANK_LINE.exec(text); end !== null; end = BLANK_LINE.exec(text)) {
      yield parseEvent(text.slice(0, end.index))
      text = text.slice(end.index + end[0].length)
    }
    if (text.length > EVENT_CHARACTERS_MAX) throw invalidAnswer(answer, 'has an endless event')
  }
}

const LINE_END = /\r\n|\n|\r/
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/

/**
 * The ID and the data of an event. The data of other event types is ignored: the next request reports what caused such
 * an event.
 */
function parseEvent(block: string): Readonly<{ id: string; data: string }> {
  const fields = { id: '', data: '', event: '' }
  for (const line of block.split(LINE_END)) {
    const [, name = '', value = ''] = /^(id|data|event): ?(.*)$/s.exec(line) ?? []
    if (name !== '') fields[name as keyof typeof fields] += value
  }
  return fields.event === '' ? fields : { id: '', data: '' }
}
