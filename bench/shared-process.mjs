// One of several processes that import into one store: puts its share of the chunks of a stash, eight at a time. Its
// settings are one JSON argument. It reports when it is ready, begins at a message, and reports its end.
import { openChunks } from './peers/data-sets.mjs'
import { openSharedStore } from './peers/shared.mjs'

const PUTS_AT_ONCE = 8

const { schema, storeOptions, chunkFolder, files, count, first, step } = JSON.parse(process.argv[2])
const { text } = openChunks(chunkFolder, { count, files, extension: 'json' })
const store = await openSharedStore(schema, storeOptions)
const stash = store.team('bench').stash('bench')

process.send('ready')
process.once('message', async () => {
  let next = first
  const putInTurn = async () => {
    while (next < count) {
      const serial = next
      next += step
      await stash.put(String(serial), { json: text(serial) })
    }
  }
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
  process.send('done')
  await store.close()
  process.disconnect()
})
