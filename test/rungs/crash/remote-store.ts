// A process with a store open in a directory, which obeys commands and answers.
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { isStoreError } from '../../../src/base/store-error.js'
import type { RemoteAnswer, RemoteCommand, RemoteJob } from './remote-store-job.js'

const { directory, table: tableId, name, uid } = JSON.parse(process.argv[2] ?? '') as RemoteJob

if (uid !== undefined) process.setuid?.(uid)
const store = await openDirectory(directory, {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
  },
})
const table = store.team('team').table(tableId)
let added = 0

async function add(): Promise<void> {
  await table.addRows([{ text: `${name} ${added}` }])
  added++
}

/** More than any test lets it add. */
const ADDED_MAX = 30_000

async function addUntilRefused(): Promise<void> {
  while (added < ADDED_MAX) await add()
}

const WHILE_ROWS = 1_500

/** Several adds at a time. */
async function addForAWhile(): Promise<void> {
  while (added < WHILE_ROWS) await Promise.all([add(), add(), add(), add()])
}

const COMMANDS: Readonly<Record<RemoteCommand, () => Promise<void>>> = {
  add,
  addForAWhile,
  addUntilRefused,
  read: async () => void (await table.page({ limit: 1 })),
  close: () => store.close(),
}

async function answer(command: RemoteCommand): Promise<RemoteAnswer> {
  try {
    await COMMANDS[command]()
    return { added, failure: null }
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    const { code, message, outcome } = failure
    return { added, failure: { code, message, outcome: outcome ?? null } }
  }
}

process.on('message', (command: RemoteCommand) => {
  void answer(command).then((said) => {
    process.send?.(said)
    if (command === 'close') process.disconnect()
  })
})
process.send?.({ added, failure: null } satisfies RemoteAnswer)
