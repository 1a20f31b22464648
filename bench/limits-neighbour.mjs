// The client of `limits` that stays within its limits: reads and updates rows in turn, until it is told to stop.
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './http-client.mjs'

const { url, key, tableId, rowIds, readsOnly } = JSON.parse(process.argv[2])
const PAUSE_MS = 5
const WARM_UP = 50

const client = createClient({ url, key, sockets: 2 })
const below = (limit) => Math.floor(Math.random() * limit)
const times = []
let failures = 0

async function measure(at) {
  const path = `/tables/${tableId}/rows/${rowIds[below(rowIds.length)]}`
  const isUpdate = at % 2 === 1 && !readsOnly
  const sent = performance.now()
  try {
    if (isUpdate) await client.expectOk('PATCH', path, `{"visits":${at}}`)
    else await client.expectOk('GET', path)
  } catch (failure) {
    failures++
    console.error(failure.message)
  }
  times.push(performance.now() - sent)
}

function result() {
  const sorted = times.sort((left, right) => left - right)
  const share = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  return {
    requests: sorted.length,
    failures,
    ms: { p50: share(0.5), p99: share(0.99), max: share(1) },
  }
}

let isStopped = false
process.on('message', () => {
  isStopped = true
})
for (let at = 0; at < WARM_UP; at++) await measure(at)
times.length = 0
process.send('ready')
for (let at = 0; !isStopped; at++) {
  await measure(at)
  await sleep(PAUSE_MS)
}
client.close()
process.send(result(), () => process.disconnect())
