// The server under test, in a separate process: `fuzz-server DIRECTORY`. It sends its URL when it listens, and answers
// each message with what it has seen so far.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hardenServer, nodeHandler, openDirectory, serverOptions } from '../../../adapters/node.js'
import { isStoreError } from '../../../src/index.js'
import type { AnsweredRequest } from '../../../src/ports.js'
import { contractSources } from '../../conformance/fake-sources.js'
import type { Seen } from './fuzzed-server.js'
import { ADMIN_KEY, HEALTHY_TEAM, teamOfKey } from './team-keys.js'

const FAILURES_MAX = 20
const [directory = ''] = process.argv.slice(2)

const answered: Record<string, number> = {}
const failures: string[] = []
const refusals: Record<string, number> = {}

/** Resident memory without mapped files: LevelDB maps its tables, which grow with the stored data. */
function anonymousBytes(): number {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return Number(kilobytes) * 1024
  } catch {
    return process.memoryUsage().rss // not on Linux
  }
}

const note = ({ operation, status, team }: AnsweredRequest): void => {
  if (team === HEALTHY_TEAM) return
  const name = `${operation} ${status}`
  answered[name] = (answered[name] ?? 0) + 1
}

/** Small, so that full caches and buffer pools do not look like a leak. */
const MEMORY = { cacheBytesMax: 8 * 1024 * 1024, bufferBytesMax: 8 * 1024 * 1024 }

const store = await openDirectory(directory, { ...MEMORY, sources: contractSources })
const handler = nodeHandler(store, {
  authenticate: async (token) => {
    const teamId = teamOfKey(token)
    return teamId === undefined ? undefined : { teamId }
  },
  adminKeys: [ADMIN_KEY],
  cors: { origins: ['https://app.example.com'] },
  logger: { info: note, warn: note, error: note },
  onFailure: (failure) => {
    if (isStoreError(failure) && failure.code === 'STORAGE_UNAVAILABLE') {
      refusals[failure.message] = (refusals[failure.message] ?? 0) + 1
    } else if (failures.length < FAILURES_MAX) {
      failures.push(failure instanceof Error ? `${failure.stack}` : String(failure))
    }
  },
})
const server = createServer(serverOptions, handler)
hardenServer(server)

process.on('message', () => {
  globalThis.gc?.()
  const seen: Seen = { answered, failures, refusals, memoryBytes: anonymousBytes() }
  process.send?.(seen)
})
process.on('disconnect', () => process.exit())

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.(`http://127.0.0.1:${port}`)
})
