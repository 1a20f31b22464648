// Bodies of rows that cost much per byte: empty rows, records of differing lengths, commas, quotes, values that do not
// fit. A fault at the end causes a second read, and nothing is stored.
import { runAttack } from './harness.mjs'

const MIB = 1_048_576
const WORKERS = 4

const repeated = (row, bytes) => row.repeat(Math.floor(bytes / row.length))
const BODIES = [
  ['application/json', `[${repeated('{},', 4 * MIB)}{]`],
  ['application/json', `[${repeated('{"a":null},', 4 * MIB)}{]`],
  ['application/json', `[${repeated('{"a":1,"a":2},', 8 * MIB)}{"b":{}}]`],
  ['text/csv', `a,b\n${repeated(',\n\n', MIB)}"x`],
  ['text/csv', `a\n${repeated('\n', 4 * MIB)}"x`],
  ['text/csv', repeated(',', 15 * MIB)],
  ['text/csv', `a\n"${repeated('""', 15 * MIB)}`],
  ['text/tab-separated-values', `a\tb\n${repeated('""\t""\n', 4 * MIB)}x"`],
].map(([type, text]) => ({ type, bytes: Buffer.from(text) }))

await runAttack({
  name: 'bodies of rows that cost much',
  node: ['--max-old-space-size=256'],
  async attack({ url, key, signal }) {
    const statuses = {}
    let slowestMs = 0
    const send = async ({ type, bytes }) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': type }
      const begun = performance.now()
      const response = await fetch(`${url}/tables?name=x`, {
        ...{ method: 'POST', headers, body: bytes, signal },
      })
      await response.arrayBuffer()
      slowestMs = Math.max(slowestMs, Math.round(performance.now() - begun))
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
    }
    const work = async (worker) => {
      for (let i = worker; !signal.aborted; i++) await send(BODIES[i % BODIES.length])
    }
    await Promise.allSettled(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
    return { statuses, slowestMs }
  },
})
