// A key that may only read asks for pages with the slowest conditions: many tests, long texts that are nearly
// contained, and numbers whose exponents have a million digits.
import { runAttack } from './harness.mjs'

const CALLERS = 4
const ROWS = 200_000

const numbers = (from) => Array.from({ length: 990 }, (_, i) => -(from + i))
const CONDITIONS = [
  { table: 'numbers', where: { $or: [{ n: { in: numbers(10) } }, { n: { in: numbers(2_000) } }] } },
  {
    table: 'numbers',
    where: { $or: numbers(10).map((n) => ({ $and: [{ n }, { n: { gt: n + 1 } }] })) },
  },
  { table: 'text', where: { $not: { s: { contains: `${'a'.repeat(4_096)}b` } } } },
  { table: 'text', where: { s: { contains: `b${'a'.repeat(4_096)}` } } },
  { table: 'exponent', where: { e: { in: numbers(10).slice(0, 100) } } },
]

await runAttack({
  name: 'hostile conditions',
  async attack({ url, key, signal }) {
    const authorization = `Bearer ${key}`
    const create = async (type, body) => {
      const headers = { authorization, 'content-type': type }
      const response = await fetch(`${url}/tables?name=x`, {
        method: 'POST',
        headers,
        body,
        signal,
      })
      return (await response.json()).data.tableID
    }
    const json = (rows) => create('application/json', rows)
    const tables = {
      numbers: await create(
        'text/csv',
        `n\n${Array.from({ length: ROWS }, (_, i) => i).join('\n')}`,
      ),
      text: await json(`[{"s":"${'a'.repeat(1_048_576)}"}]`),
      exponent: await json(`[{"e":1e-${'9'.repeat(1_000_000)}}]`),
    }
    const statuses = {}
    let slowest = 0
    const call = async ({ table, where }) => {
      const begun = performance.now()
      const query = encodeURIComponent(JSON.stringify(where))
      const path = `${url}/tables/${tables[table]}/rows?where=${query}&limit=1`
      const response = await fetch(path, { headers: { authorization }, signal })
      await response.arrayBuffer()
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
      slowest = Math.max(slowest, performance.now() - begun)
    }
    const callAll = async () => {
      while (!signal.aborted) for (const condition of CONDITIONS) await call(condition)
    }
    await Promise.allSettled(Array.from({ length: CALLERS }, callAll))
    return { statuses, slowestMs: Math.round(slowest) }
  },
})
