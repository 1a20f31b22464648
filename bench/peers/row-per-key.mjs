// Key-value stores with one row's JSON text under each key: lmdb, and classic-level as rowstash uses it.
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { open } from 'lmdb'

const ROWS_PER_PAGE = 1_000

export function openLmdb(directory, { rows }) {
  const db = open({
    path: join(directory, 'bench.mdb'),
    keyEncoding: 'uint32',
    encoding: 'string',
    // Room for all rows at the start, so that the map is never resized.
    mapSize: Math.max(2 ** 30, rows * 1_024),
  })

  return {
    async ingest({ count, text }) {
      let key = 0
      // One transaction, in which no row waits.
      db.transactionSync(() => {
        for (let serial = 0; serial < count; serial++) {
          for (const row of JSON.parse(text(serial).toString())) {
            db.putSync(++key, JSON.stringify(row))
          }
        }
      })
      await db.flushed
      return { rows: key, keyOf: (index) => index + 1 }
    },
    page(after = 0) {
      const texts = []
      const range = { start: after + 1, end: after + 1 + ROWS_PER_PAGE }
      for (const { value } of db.getRange(range)) texts.push(value)
      return pageOf(texts, after)
    },
    point: (key) => db.get(key),
    /** A put resolves before it is on disk, and `flushed` waits for that. */
    async update(key, id, value) {
      await db.put(key, changed(db.get(key), id, value))
      await db.flushed
    },
    settings: () => ({}),
    close: () => db.close(),
  }
}

export async function openClassicLevel(directory) {
  const db = new ClassicLevel(join(directory, 'level'), {
    keyEncoding: 'buffer',
    valueEncoding: 'utf8',
  })
  await db.open()

  return {
    async ingest({ count, text }) {
      let key = 0
      for (let serial = 0; serial < count; serial++) {
        const batch = db.batch()
        for (const row of JSON.parse(text(serial).toString())) {
          batch.put(keyOf(++key), JSON.stringify(row))
        }
        await batch.write({ sync: true })
      }
      return { rows: key, keyOf: (index) => index + 1 }
    },
    async page(after = 0) {
      const range = { gt: keyOf(after), lte: keyOf(after + ROWS_PER_PAGE) }
      const values = db.values({ ...range, highWaterMarkBytes: 1 << 20 })
      const texts = await values.nextv(ROWS_PER_PAGE)
      for (let more = texts; more.length > 0; ) {
        more = await values.nextv(ROWS_PER_PAGE)
        texts.push(...more)
      }
      await values.close()
      return pageOf(texts, after)
    },
    point: (key) => db.getSync(keyOf(key)),
    update: (key, id, value) =>
      db.put(keyOf(key), changed(db.getSync(keyOf(key)), id, value), { sync: true }),
    settings: () => ({}),
    close: () => db.close(),
  }
}

function keyOf(number) {
  const key = Buffer.alloc(4)
  key.writeUInt32BE(number)
  return key
}

function changed(text, id, value) {
  const row = JSON.parse(text)
  row[id] = value
  return JSON.stringify(row)
}

function pageOf(texts, after) {
  const next = texts.length === ROWS_PER_PAGE ? after + texts.length : undefined
  return { bytes: Buffer.from(`[${texts.join(',')}]`), rows: texts.length, next }
}
