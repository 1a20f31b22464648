// A process that creates a store, and opens damaged copies of it: some damage ends the process. LevelDB has small
// buffers here, so that there are several tables, and edits of the manifest.
import { cp } from 'node:fs/promises'
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { isStoreError, type Store } from '../../../src/index.js'
import { testClock } from '../../conformance/test-clock.js'
import {
  type Answers,
  askEverything,
  type Known,
  knownOf,
  wrongAnswers,
} from '../../support/read-everything.js'
import { fillRichly, RICH_SIZES } from '../../support/rich-store.js'
import type { DamagedAnswer, DamagedQuestion } from './damaged-store-process.js'

const REFUSALS: ReadonlySet<string> = new Set([
  'DATA_CORRUPT',
  'DATA_LOSS',
  'FORMAT_UNKNOWN',
  'STORAGE_UNAVAILABLE',
])

/** Number of changes, of ten rows each. */
const CHANGES = 40
const TEXT = 'a text of some length '.repeat(20)

let known: Known = { tables: [], files: [] }
let right: Answers = new Map()

async function open(directory: string, acceptLoss = false): Promise<Store> {
  return await openDirectory(directory, { ...RICH_SIZES, clock: testClock(), acceptLoss })
}

/** Changes some rows repeatedly; the rest stays. */
async function changeRows(store: Store, tableId: string, changes: number): Promise<void> {
  const table = store.team('acme').table(tableId)
  const { rows } = await table.page({ limit: 10 })
  for (let n = 0; n < changes; n++) {
    const text = `${n} ${TEXT}`
    await Promise.all(rows.map(({ $rowID }) => table.updateRow($rowID, { text })))
  }
}

async function makeStore(directory: string): Promise<string> {
  const clock = testClock()
  const store = await openDirectory(directory, { ...RICH_SIZES, clock })
  await fillRichly(store, clock)
  const rows = Array.from({ length: 10 }, (_, n) => ({ n, text: 'new' }))
  const { tableId } = await store.team('acme').createTable({ name: 'changing', rows })
  await changeRows(store, tableId, CHANGES)
  await store.close()
  return tableId
}

/** Creates a store, an older copy of it, a copy after it was reopened and closed, and another store. */
async function make(folder: string): Promise<void> {
  await makeStore(`${folder}/other`)
  const tableId = await makeStore(`${folder}/written`)
  await cp(`${folder}/written`, `${folder}/older`, { recursive: true })
  const again = await open(`${folder}/written`)
  await changeRows(again, tableId, 3 * CHANGES)
  known = await knownOf(again, [])
  right = await askEverything(again, known)
  await again.close()
  await cp(`${folder}/written`, `${folder}/rested`, { recursive: true })
  await (await open(`${folder}/rested`)).close()
}

/** The state of a store: refused, or right, so that it can also be changed and opened again. */
async function judge({
  judge: directory = '',
  times = 1,
  acceptLoss = false,
}: DamagedQuestion): Promise<DamagedAnswer> {
  let opened = 0
  try {
    for (; opened < times; opened++) {
      const store = await open(directory, acceptLoss)
      try {
        const [wrong] = wrongAnswers(right, await askEverything(store, known))
        if (wrong !== undefined && !acceptLoss) return { how: 'opened', problem: wrong }
        await store.team('gamma').createTable({ name: 'more', rows: [{ n: opened }] })
      } finally {
        await store.close()
      }
    }
    return { how: 'opened', problem: null }
  } catch (failure) {
    const code = isStoreError(failure) ? failure.code : 'none'
    const isHonest = REFUSALS.has(code) && opened === 0
    const problem = isHonest ? null : `opened ${opened} times: ${String(failure)}`
    return { how: 'refused', code, problem }
  }
}

process.on('message', (question: DamagedQuestion) => {
  const { make: folder, right: given } = question
  const work = async (): Promise<DamagedAnswer> => {
    if (given !== undefined) {
      known = given.known
      right = new Map(given.answers)
    }
    if (folder === undefined) return await judge(question)
    await make(folder)
    return { how: 'made', problem: null, right: { known, answers: [...right] } }
  }
  void work().then((answer) => process.send?.(answer))
})
