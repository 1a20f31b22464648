// A client process: runs one task against a server, and reports the result to its parent. Its settings are one JSON
// argument, in which `task` names the task.
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, repeat } from './http-client.mjs'

const settings = JSON.parse(process.argv[2])
const TASKS = { smallWrites, steadyUpdates, rewrite }

/** Adds and updates single rows alternately, by several clients at once. */
async function smallWrites({ tableId, rowIds, newRows, operations, clients }) {
  const client = createClient({ ...settings, sockets: clients })
  const path = `/tables/${tableId}/rows`
  const known = [...rowIds]
  const values = {}
  const times = { add: [], update: [] }
  const busy = new Set() // Of two concurrent updates of a row, either may be the last.
  const startMs = performance.now()
  await repeat(2 * operations, clients, async (index) => {
    const beganMs = performance.now()
    if (index % 2 === 0) {
      const row = newRows[(index / 2) % newRows.length]
      const { body } = await client.expectOk('POST', path, `[${row}]`)
      known.push(body.data.rowIDs[0])
      times.add.push(performance.now() - beganMs)
      return
    }
    let rowId
    do rowId = known[Math.floor(Math.random() * known.length)]
    while (busy.has(rowId))
    busy.add(rowId)
    await client.expectOk('PATCH', `${path}/${rowId}`, JSON.stringify({ visits: index }))
    values[rowId] = index
    busy.delete(rowId)
    times.update.push(performance.now() - beganMs)
  })
  client.close()
  return { seconds: (performance.now() - startMs) / 1000, values, times }
}

/** Updates on a fixed schedule, until the parent sends `stop`. */
async function steadyUpdates({ tableId, rowIds, perSecond }) {
  const client = createClient({ ...settings, sockets: 64 })
  let stopped = false
  process.once('message', () => {
    stopped = true
  })
  const values = {}
  const refused = []
  const times = []
  const running = new Set()
  const startMs = performance.now()
  let count = 0
  const update = async (index) => {
    const rowId = rowIds[index % rowIds.length]
    const beganMs = performance.now()
    const path = `/tables/${tableId}/rows/${rowId}`
    const { status } = await client.send('PATCH', path, JSON.stringify({ visits: index }))
    times.push(performance.now() - beganMs)
    if (status === 200) values[rowId] = index
    else refused.push(status)
  }
  while (!stopped) {
    const due = Math.floor(((performance.now() - startMs) / 1000) * perSecond)
    while (count < due) {
      const done = update(count++).finally(() => running.delete(done))
      running.add(done)
    }
    await sleep(5)
  }
  await Promise.all(running)
  client.close()
  return { seconds: (performance.now() - startMs) / 1000, sent: count, values, refused, times }
}

/** The clients' recipe: read all rows, change each, stash them, overwrite if nothing has changed. */
async function rewrite({ tableId, times, betweenEach, expected }) {
  const client = createClient({ ...settings, sockets: 8 })
  let ids = null
  const rounds = []
  for (let round = 0; round < times; round++) {
    const startMs = performance.now()
    const walk = await readAndStash(client, tableId, round)
    const readMs = performance.now()
    if (ids !== null && !sameTexts(ids, walk.ids)) throw new Error('The walk has other row IDs')
    if (walk.ids.length !== expected - round * betweenEach)
      throw new Error(`${walk.ids.length} rows`)
    const body = JSON.stringify({ $stashID: `rewrite-${round}` })
    const stale = await client.send('PUT', `/tables/${tableId}`, body, { 'if-match': '"0"' })
    if (stale.status !== 412) throw new Error(`A stale If-Match was answered with ${stale.status}`)
    const overwriteMs = performance.now()
    const answer = await client.expectOk('PUT', `/tables/${tableId}`, body, {
      'if-match': walk.etag,
    })
    const doneMs = performance.now()
    if (!sameTexts(answer.body.data.rowIDs, walk.ids))
      throw new Error('The overwrite gave other row IDs')
    await client.expectOk('DELETE', `/stashes/rewrite-${round}`)
    rounds.push({
      rows: walk.ids.length,
      readAndPutSeconds: (readMs - startMs) / 1000,
      overwriteSeconds: (doneMs - overwriteMs) / 1000,
    })
    process.send({ round })
    await new Promise((resolve) => process.once('message', resolve))
    ids = await patchAndDelete(client, tableId, walk.ids, betweenEach)
  }
  const last = await readAndStash(client, tableId, times)
  if (!sameTexts(ids, last.ids)) throw new Error('The last walk has other row IDs')
  client.close()
  return { rounds, rowsAtEnd: last.ids.length }
}

/** Reads every page, changes it and puts it into a stash at once. The `visits` of every row name the round. */
async function readAndStash(client, tableId, round) {
  const ids = []
  const puts = new Set()
  let serial = 0
  let continuation
  let etag
  do {
    const query = continuation === undefined ? '' : `&continuation=${continuation}`
    const page = await client.expectOk('GET', `/tables/${tableId}/rows?limit=1000${query}`)
    for (const row of page.body.data) {
      if (round > 0 && row.visits !== round - 1 && row.visits !== -round) {
        throw new Error(`Row ${row.$rowID} has visits ${row.visits} in round ${round}`)
      }
      ids.push(row.$rowID)
      row.visits = round
    }
    const path = `/stashes/rewrite-${round}/${serial++}`
    const put = client.expectOk('PUT', path, JSON.stringify(page.body.data)).finally(() => {
      puts.delete(put)
    })
    puts.add(put)
    if (puts.size >= 4) await Promise.race(puts)
    continuation = page.body.continuation
    etag ??= page.etag
  } while (continuation !== undefined)
  await Promise.all(puts)
  return { ids, etag }
}

/** Patches some rows and deletes others, spread over the table. @returns the IDs of the remaining rows */
async function patchAndDelete(client, tableId, ids, count) {
  const stride = Math.floor(ids.length / (2 * count))
  const deleted = new Set()
  const { body: first } = await client.expectOk('GET', `/tables/${tableId}/rows/${ids[0]}`)
  const patched = JSON.stringify({ visits: -(first.data.visits + 1) })
  await repeat(2 * count, 8, async (index) => {
    const path = `/tables/${tableId}/rows/${ids[index * stride]}`
    if (index % 2 === 0) return client.expectOk('PATCH', path, patched)
    deleted.add(index * stride)
    return client.expectOk('DELETE', path)
  })
  return ids.filter((_, index) => !deleted.has(index))
}

function sameTexts(left, right) {
  return left.length === right.length && left.every((text, index) => text === right[index])
}

process.send('ready')
process.once('message', async (task) => {
  const result = await TASKS[settings.task](task)
  process.send({ result }, () => process.disconnect())
})
