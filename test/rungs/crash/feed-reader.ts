// A process that follows the shared table of a writer that serves it, until it is killed, and says each change on its
// standard output:
//
//     node feed-reader.js '{"url": …, "since": …}'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../../../src/client/client.js'
import { ClientError } from '../../../src/client/client-error.js'
import { SHARED_TABLE } from './log-lines.js'
import { say } from './say.js'
import type { FeedReaderJob } from './writer-job.js'

const RETRY_MS = 10

const { url, key, since, form }: FeedReaderJob = JSON.parse(process.argv[2] ?? '{}')
const client = createClient({ url, key, triesMax: 1 })
let last = since
for (;;) {
  try {
    const table = await client.tableByName(SHARED_TABLE)
    for await (const { version, operation, counts } of table?.[form]({ since: last }) ?? []) {
      say({ say: 'change', version: Number(version), operation, added: counts.added })
      last = version
    }
  } catch (failure) {
    const isServerGone = failure instanceof ClientError && /^(?:0|5..)$/.test(`${failure.status}`)
    if (!isServerGone) say({ say: 'note', text: String(failure) })
  }
  await pause(RETRY_MS)
}
