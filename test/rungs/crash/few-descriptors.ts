// A process with few descriptors: a store keeps files open, then all remaining descriptors are taken. Prints as JSON
// what still works.
import { closeSync, openSync, readdirSync } from 'node:fs'
import { openDirectory } from '../../../adapters/open-directory.js'

const SEGMENTS = 60
const ROWS = 100

const [directory = ''] = process.argv.slice(2)

/** Takes every remaining descriptor. */
function takeAll(): number[] {
  const taken: number[] = []
  for (;;) {
    try {
      taken.push(openSync('/dev/null', 'r'))
    } catch {
      return taken // That was the last one.
    }
  }
}

async function inNeed<T>(work: () => Promise<T>): Promise<T> {
  const taken = takeAll()
  try {
    return await work()
  } finally {
    for (const descriptor of taken) closeSync(descriptor)
  }
}

const chunk = JSON.stringify(Array.from({ length: ROWS }, (_, number) => ({ number })))
const store = await openDirectory(directory, {
  maintenance: { compactionIntervalMs: 0, garbageCollectionIntervalMs: 0 },
})
const team = store.team('team')
const stash = team.stash('stash')
for (let serial = 0; serial < SEGMENTS; serial++) await stash.put(String(serial), { json: chunk })
const { tableId, rowIds } = await team.createTable({ name: 'table', rows: stash })
const table = team.table(tableId)

async function readAll(): Promise<number> {
  let right = 0
  for (let segment = 0; segment < SEGMENTS; segment++) {
    const found = await table.get(rowIds.at(segment * ROWS + 7) ?? '')
    if (found?.row['number'] === 7) right++
  }
  return right
}

const before = await readAll()
const idle = readdirSync('/proc/self/fd').length // including that of the listing
const readInNeed = await inNeed(readAll)
await readAll()
await inNeed(() => stash.put('more', { json: chunk }))
await inNeed(() => table.addRows([{ number: 1 }]))
const after = await readAll()
await store.close()

process.stdout.write(JSON.stringify({ before, idle, readInNeed, after }))
