// Five hundred clients request the same page of 16 MB. At first none reads it, then all do.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const CONNECTIONS = 500
/** Connections opened at a time: a server bounds those that have not shown a key. */
const BATCH = 100
const ROWS_PER_CHUNK = 4_000
const CHUNKS = 2
const ROW = { text: 'x'.repeat(2_000) }
const UNREAD_MS = 10_000

await runAttack({
  name: 'unread pages',
  attackMs: 60_000,
  async attack({ url, key, pid, signal }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const rows = JSON.stringify(Array.from({ length: ROWS_PER_CHUNK }, () => ROW))
    const body = JSON.stringify({ name: 'large', rows: [ROW] })
    const made = await fetch(`${url}/tables`, { method: 'POST', headers, body })
    const path = `/tables/${(await made.json()).data.tableID}/rows`
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      await (await fetch(url + path, { method: 'POST', headers, body: rows })).arrayBuffer()
    }
    const readers = []
    while (readers.length < CONNECTIONS && !signal.aborted) {
      for (let n = 0; n < BATCH; n++) readers.push(openReader(url, path, key))
      await sleep(200)
    }
    await sleep(UNREAD_MS)
    const begunAt = performance.now()
    for (const reader of readers) reader.read()
    while (!signal.aborted && readers.some(({ isOver }) => !isOver())) await sleep(50)
    for (const reader of readers) reader.end()
    const count = (outcome) => readers.filter((reader) => reader.outcome() === outcome).length
    return {
      server: pid,
      connections: readers.length,
      whole: count('whole'),
      refused: count('refused'),
      cutOff: count('cut off'),
      unfinished: count('unfinished'),
      readMs: Math.round(performance.now() - begunAt),
    }
  },
})

/** Requests the page on a new connection, without reading it yet. */
function openReader(url, path, key) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let bytes = 0
  let wanted
  let status
  let isClosed = false
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n\r\n`)
  socket.pause()
  function take(piece) {
    if (wanted === undefined) {
      const head = piece.toString('latin1')
      status = Number(head.slice(9, 12))
      const length = Number(/content-length: ([0-9]+)/i.exec(head)?.[1])
      wanted = head.indexOf('\r\n\r\n') + 4 + length
    }
    bytes += piece.length
    if (bytes >= wanted) socket.destroy()
  }
  const isWhole = () => wanted !== undefined && bytes >= wanted
  return {
    read: () => void socket.on('data', take).resume(),
    isOver: () => isClosed || isWhole(),
    end: () => socket.destroy(),
    outcome() {
      if (isWhole()) return status === 200 ? 'whole' : 'refused'
      return isClosed ? 'cut off' : 'unfinished'
    },
  }
}
