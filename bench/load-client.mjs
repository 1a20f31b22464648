// The clients of `load`, in a process of their own: one autocannon for each kind of request, all at once.
import autocannon from 'autocannon'

const { url, keys, tableId, rowIds, chunk, kinds, seconds } = JSON.parse(process.argv[2])

const PAGE_ROWS = 100
const SERIALS = 1_000
const TIMEOUT_SECONDS = 30

const below = (limit) => Math.floor(Math.random() * limit)
const rows = `/tables/${tableId}/rows`
const rowPath = () => `${rows}/${rowIds[below(rowIds.length)]}`

const REQUESTS = {
  'row reads': () => ({ method: 'GET', path: rowPath() }),
  pages: () => ({ method: 'GET', path: `${rows}?limit=${PAGE_ROWS}` }),
  updates: () => ({ method: 'PATCH', path: rowPath(), body: `{"visits":${below(1e6)}}` }),
  'stash puts': () => ({ method: 'PUT', path: `/stashes/load/${below(SERIALS)}`, body: chunk }),
}

/** Every request takes another key: with one, at most 16 would be worked on at once. */
function withKey({ method, path, body }) {
  const headers = { authorization: `Bearer ${keys[below(keys.length)]}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  return { method, path, body, headers }
}

async function load(kind, connections) {
  const setupRequest = (request) => ({ ...request, ...withKey(REQUESTS[kind]()) })
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: TIMEOUT_SECONDS,
    requests: [{ setupRequest }],
  })
  const { latency, requests, duration, errors, timeouts, non2xx } = result
  const { p50, p99, max } = latency
  return {
    kind,
    connections,
    requests: requests.total,
    perSecond: requests.total / duration,
    ms: { p50, p99, max },
    errors: errors + timeouts + non2xx,
  }
}

const results = await Promise.all(Object.entries(kinds).map(([kind, count]) => load(kind, count)))
process.send(results, () => process.disconnect())
