// A server on a shared store, which works until it is stopped:
//
//     node fleet-server.js '{"postgres": …}'
import process from 'node:process'
import { ProgramFailure } from '../../../adapters/cli/command/program-failure.js'
import { serveOwnStore } from '../../../adapters/cli/server/server.js'
import { isStoreError, openStore, type Store } from '../../../src/index.js'
import { describe } from '../crash/audit.js'
import { TEAM } from '../crash/lane.js'
import { say } from '../crash/say.js'
import {
  ADMIN_KEY,
  FILES_URL,
  type FleetJob,
  KEY,
  openFleetPorts,
  type ServerLine,
} from './fleet-job.js'
import { Trouble } from './trouble.js'

const tell = (line: ServerLine): void => say(line)
const note = (of: string, failure: unknown): void => {
  tell({ say: 'note', text: `${of}: ${describe(failure)}` })
}

const { options, trouble: troubleJob, ...place }: FleetJob = JSON.parse(process.argv[2] ?? '')
const trouble = troubleJob && new Trouble(troubleJob, tell)
const { kv, objects } = await openFleetPorts(place)
const ports = { kv, objects }
/** Opens the store as soon as it can be had. */
async function open(): Promise<Store> {
  try {
    return await openStore({
      ...options,
      ...(trouble?.portsOf(ports) ?? ports),
      onBackgroundFailure: (failure, task) => note(task, failure),
      onEvent(event) {
        if (event.name === 'recompression') tell({ say: 'settled', segments: event.segments })
        if (event.name === 'garbageCollection')
          tell({ say: 'report', objects: event.collected.objects ?? 0 })
      },
    })
  } catch (failure) {
    if (!isStoreError(failure) || failure.code !== 'STORAGE_UNAVAILABLE') throw failure
    note('an open', failure)
    return open()
  }
}

const store = await open()
const server = await serveOwnStore(store, {
  host: '127.0.0.1',
  port: 0,
  baseUrl: undefined,
  publicBaseUrl: FILES_URL,
  keys: [{ key: KEY, teamId: TEAM }],
  adminKeys: [ADMIN_KEY],
  apps: undefined,
  onFailure: (failure) => note('a request', failure),
  onWarning: () => undefined,
})
/** Ends properly, even if a garbage collection takes longer than the server waits for the store. */
async function end(): Promise<never> {
  try {
    await server.close()
  } catch (failure) {
    if (!(failure instanceof ProgramFailure)) note('the end', failure)
  }
  await store.close()
  process.exit(0)
}

process.once('SIGTERM', () => void end())
tell({ say: 'open', url: server.localUrl })
