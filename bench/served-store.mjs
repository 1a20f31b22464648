// A store in this process behind an HTTP server, with separate client processes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClassicLevel } from 'classic-level'
import { hardenServer, nodeHandler, openDirectory, serverOptions } from './dist/node.js'

const CLIENT = fileURLToPath(new URL('client-process.mjs', import.meta.url))
const KEY = 'the key of the bench'.replaceAll(' ', '-')

/** Opens a store and serves it on a free port. */
export async function serveStore(directory, options) {
  const store = await openDirectory(directory, options)
  const handler = nodeHandler(store, { keys: [{ key: KEY, teamId: 'bench' }] })
  const server = createServer(serverOptions, handler)
  hardenServer(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    store,
    team: store.team('bench'),
    url: `http://127.0.0.1:${server.address().port}`,
    key: KEY,
    async close() {
      server.closeAllConnections()
      server.close()
      await store.close()
    },
  }
}

/** Starts a client process. `run` starts its task, and `messages` receives its messages. */
export async function startClient({ url, key }, task) {
  const child = fork(CLIENT, [JSON.stringify({ url, key, task })], { serialization: 'advanced' })
  await once(child, 'message')
  return {
    send: (message) => child.send(message),
    run(argument, onMessage = () => undefined) {
      return new Promise((resolve, reject) => {
        child.on('message', (message) => {
          if (message.result === undefined) onMessage(message)
          else resolve(message.result)
        })
        child.once('exit', (code) => reject(new Error(`The client ended with code ${code}`)))
        child.send(argument)
      })
    },
  }
}

/** Files and bytes below a folder. */
export function measureFolder(folder) {
  let files = 0
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    files++
    bytes += statSync(join(entry.parentPath, entry.name)).size
  }
  return { files, bytes }
}

/** The content of a closed store on disk: objects, row records, bytes. */
export async function measureStore(directory) {
  const rowRecords = await countRowRecords(join(directory, 'kv'))
  const objects = measureFolder(join(directory, 'objects'))
  const kv = measureFolder(join(directory, 'kv'))
  return {
    objects: objects.files,
    rowRecords,
    objectBytes: objects.bytes,
    kvBytes: kv.bytes,
    bytes: objects.bytes + kv.bytes,
  }
}

/** Keys of src/format/FORMAT.md: a record's is 0x02, the partition's length and name, the key space. */
const RECORD = 0x02
const ROW = 0x06

async function countRowRecords(folder) {
  const db = new ClassicLevel(folder, {
    createIfMissing: false,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  })
  await db.open()
  let count = 0
  for await (const key of db.keys({ gte: Buffer.of(RECORD), lt: Buffer.of(RECORD + 1) })) {
    if (key[3 + key.readUInt16BE(1)] === ROW) count++
  }
  await db.close()
  return count
}

/** Puts chunks into a stash, eight at once. */
export async function putChunks(stash, chunks, count) {
  let next = 0
  const inTurn = async () => {
    while (next < count) {
      const serial = next++
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
  }
  await Promise.all(Array.from({ length: 8 }, inTurn))
}
