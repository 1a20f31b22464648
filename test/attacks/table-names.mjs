// As many tables as allowed, with names of the greatest length, in characters that take six bytes in JSON. Many
// requests list them at the same time.
import { runAttack } from './harness.mjs'

const TABLES = 10_000
const AT_ONCE = 16

await runAttack({
  name: 'lists of long table names',
  attackMs: 120_000,
  node: ['--max-old-space-size=256'],
  async attack({ url, key, signal }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const statuses = {}
    const note = ({ status }) => {
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    const create = async (chars) => {
      const body = JSON.stringify({ name: '\u0001'.repeat(chars), rows: [] })
      const response = await fetch(`${url}/tables`, { method: 'POST', headers, body, signal })
      await response.arrayBuffer()
      return response
    }
    const list = async () => {
      const response = await fetch(`${url}/tables`, { headers, signal })
      for await (const _ of response.body) {
      }
      note(response)
    }
    try {
      for (let made = 0; made < TABLES; made += AT_ONCE) {
        const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => create(1_000)))
        const isFull = answers.some(({ status }) => status === 403)
        if (isFull) await Promise.all(Array.from({ length: AT_ONCE }, () => create(400)))
      }
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: AT_ONCE }, list))
      }
    } catch (failure) {
      return { statuses, failure: String(failure.cause ?? failure) }
    }
    return { statuses }
  },
})
