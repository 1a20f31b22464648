// A thousand clients follow a table that does not change, and then receive each commit. Measures the memory that they
// hold, and the time from a commit to its event for one client, for a hundred and for all.

import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const FEEDS = 1_000
const WARM_UP = 300
const ROUNDS = [1, 100, FEEDS]
const COMMITS = 200
/** The pause after a commit, so that commits do not wait for each other. */
const PAUSE_MS = 20

await runAttack({
  name: 'idle feeds',
  attackMs: 120_000,
  serve: ['--limit', `feedsPerKeyMax=${FEEDS}`, '--limit', 'connectionsMax=2000'],
  async attack({ url, key, pid, signal }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const send = async (method, path, body) => {
      const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
      return (await answer.json()).data
    }
    const { tableID } = await send('POST', '/tables', { name: 'Followed', rows: [{ n: 0 }] })
    const open = () => openFeed(`${url}/tables/${tableID}/changes`, headers)
    const feeds = []
    for (let at = 0; at < WARM_UP; at++) (await open()).close() // The first request loads code.
    await sleep(2_000)
    const before = residentMegabytes(pid)
    for (let at = 0; at < FEEDS; at++) feeds.push(await open())
    await sleep(2_000)
    const idle = residentMegabytes(pid)
    const result = { feeds: FEEDS, idleMegabytes: Math.round(idle - before) }
    for (const count of ROUNDS) {
      for (const { close } of feeds.splice(count)) close()
      while (feeds.length < count) feeds.push(await open())
      const waits = []
      for (let commit = 0; commit < COMMITS && !signal.aborted; commit++) {
        const events = feeds.map(({ next }) => next())
        await send('POST', `/tables/${tableID}/rows`, [{ n: commit }])
        const committedAt = performance.now()
        for (const event of events) waits.push(Math.max(0, (await event) - committedAt))
        await sleep(PAUSE_MS)
      }
      waits.sort((a, b) => a - b)
      const at = (share) => Number(waits[Math.floor(waits.length * share)]?.toFixed(1))
      result[`with ${count}`] = {
        events: waits.length,
        p50: at(0.5),
        p99: at(0.99),
        max: at(0.99999),
      }
    }
    for (const { close } of feeds) close()
    return result
  },
})

/** A feed whose `next` resolves with the time of the next event. */
function openFeed(url, headers) {
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      headers: { ...headers, accept: 'text/event-stream' },
      agent: false,
    })
    asked.on('error', reject)
    asked.on('response', (answer) => {
      let hear = () => {}
      answer.on('error', () => {})
      answer.on('data', (piece) => {
        if (piece.includes('data:')) hear(performance.now())
      })
      const next = () => new Promise((heard) => (hear = heard))
      answer.once('data', () => resolve({ next, close: () => asked.destroy() }))
    })
    asked.end()
  })
}

function residentMegabytes(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}
