// Tables with the largest schemas allowed, each used once, against a server with a small heap. The memory for their
// schemas must not grow with the number of tables.
import { runAttack } from './harness.mjs'

const TABLES = 50
/** The lengths of a table's display names: one as long as a text of a body may be, or many that are accepted. */
const ONE_NAME = [1_000_000]
const MANY_NAMES = Array(1_000).fill(950)

await runAttack({
  name: 'large schemas',
  attackMs: 60_000,
  node: ['--max-old-space-size=192'],
  async attack({ url, key, signal }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const send = async (path, body) => {
      const request = { method: 'POST', headers, body: JSON.stringify(body), signal }
      const response = await fetch(`${url}${path}`, request)
      return { status: response.status, json: await response.json() }
    }
    const statuses = {}
    const create = async (names) => {
      const columns = names.map((units, n) => {
        return { id: `c${n}`, displayName: 'x'.repeat(units), type: 'string' }
      })
      const { status, json } = await send('/tables', { name: 'x', schema: { columns }, rows: [] })
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === 201) await send(`/tables/${json.data.tableID}/rows`, [{ c0: 'x' }])
    }
    try {
      for (let n = 0; n < TABLES; n++) {
        await create(ONE_NAME)
        await create(MANY_NAMES)
      }
    } catch (failure) {
      return { statuses, failure: String(failure.cause ?? failure) }
    }
    return { statuses }
  },
})
