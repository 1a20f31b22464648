// The clients of `load`, in a separate process: one autocannon for each kind of request, all at once.
import autocannon from 'autocannon'

const { url, keys, tableId, rowIds, chunk, kinds, seconds } = JSON.parse(process.argv[2])

const PAGE_ROWS = 100
const CHUNKS_PER_STASH = 20
const TIMEOUT_SECONDS = 30

const below = (limit) => Math.floor(Math.random() * limit)
const rows = `/tables/${tableId}/rows`
const rowPath = () => `${rows}/${rowIds[below(rowIds.length)]}`

let stashes = 0

/** Puts a chunk into a stash that only this connection fills; `context` is new at the start of each round. */
function putChunk(context) {
  context.stash ??= `load-${stashes++}`
  context.chunks = (context.chunks ?? 0) + 1
  return { method: 'PUT', path: `/stashes/${context.stash}/${context.chunks}`, body: chunk }
}

const deleteStash = ({ stash }) => ({ method: 'DELETE', path: `/stashes/${stash}` })

/** The repeated requests of a connection of each kind. */
const REQUESTS = {
  'row reads': [() => ({ method: 'GET', path: rowPath() })],
  pages: [() => ({ method: 'GET', path: `${rows}?limit=${PAGE_ROWS}` })],
  updates: [() => ({ method: 'PATCH', path: rowPath(), body: `{"visits":${below(1e6)}}` })],
  'stash puts': [...Array(CHUNKS_PER_STASH).fill(putChunk), deleteStash],
}

/** Every request uses another key: with one key, at most 16 would be processed at once. */
function withKey({ method, path, body }) {
  const headers = { authorization: `Bearer ${keys[below(keys.length)]}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  return { method, path, body, headers }
}

async function load(kind, connections) {
  const requests = REQUESTS[kind].map((make) => ({
    setupRequest: (request, context) => ({ ...request, ...withKey(make(context)) }),
  }))
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: TIMEOUT_SECONDS,
    requests,
  })
  const { latency, requests: sent, duration, errors, timeouts, non2xx } = result
  const { p50, p99, max } = latency
  return {
    kind,
    connections,
    requests: sent.total,
    perSecond: sent.total / duration,
    ms: { p50, p99, max },
    errors: errors + timeouts + non2xx,
  }
}

const results = await Promise.all(Object.entries(kinds).map(([kind, count]) => load(kind, count)))
process.send(results, () => process.disconnect())
