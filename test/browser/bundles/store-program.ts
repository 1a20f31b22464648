// A page's program with a store in IndexedDB, as a user writes it.
import { Level } from 'level'
import { isStoreError, kvObjects, openLevelKv, openMemory, openStore } from '../../../src/index.js'

const CSV = 'id,total,name\n1,34.50,Ann\n2,0.30000000000000004,"B, C"\n'
/** Larger than one piece, and digested in more than one update. */
const FILE = new Uint8Array(200_000).map((_, at) => at % 251)

async function open() {
  const kv = await openLevelKv(new Level<Uint8Array, Uint8Array>('rows'))
  const objects = kvObjects(await openLevelKv(new Level<Uint8Array, Uint8Array>('objects')))
  return openStore({ kv, objects, inlineRowsMax: 0 })
}

/** Fills the store with a table and a file, and returns its content. */
async function fill() {
  const store = await open()
  const team = store.team('acme')
  const stash = team.stash('orders')
  await Promise.all([stash.put('0', { csv: CSV }), stash.put('1', { csv: CSV })])
  const { tableId } = await team.createTable({ name: 'Orders', rows: stash })
  await team.table(tableId).addRows([{ id: 3, total: 1, name: 'D' }])
  const locked = await openLevelKv(new Level('rows')).then(
    () => 'opened twice',
    (failure: unknown) => (isStoreError(failure) ? failure.code : String(failure)),
  )
  const { id } = await team.files.put(FILE, { fileName: 'a.bin', contentType: 'image/png' })
  await store.close()
  return { tableId, fileId: id, locked }
}

/** Reads everything back, as another visit of the page does. */
async function readBack({ tableId, fileId }: { tableId: string; fileId: string }) {
  const store = await open()
  const team = store.team('acme')
  const { rows } = await team.table(tableId).page({ limit: 10 })
  const file = await team.files.get(fileId)
  let bytes = 0
  for await (const piece of file?.stream() ?? []) bytes += piece.length
  const { ok, damageCount } = await store.verify({ full: true })
  await store.close()
  return {
    rows: rows.map(({ $rowID, ...row }) => row),
    sha256: file?.sha256,
    bytes,
    ok,
    damageCount,
  }
}

async function inMemory() {
  const store = await openMemory()
  const { rowIds } = await store.team('acme').createTable({ name: 'Orders', rows: { csv: CSV } })
  await store.close()
  return rowIds.length
}

Object.assign(globalThis, { rowstash: { fill, readBack, inMemory } })
