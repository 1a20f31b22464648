// Bodies full of hosts that take long to convert to ASCII, in columns of URIs and e-mail addresses: in the rows of a
// chunk, in rows whose misfits are dropped, and in arrays of megabytes in single rows.
import { runAttack } from './harness.mjs'

const BODY_BYTES = 15 * 1_024 * 1_024
const ROW_BYTES = 4 * 1_000 * 1_000

/** The conversion makes each letter 18, with spaces, so the host is refused in the end. */
const MISFIT = `https://${'\ufdfa'.repeat(500)}/`
/** The conversion makes each letter 5, and the host is accepted. */
const HOST = `https://${'\u3300'.repeat(245)}.example/`
const SHORT_HOST = 'ws:ü'
const ADDRESS = `a@${'\u3301\u3302\u3303.'.repeat(60)}example`

/** As many different values as fit into a number of bytes. */
function valuesOf(text, bytes) {
  const count = Math.floor(bytes / (Buffer.byteLength(text) + 20))
  return Array.from({ length: count }, (_, n) =>
    text.includes('@') ? `${n}${text}` : `${text}${n}`,
  )
}

function bodies() {
  const rowsOf = (text) => valuesOf(text, BODY_BYTES).map((u) => ({ u }))
  const arraysOf = (text) =>
    Array.from({ length: Math.floor(BODY_BYTES / ROW_BYTES) }, () => ({
      l: valuesOf(text, ROW_BYTES * 0.9),
    }))
  return [
    ['rows?onSchemaError=dropColumns', rowsOf(MISFIT)],
    ['rows?onSchemaError=dropColumns', rowsOf(HOST)],
    ['rows?onSchemaError=dropColumns', rowsOf(ADDRESS)],
    ['rows', arraysOf(HOST)],
    ['rows?onSchemaError=dropColumns', arraysOf(SHORT_HOST)],
    ['rows?onSchemaError=dropColumns', arraysOf(ADDRESS)],
  ].map(([path, rows]) => [path, JSON.stringify(rows)])
}

await runAttack({
  name: 'hosts beyond ASCII',
  attackMs: 30_000,
  async attack({ url, key, signal }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const array = { kind: 'array', items: { kind: 'uri' } }
    const schema = {
      columns: [
        { id: 'u', type: 'uri' },
        { id: 'l', type: array },
      ],
    }
    const answers = []
    const send = async (method, path, body) => {
      const response = await fetch(`${url}${path}`, { method, headers, body, signal })
      const text = await response.text()
      answers.push(response.status)
      return text === '' ? undefined : JSON.parse(text)
    }
    const made = await send('POST', '/tables', JSON.stringify({ name: 'x', schema, rows: [] }))
    try {
      for (const [path, body] of bodies()) {
        await send('PUT', '/stashes/hosts/0', body)
        await send('POST', `/tables/${made.data.tableID}/${path}`, body)
      }
    } catch (failure) {
      if (!signal.aborted) throw failure
    }
    return { answers: answers.join(' ') }
  },
})
