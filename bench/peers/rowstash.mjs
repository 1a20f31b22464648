// rowstash through its library: chunks are put into a stash, eight at once, then one create.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { openDirectory } from '../dist/node.js'

const PUTS_AT_ONCE = 8

/** Room for a page; each page overwrites the previous one. */
const PAGE_BYTES = 1_048_576

/** FORMAT.md, section 6: the codec byte of the first frame of a segment. */
const FIRST_CODEC = 8
const CODECS = ['none', 'deflate', 'zstd']

/** Compresses everything at the next garbage collection, and deletes the old objects at the second one. */
const RECOMPRESS_NOW = {
  maintenance: {
    recompressionAgeMs: 0,
    recompressionIntervalMs: 0,
    garbageCollectionIntervalMs: 0,
  },
  orphanGraceMs: 0,
}

export async function openRowstash(directory, { storeOptions, ...options }) {
  const store = await openDirectory(directory, storeOptions)
  const engine = await useStore(store, {
    ...options,
    settings: () => ({ codec: codecOf(directory) }),
  })
  const recompress = async () => {
    await store.close() // When a store is opened, its segments are old enough at once, and nobody reads old objects.
    const opened = await openDirectory(directory, { ...storeOptions, ...RECOMPRESS_NOW })
    await opened.team('bench').stash('bench').delete() // It would keep the old objects.
    for (let runs = 0; runs < 3; runs++) await opened.maintain()
    await opened.close()
  }
  return { ...engine, recompress }
}

/** The engine on an open store. */
export async function useStore(store, { columns, format = 'json', settings }) {
  const team = store.team('bench')
  let [table] = (await team.tables()).map(({ id }) => team.table(id))
  const [firstColumn] = columns
  const memory = new Uint8Array(PAGE_BYTES)

  async function ingest({ count, text }) {
    const stash = team.stash('bench')
    let next = 0
    const putInTurn = async () => {
      while (next < count) {
        const serial = next++
        await stash.put(String(serial), { [format]: text(serial) })
      }
    }
    await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
    const { tableId, rowIds } = await team.createTable({ name: 'bench', rows: stash })
    table = team.table(tableId)
    return { rows: rowIds.length, keyOf: (index) => rowIds.at(index) }
  }

  async function page(continuation) {
    const {
      json,
      rowCount,
      continuation: next,
    } = await table.pageBytes({ limit: 1_000, continuation, memory })
    return { bytes: json, rows: rowCount, next }
  }

  return {
    ingest,
    page,
    point: async (key) => (await table.getJson(key)).json,
    update: (key, id, value) => table.updateRow(key, { [id]: value }),
    /** Adds one row by a separate add. */
    add: async (value) => {
      await table.addRows([{ [firstColumn.id]: value }], { onSchemaError: 'updateSchema' })
    },
    settings,
    close: () => store.close(),
  }
}

/** The codec of a store's frames, from the first segment found. */
function codecOf(directory) {
  const entries = readdirSync(join(directory, 'objects'), { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((found) => found.isFile())) {
    const file = openSync(join(entry.parentPath, entry.name))
    const start = Buffer.alloc(FIRST_CODEC + 1)
    readSync(file, start)
    closeSync(file)
    if (start.toString('latin1', 0, 4) === 'RSSG') return CODECS[start[FIRST_CODEC]] ?? 'unknown'
  }
  return 'unknown'
}
